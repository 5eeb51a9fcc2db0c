"""Maximum prefix correction (Algorithm 1 of the paper), for maximum prefix encoding alone.

P(query | t_1^k) is the probability of the tokens that begin with the query (branch), plus that of the first token of
the query's encoding times P(rest | t_1^(k+1)) (pass). Each context on the way is asked about once, so the number of
contexts is linear in the length of the query.

For the next byte the query begins after the last token of the text's encoding that is in V* (a substring of no other
token), or after BOS: equation 1. P("") = 1 is the base case that the paper leaves out. A query may end inside a
character whose bytes are no tokens: what is left after its tokens has a branch but no pass, and no text ends there.
"""

from collections.abc import Sequence
from math import inf, log, nan

import numpy as np

from tokenlab.core.errors import ParameterError
from tokenlab.exact.covers import Context, Cover, Evaluator, conditional, log_sum
from tokenlab.exact.encoders.engine import EngineEncoding
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix, anchors
from tokenlab.exact.interface import Cost, NextBytes, TextProbability, TokenAutomaton, TokenModel
from tokenlab.exact.options import DEFAULT, ExactOptions


def without_engine(automaton: TokenAutomaton) -> MaximumPrefix:
    """The maximum prefix encoding without a tokenizer's own engine. Raises ParameterError for other encodings."""
    found = automaton.inner if isinstance(automaton, EngineEncoding) else automaton
    if not isinstance(found, MaximumPrefix):
        raise ParameterError(
            "mpc is for maximum prefix encoding without pre-tokenizer and for valid encodings; "
            "use the estimator incremental or bpc"
        )
    return found


def next_bytes(text: bytes, model: TokenModel, automaton: MaximumPrefix, options: ExactOptions = DEFAULT) -> NextBytes:
    """The distribution of the next byte: P(query b | t_1^k) / P(query | t_1^k).

    The cost counts the contexts from the anchor on; those before it have only to be in the model's cache.

    Raises InputError for a text longer than the model allows.
    """
    contexts = _Contexts(model, automaton, options)
    encoded, _ = automaton.encode_beginning(text)
    is_anchor = anchors(automaton.vocabulary)
    k = max((i + 1 for i, token in enumerate(encoded) if is_anchor[token]), default=0)
    anchor = contexts.after(contexts.root, encoded[:k])
    if anchor is None:
        return NextBytes(np.full(256, nan), nan, nan, 0.0, contexts.cost())
    query = text[anchor.length :]
    queries = [query + bytes([byte]) for byte in contexts.known]
    contexts.find(anchor, [query, *queries])
    log_bytes = np.full(256, -inf)
    log_bytes[contexts.known] = [contexts.log_query(anchor, longer) for longer in queries]
    log_end, log_text = contexts.log_end(anchor, query), contexts.log_query(anchor, query)
    return conditional(log_bytes, log_end, log_text, 0.0, contexts.cost())


def log_probability(
    text: bytes, model: TokenModel, automaton: MaximumPrefix, options: ExactOptions = DEFAULT
) -> TextProbability:
    """The probability that a text starts with this one, and that it ends after it. Raises what `next_bytes` raises."""
    contexts = _Contexts(model, automaton, options)
    contexts.find(contexts.root, [text])
    whole = contexts.log_query(contexts.root, text)
    end = contexts.log_end(contexts.root, text) - whole if whole > -inf else nan
    return TextProbability(whole, end, 0.0, contexts.cost())


class _Contexts:
    """The contexts that queries ask about, each once, with the distributions after them."""

    def __init__(self, model: TokenModel, automaton: MaximumPrefix, options: ExactOptions) -> None:
        self.automaton = automaton
        self.evaluator = Evaluator(model, automaton, truncate=options.truncate)
        self.root = self.evaluator.root
        self.known = np.flatnonzero(automaton.vocabulary.has_byte).tolist()
        self._children: dict[tuple[int, int], Context | None] = {}
        self._asked: dict[int, Cover] = {}

    def after(self, context: Context, tokens: Sequence[int]) -> Context | None:
        """The context with more tokens, None where no text's encoding goes on so."""
        found: Context | None = context
        for token in tokens:
            if found is None:
                return None
            key = (id(found), token)
            if key not in self._children:
                self._children[key] = found.child(self.automaton, token)
            found = self._children[key]
        return found

    def find(self, anchor: Context, queries: Sequence[bytes]) -> None:
        """Evaluate the contexts of queries that begin after the anchor, in one pass."""
        for number, query in enumerate(queries):
            encoded, end = self.automaton.encode_beginning(query)
            # After the last token: the rest of a query that ends inside a character, and the end of the first query.
            for i in range(len(encoded) + (number == 0 or end < len(query))):
                self._ask(self.after(anchor, encoded[:i]))
        self.evaluator.evaluate(cover.context for cover in self._asked.values())

    def log_query(self, anchor: Context, query: bytes) -> float:
        """log P(query | anchor): Algorithm 1, as a loop from the left."""
        if not query:
            return 0.0
        encoded, end = self.automaton.encode_beginning(query)
        shares: list[float] = []
        weight = 0.0
        context: Context | None = anchor
        rest = query
        for token in [*encoded, None] if end < len(query) else encoded:
            if context is None:
                break
            tokens = self._asked[id(context)].tokens
            assert tokens is not None
            low, high = self.automaton.vocabulary.beginning_with(rest)
            shares.append(weight + _log(float(tokens[low:high].sum())))
            context = None if token is None else self.after(context, [token])
            if context is not None:
                weight += _log(float(tokens[context.place]))
                rest = query[context.length - anchor.length :]
        return log_sum(shares)

    def log_end(self, anchor: Context, query: bytes) -> float:
        """log P(query and the end | anchor); no text ends inside a character."""
        encoded, end = self.automaton.encode_beginning(query)
        if end < len(query):
            return -inf
        weight = 0.0
        context: Context | None = anchor
        for token in encoded:
            assert context is not None
            before, context = self._asked[id(context)], self.after(context, [token])
            if context is None:
                return -inf
            assert before.tokens is not None
            weight += _log(float(before.tokens[context.place]))
        assert context is not None
        return weight + _log(self._asked[id(context)].end)

    def cost(self) -> Cost:
        """The contexts asked about, and what the tree took for them and for those before the anchor."""
        took = self.evaluator.cost()
        undefined = sum(cover.context.undefined for cover in self._asked.values())
        return Cost(len(self._asked), took.passes, took.tokens, undefined)

    def _ask(self, context: Context | None) -> None:
        if context is not None and id(context) not in self._asked:
            self._asked[id(context)] = Cover(context, len(self.automaton.vocabulary))


def _log(probability: float) -> float:
    return log(probability) if probability > 0 else -inf
