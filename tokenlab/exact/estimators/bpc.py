"""Byte-pair correction (Algorithm 2 of the paper): P(x) from all covers, anew for each text, in one pass of the model.

1. The contexts before the last token of a cover of x. The paper takes encode(x_1^i) for each i (proposition H.6). A
   pre-tokenizer that looks ahead breaks that: with GPT-2's, "\\n\\n" alone is one token, but "\\n\\na" is three, so "a"
   does not follow the encoding of "\\n\\n". So the contexts are those that the automaton finds.
2. They and their ancestors are evaluated in one call: rows for at most (longest token) contexts of covers.
3. b_val: for each context, the probability of the tokens that begin with the rest of x (line 10). A context without
   such a token is skipped; to stop at an empty B would be wrong, since a context further left may have one. The only
   end is the length of the longest token.
"""

from math import inf, nan
from typing import NamedTuple

from tokenlab.exact.estimators.covers import Cover, Covers
from tokenlab.exact.estimators.evaluation import Evaluator
from tokenlab.exact.estimators.sums import log_branches, log_product, log_sum
from tokenlab.exact.interface import TokenAutomaton, TokenModel
from tokenlab.exact.options import DEFAULT, ExactOptions
from tokenlab.exact.results import NextBytes, TextProbability

_NODES = 4096
"""Contexts of one call: beyond that the logits of a long text would not fit in memory."""


def next_bytes(text: bytes, model: TokenModel, automaton: TokenAutomaton, options: ExactOptions = DEFAULT) -> NextBytes:
    """The distribution of the next byte: P(x b) / P(x), the sums of all bytes b from the same contexts.

    Raises InputError for a text longer than the model allows, ParameterError where there are more contexts than
    max_contexts.
    """
    covers = _Covered.of(text, model, automaton, options)
    covers.evaluate()
    whole = covers.log_probability()
    whole = whole if whole > -inf else nan
    log_bytes = log_branches(automaton.vocabulary, covers.after) - whole
    end = covers.log_end() - whole
    return NextBytes(log_bytes, end, log_sum([*log_bytes, end]), 0.0, covers.evaluator.cost())


def log_probability(
    text: bytes, model: TokenModel, automaton: TokenAutomaton, options: ExactOptions = DEFAULT
) -> TextProbability:
    """The probability that a text starts with this one, and that it ends after it. Raises what `next_bytes` raises."""
    covers = _Covered.of(text, model, automaton, options)
    covers.evaluate()
    whole = covers.log_probability()
    end = covers.log_end() - whole if whole > -inf else nan
    relative = whole - covers.evaluator.log_prefix() if text else 0.0
    return TextProbability(relative, end, 0.0, covers.evaluator.cost())


class _Covered(NamedTuple):
    """The contexts of the covers of a text."""

    evaluator: Evaluator
    before: list[tuple[Cover, int, int]]
    """each context before the end of the text, with its tokens B that begin with the rest: the range [low, high)"""
    after: Covers
    """the covers of all texts that are one byte longer"""
    empty: bool
    """whether there is no text, apart from the prefix"""

    @classmethod
    def of(cls, text: bytes, model: TokenModel, automaton: TokenAutomaton, options: ExactOptions) -> "_Covered":
        evaluator = Evaluator(model, automaton, truncate=options.truncate, nodes=_NODES)
        after = Covers(automaton, evaluator.root, max_contexts=options.max_contexts)
        before: list[tuple[Cover, int, int]] = []
        whole = automaton.prefix + text
        for i, byte in enumerate(whole):
            if i + 1 == len(whole):
                before = _branches(after.copy(), whole)
            after.advance(byte)
            after.check()
        return cls(evaluator, before, after, not text)

    def evaluate(self) -> None:
        """Evaluate all contexts in one call."""
        contexts = [cover.context for cover, _, _ in self.before]
        self.evaluator.evaluate(contexts + [cover.context for cover in self.after.covers])

    def log_probability(self) -> float:
        """log P(x), lines 3 to 13 of the algorithm; with a prefix, of both."""
        if not self.after.text:
            return 0.0
        shares = []
        for cover, low, high in self.before:
            assert cover.tokens is not None
            b_val = float(cover.tokens[low - cover.offset : high - cover.offset].sum())
            shares.append(log_product(cover.context, b_val))
        return log_sum(shares + self._end_before_prefix())

    def log_end(self) -> float:
        """log of the probability that a text is this one."""
        ends = [log_product(cover.context, cover.end) for cover in self.after.ending()]
        return log_sum(ends + self._end_before_prefix())

    def _end_before_prefix(self) -> list[float]:
        """An empty text may have no tokens at all, not even those of the prefix."""
        if not self.empty or not self.after.text:
            return []
        return [log_product(self.evaluator.root, self.evaluator.root_distribution().end)]


def _branches(covers: Covers, text: bytes) -> list[tuple[Cover, int, int]]:
    """The covers with live tokens that begin with the rest of the text, of those of the text without its last byte."""
    found = []
    for cover in covers.covers:
        low, high = covers.automaton.vocabulary.beginning_with(text[cover.context.length :], cover.low, cover.high)
        if cover.mask(covers.automaton)[low:high].any():
            found.append((cover, low, high))
    return found
