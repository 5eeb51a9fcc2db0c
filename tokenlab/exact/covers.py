"""The contexts of a text, found by the automaton, and evaluated by a model: the sums from which all else is computed.

A *context* is a live token sequence that spells a beginning of the text. A *cover* is a context together with the live
tokens after it that spell the rest of the text and more; they are a range of the sorted vocabulary, which narrows byte
by byte. A token that spells exactly the rest makes a new context, at the end of the text. So at any time the texts that
begin with this one are divided among the covers.

Two encodings of a text that agree in their first tokens share these contexts. With BPE or maximum prefix encoding there
is at most one context at each position, the encoding of the text up to there (proposition H.6); with a pre-tokenizer
that looks ahead there may be more, and with all encodings there are many.

1. `Context`, `Cover`, `Covers`: found by the automaton alone, without a model.
2. `token_distribution`: logits of a context to probabilities of its tokens, truncated and renormalised (appendix G of
   the paper).
3. `Evaluator`: contexts that are wanted, and their ancestors, evaluated in few passes, each once.
4. `log_masses`, `log_branches`: sums over the covers of a text, in log space. Every cover's share is computed from its
   own sum, not from differences of cumulative sums, so that small probabilities keep their digits.
"""

from collections.abc import Hashable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from math import exp, inf, log, nan
from typing import NamedTuple
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.exact.interface import Cost, NextBytes, TokenAutomaton, TokenModel
from tokenlab.exact.vocabulary import Vocabulary

NODES = 256
"""Contexts of one pass. Their logits are in memory at once: 50 MB for 50,000 tokens in float32."""
_LEAST = 1e-100
"""Share of the live tokens below which their probabilities are computed apart."""


class TokenDistribution(NamedTuple):
    """What may follow a context."""

    tokens: NDArray[np.float64]
    """[len(vocabulary)] by position: probabilities of the tokens that spell text; 0 for tokens that are not live"""
    end: float
    """probability that the text ends here"""
    defined: bool
    """False after a context of probability zero: then all probabilities are 0"""


@dataclass(slots=True, eq=False)
class Context:
    """A live token sequence that spells a beginning of a text."""

    parent: "Context | None"
    """the context without the last token; None for the root, which has no tokens"""
    token: int
    place: int
    """id and position in the vocabulary of the last token"""
    length: int
    """bytes that the tokens spell"""
    state: Hashable
    """of the automaton after the tokens"""
    log_probability: float | None = None
    """of the tokens, in nats; None until the parent is evaluated"""
    number: int | None = None
    """of the node in the tree of the model; None until it is evaluated"""
    undefined: bool = False
    """whether the model gave it probability zero"""
    plain: dict[int, float] | None = None
    """ids whose log-probabilities by the model as it is (no truncation) are asked for, and these when it is evaluated,
    in nats; None where nothing is asked"""
    children: "list[Context]" = field(default_factory=list)
    covers: "list[Cover]" = field(default_factory=list)
    """those that wait for the context to be evaluated"""

    def child(self, automaton: TokenAutomaton, token: int) -> "Context | None":
        """The context with one more token, None where it is not live.

        Its probability is set when this context is evaluated.
        """
        state = automaton.step(self.state, token)
        if state is None:
            return None
        vocabulary = automaton.vocabulary
        place = int(vocabulary.position[token])
        child = Context(self, token, place, self.length + int(vocabulary.length[place]), state)
        if self.number is None:
            self.children.append(child)
        return child

    def evaluated(self, number: int, distribution: TokenDistribution) -> None:
        """Take the model's distribution, and hand it on to the children and covers that wait for it."""
        self.number = number
        self.undefined = not distribution.defined
        for child in self.children:
            child.set_log_probability(float(distribution.tokens[child.place]))
        for cover in self.covers:
            cover.take(distribution)
        self.children, self.covers = [], []

    def set_log_probability(self, last: float) -> None:
        """Set the probability from that of the last token, given the parent."""
        assert self.parent is not None and self.parent.log_probability is not None
        self.log_probability = self.parent.log_probability + (float(np.log(last)) if last > 0 else -inf)


class Cover:
    """A context, and the range [low, high) of the tokens after it that spell the rest of the text and more.

    Attributes:
        tokens: float64 probabilities of the tokens from the position `offset` on; None until the context is evaluated.
        end: probability that the text ends after the context.
    """

    __slots__ = ("_mask", "context", "end", "high", "low", "offset", "tokens")

    def __init__(self, context: Context, size: int) -> None:
        self.context = context
        self.low, self.high, self.offset = 0, size, 0
        self.tokens: NDArray[np.float64] | None = None
        self.end = 0.0
        self._mask: NDArray[np.bool_] | None = None
        if context.number is None:
            context.covers.append(self)

    def copy(self) -> "Cover":
        """A cover that narrows apart from this one."""
        other = Cover.__new__(Cover)
        other.context, other.tokens, other.end, other._mask = self.context, self.tokens, self.end, self._mask
        other.low, other.high, other.offset = self.low, self.high, self.offset
        if self.context.number is None:
            self.context.covers.append(other)
        return other

    def take(self, distribution: TokenDistribution) -> None:
        """Take the probabilities of the tokens of the range."""
        self.end = distribution.end
        self.tokens, self.offset = distribution.tokens, 0
        self._release()

    def sum(self) -> float:
        """Probability of the tokens of the range, given the context."""
        assert self.tokens is not None
        return float(self.tokens[self.low - self.offset : self.high - self.offset].sum())

    def narrow(self, automaton: TokenAutomaton, rest: bytes) -> tuple[int, int]:
        """Leave only the tokens that begin with `rest` and are longer.

        Returns: the range of positions of the tokens that spell exactly `rest`.
        """
        vocabulary = automaton.vocabulary
        low, high = vocabulary.beginning_with(rest, self.low, self.high)
        longer = low
        while longer < high and vocabulary.spelling(longer) == rest:
            longer += 1
        self.low, self.high = longer, high
        if longer < high and not self.mask(automaton)[longer:high].any():
            self.high = longer
        if self.tokens is not None:
            self._release()
        return low, longer

    def mask(self, automaton: TokenAutomaton) -> NDArray[np.bool_]:
        """[len(vocabulary)] the live tokens after the context."""
        if self._mask is None:
            self._mask = automaton.allowed(self.context.state)
        return self._mask

    def _release(self) -> None:
        """Let go of the probabilities outside of the range where they are most of the memory."""
        assert self.tokens is not None
        if 2 * (self.high - self.low) < len(self.tokens):
            self.tokens = self.tokens[self.low - self.offset : self.high - self.offset].copy()
            self.offset = self.low


class Covers:
    """The covers of a text that grows byte by byte.

    Attributes:
        text: the text so far, the prefix of the automaton included.
        covers: those with tokens beyond the text, and one for each context at its end; the order is that of their
            contexts' lengths.
    """

    def __init__(self, automaton: TokenAutomaton, root: Context, *, max_contexts: int) -> None:
        self.automaton = automaton
        self.max_contexts = max_contexts
        self.text = bytearray()
        self.covers = [Cover(root, len(automaton.vocabulary))]

    def copy(self) -> "Covers":
        """The same text, to grow apart."""
        other = copy(self)
        other.text = bytearray(self.text)
        other.covers = [cover.copy() for cover in self.covers]
        return other

    def advance(self, byte: int) -> None:
        """Append a byte to the text. Covers that cannot go on so are dropped; none may be left."""
        self.text.append(byte)
        staying, ending = [], []
        for cover in self.covers:
            rest = bytes(self.text[cover.context.length :])
            tokens, offset = cover.tokens, cover.offset
            low, high = cover.narrow(self.automaton, rest)
            for place in range(low, high):
                if not cover.mask(self.automaton)[place]:
                    continue
                child = cover.context.child(self.automaton, int(self.automaton.vocabulary.ids[place]))
                if child is not None:
                    if tokens is not None:
                        child.set_log_probability(float(tokens[place - offset]))
                    ending.append(child)
            if cover.low < cover.high:
                staying.append(cover)
        self.covers = staying + [Cover(context, len(self.automaton.vocabulary)) for context in ending]

    def check(self, prunable: bool = True) -> None:
        """Raise ParameterError where there are more contexts than allowed."""
        if len(self.covers) > self.max_contexts:
            prune = "prune (--prune) above 0, or " if prunable else ""
            raise ParameterError(
                f"more than {self.max_contexts} contexts after {len(self.text)} bytes of text; "
                f"set {prune}a larger max_contexts (--max-contexts)"
            )

    def ending(self) -> list[Cover]:
        """The covers whose contexts end where the text ends."""
        return [cover for cover in self.covers if cover.context.length == len(self.text)]


def unevaluated(contexts: Iterable[Context]) -> list[Context]:
    """Those of the contexts and of their ancestors that are not evaluated yet, parents before children."""
    found: dict[int, Context] = {}
    for leaf in contexts:
        context: Context | None = leaf
        while context is not None and context.number is None and id(context) not in found:
            found[id(context)] = context
            context = context.parent
    return sorted(found.values(), key=lambda context: context.length)


def check_bytes(vocabulary: Vocabulary, text: bytes) -> None:
    """Raise InputError for a text with a byte that no token has."""
    missing = np.flatnonzero(~vocabulary.has_byte[np.frombuffer(text, np.uint8)])
    if len(missing):
        raise unknown_byte(text[missing[0]], int(missing[0]) + 1)


def unknown_byte(byte: int, index: int) -> InputError:
    """The error for a text whose byte at an index (from 1) is in no token."""
    return InputError(
        f"the text has byte 0x{byte:02X} ({chr(byte)!r}) at byte {index}, which no token has; "
        "remove it, or use a tokenizer whose vocabulary contains it"
    )


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
    closing = -inf if end is None else float(logits[end])
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
        highest = max(float(spelled[allowed].max(initial=-inf)), closing)
        if highest == -inf:
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
    if highest == inf or (np.isnan(highest) and not np.isnan(logits).all()):
        raise InputError("the model's logits have NaN or infinite values; check its weights and its number format")
    return TokenDistribution(np.zeros(size), 0.0, False)


class Evaluator:
    """One tree of contexts of a model, for one text or for several.

    Attributes:
        root: the context before the first token.
        users: the covers of texts that go on from this tree; nodes that none of them needs can be forgotten.
    """

    def __init__(self, model: TokenModel, automaton: TokenAutomaton, *, truncate: bool, nodes: int = NODES) -> None:
        self.model, self.automaton, self.truncate, self.nodes = model, automaton, truncate, nodes
        self.tree = model.tree()
        self.root = Context(None, -1, -1, 0, automaton.start(), log_probability=0.0)
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
