"""From logits of a model to sums over the covers of a text.

1. `token_distribution`: logits of a context to probabilities of its tokens, truncated and renormalised (appendix G of
   the paper).
2. `Evaluator`: contexts evaluated by a model: those that are wanted and their ancestors, in few passes, each once.
3. `log_masses`, `log_branches`: sums over the covers of a text, in log space. Every cover's share is computed from its
   own sum, not from differences of cumulative sums, so that small probabilities keep their digits.
"""

from collections.abc import Iterable, Sequence
from math import exp, inf, log, nan
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.covers import Context, Covers, TokenDistribution, unevaluated
from tokenlab.exact.interface import Cost, NextBytes, TokenAutomaton, TokenModel
from tokenlab.exact.vocabulary import Vocabulary

_LEAST = 1e-100
"""Share of the live tokens below which their probabilities are computed apart."""


def token_distribution(
    logits: NDArray[np.floating],
    vocabulary: Vocabulary,
    end: int | None,
    *,
    allowed: NDArray[np.bool_] | None = None,
    truncate: bool = False,
) -> TokenDistribution:
    """Probabilities of the next token from logits, in float64.

    With `truncate` the softmax runs over the allowed tokens and the end alone: probabilities p / Z of appendix G,
    without the underflow of Z. Without it, it runs over all ids, and tokens that are not allowed get 0 afterwards.

    Args:
        logits: float[ids]; all NaN after a context of probability zero.
        end: the id of EOS, None where the text cannot end here.
        allowed: bool[len(vocabulary)] the tokens that are live, None for all.

    Raises InputError for logits of NaN beside numbers, or of infinity.
    """
    spelled = logits[vocabulary.ids]
    closing = float("-inf") if end is None else float(logits[end])
    highest = max(float(spelled.max()), closing) if truncate else float(logits.max())
    if not np.isfinite(highest):
        return _nothing(logits, highest, len(spelled))
    values = _exponentials(spelled, highest)
    if allowed is not None:
        # a product and not a mask of -inf before: numpy's exp is ten times as slow where a tenth are infinite
        values *= allowed
    if not truncate:
        total = float(_exponentials(logits, highest).sum())
        return TokenDistribution(values / total, exp(closing - highest) / total, True)
    total = float(values.sum()) + exp(closing - highest)
    if total < _LEAST and allowed is not None:
        # tokens that are not live have all the probability: the highest of the others keeps their digits
        highest = max(float(spelled[allowed].max(initial=-np.inf)), closing)
        if highest == -np.inf:
            return _nothing(logits, highest, len(spelled))
        values.fill(0)
        values[allowed] = _exponentials(spelled[allowed], highest)
        total = float(values.sum()) + exp(closing - highest)
    values /= total
    return TokenDistribution(values, exp(closing - highest) / total, True)


def _exponentials(logits: NDArray[np.floating], highest: float) -> NDArray[np.float64]:
    """exp(logits - highest) in float64."""
    values = np.subtract(logits, highest, dtype=np.float64)
    return np.exp(values, out=values)


def _nothing(logits: NDArray[np.floating], highest: float, size: int) -> TokenDistribution:
    """The distribution after a context that the model gives no probability, or whose live tokens it gives none."""
    if highest == np.inf or (np.isnan(highest) and not np.isnan(logits).all()):
        raise InputError("the model's logits have NaN or infinite values; check its weights and its number format")
    return TokenDistribution(np.zeros(size), 0.0, False)


NODES = 256
"""Contexts of one pass. Their logits are in memory at once: 50 MB for 50,000 tokens in float32."""


class Evaluator:
    """One tree of contexts of a model, for one text or for several.

    Attributes:
        root: the context before the first token.
        users: the covers of texts that go on from this tree; nodes that none of them needs can be forgotten.

    Raises InputError for a model that has fewer ids than the vocabulary.
    """

    def __init__(self, model: TokenModel, automaton: TokenAutomaton, *, truncate: bool, nodes: int = NODES) -> None:
        check_sizes(model, automaton)
        self.model, self.automaton, self.truncate, self.nodes = model, automaton, truncate, nodes
        self.tree = model.tree()
        self.root = Context(None, -1, -1, 0, automaton.start())
        self.users: WeakSet[Covers] = WeakSet()
        self._root: TokenDistribution | None = None
        self._log_prefix: float | None = None
        self._numbers = 1
        self._undefined = 0

    def cost(self) -> Cost:
        """What all evaluations so far took."""
        return Cost(self.tree.contexts, self.tree.passes, self.tree.tokens, self._undefined)

    def root_distribution(self) -> TokenDistribution:
        """The distribution of the first token."""
        if self._root is None:
            logits = self.tree.root()
            self._root = self._distribution(self.root, logits)
            self.root.evaluated(0, self._root)
            _take_plain([self.root], logits)
        return self._root

    def log_prefix(self) -> float:
        """log of the probability that a text begins with the automaton's prefix, or ends before its first token.

        0 up to rounding for encodings that the tokenizer produces, truncated: all of them begin with the prefix.
        """
        prefix = self.automaton.prefix
        if not prefix:
            return 0.0
        if self._log_prefix is None:
            covers = Covers(self.automaton, self.root, max_contexts=len(self.automaton.vocabulary))
            covers.covers[0].take(self.root_distribution())
            for byte in prefix:
                covers.advance(byte)
            self.evaluate(cover.context.parent or cover.context for cover in covers.covers)
            self._log_prefix = log_sum([*log_masses(covers), log_product(self.root, self.root_distribution().end)])
        return self._log_prefix

    def log_mass(self, covers: Covers) -> float:
        """log of the probability of all covers; with a prefix, at the empty text, of the end before the prefix too."""
        return log_sum([*log_masses(covers), *self.end_before_prefix(covers)])

    def log_end(self, covers: Covers) -> float:
        """log P(x, the text ends here)."""
        ends = [log_product(cover.context, cover.end) for cover in covers.ending()]
        return log_sum([*ends, *self.end_before_prefix(covers)])

    def end_before_prefix(self, covers: Covers) -> list[float]:
        """log P(no tokens): an empty text may have none at all, not even those of the prefix."""
        if not self.automaton.prefix or len(covers.text) > len(self.automaton.prefix):
            return []
        return [log_product(self.root, self.root_distribution().end)]

    def evaluate(self, contexts: Iterable[Context]) -> None:
        """Evaluate the contexts, and their ancestors, that are not evaluated yet.

        Equal contexts of different texts are evaluated once. Raises InputError for contexts longer than the model
        allows.
        """
        wanted = unevaluated(contexts)
        if wanted and wanted[0] is self.root:
            self.root_distribution()
            wanted = wanted[1:]
        same = self._grouped(wanted)
        pairs = list(same)
        for start in range(0, len(pairs), self.nodes):
            chunk = pairs[start : start + self.nodes]
            logits = self.tree.extend([parent for parent, _ in chunk], [token for _, token in chunk])
            for pair, row in zip(chunk, logits, strict=True):
                distribution = self._distribution(same[pair][0], row)
                for context in same[pair]:
                    context.evaluated(self._numbers, distribution)
                _take_plain(same[pair], row)
                self._numbers += 1

    def forget(self) -> None:
        """Forget the nodes of the tree that no text needs any more."""
        needed = {0}
        for cover in [cover for covers in self.users for cover in covers.covers]:
            context: Context | None = cover.context
            while context is not None and context.number is None:
                context = context.parent
            if context is not None and context.number is not None:
                needed.add(context.number)
        self.tree.keep(sorted(needed))

    def _grouped(self, wanted: Sequence[Context]) -> dict[tuple[int, int], list[Context]]:
        """Group equal contexts under the number of their parent and their token, in the order of their numbers."""
        same: dict[tuple[int, int], list[Context]] = {}
        numbers: dict[int, int] = {}
        number_of: dict[tuple[int, int], int] = {}
        for context in wanted:
            parent = context.parent
            assert parent is not None
            pair = (numbers[id(parent)] if parent.number is None else parent.number, context.token)
            same.setdefault(pair, []).append(context)
            numbers[id(context)] = number_of.setdefault(pair, self._numbers + len(number_of))
        return same

    def _distribution(self, context: Context, logits: NDArray[np.floating]) -> TokenDistribution:
        end = self.model.end if self.automaton.may_end(context.state) else None
        allowed = self.automaton.allowed(context.state)
        distribution = token_distribution(
            logits, self.automaton.vocabulary, end, allowed=allowed, truncate=self.truncate
        )
        self._undefined += not distribution.defined
        return distribution


def check_sizes(model: TokenModel, automaton: TokenAutomaton) -> None:
    """Raise InputError for a vocabulary with ids that the model has not."""
    largest = int(automaton.vocabulary.ids.max())
    if largest >= model.size:
        raise InputError(
            f"the vocabulary has ids up to {largest} and the model only {model.size} of them; "
            "use the tokenizer that belongs to the model"
        )


def log_softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """[ids] log-probabilities by the model as it is; -inf after a context of probability zero."""
    values = logits.astype(np.float64)
    highest = values.max()
    if np.isnan(highest):
        return np.full(len(values), -inf)
    return values - (highest + np.log(np.exp(values - highest).sum()))


def _take_plain(contexts: Iterable[Context], logits: NDArray[np.floating]) -> None:
    """Give contexts the log-probabilities, not truncated, that are asked of them."""
    if asking := [context for context in contexts if context.plain is not None]:
        log_p = log_softmax(logits)
        for context in asking:
            context.plain = {id: float(log_p[id]) for id in context.plain or ()}


def log_sum(values: Sequence[float] | NDArray[np.float64]) -> float:
    """log of a sum of exponentials; -inf for none, NaN where a value is."""
    array = np.asarray(values, np.float64)
    highest = float(array.max()) if len(array) else -inf
    if highest == -inf or np.isnan(highest):
        return highest
    return highest + float(np.log(np.exp(array - highest).sum()))


def conditional(
    log_bytes: NDArray[np.float64], log_end: float, log_text: float, pruned: float, cost: Cost
) -> NextBytes:
    """The distribution after a text, from log P of the text and a byte, of the text as a whole, and of the text.

    NaN throughout where the text has probability zero.
    """
    given = log_text if log_text > -inf else nan
    log_bytes, end = log_bytes - given, log_end - given
    return NextBytes(log_bytes, end, log_sum([*log_bytes, end]), pruned, cost)


def log_product(context: Context, probability: float) -> float:
    """log of the probability of a context and of what follows it with this probability."""
    assert context.log_probability is not None
    return context.log_probability + log(probability) if probability > 0 else -inf


def log_masses(covers: Covers) -> list[float]:
    """log of the probability of each cover: of its context at the end of the text, else with one of its tokens."""
    length = len(covers.text)
    masses = []
    for cover in covers.covers:
        if cover.context.length == length:
            assert cover.context.log_probability is not None
            masses.append(cover.context.log_probability)
        else:
            masses.append(log_product(cover.context, cover.sum()))
    return masses


def log_branches(vocabulary: Vocabulary, covers: Covers) -> NDArray[np.float64]:
    """[256] log of the probability of the text and one more byte, from covers that are all evaluated."""
    parts = []
    for cover in covers.covers:
        assert cover.tokens is not None and cover.context.log_probability is not None
        branches = vocabulary.branches(cover.low, cover.high, len(covers.text) - cover.context.length)
        if not len(branches.start):
            continue
        sums = np.add.reduceat(
            cover.tokens[cover.low - cover.offset : cover.high - cover.offset], branches.start - cover.low
        )
        # scaled by its own sum: neither the context's probability nor the tokens' alone fit the range of a float
        total = float(sums.sum())
        if total > 0 and cover.context.log_probability > -inf:
            parts.append((cover.context.log_probability + log(total), branches.following, sums / total))
    highest = max((mass for mass, _, _ in parts), default=-inf)
    out = np.zeros(256)
    for mass, following, shares in parts:
        out[following] += exp(mass - highest) * shares
    with np.errstate(divide="ignore"):
        return np.log(out) + (highest if parts else 0.0)
