"""The contexts of a text, found by the automaton alone, without a model.

A *context* is a live token sequence that spells a beginning of the text. A *cover* is a context together with the live
tokens after it that spell the rest of the text and more; they are a range of the sorted vocabulary, which narrows byte
by byte. A token that spells exactly the rest makes a new context, at the end of the text. So at any time the texts that
begin with this one are divided among the covers.

Two encodings of a text that agree in their first tokens share these contexts. With BPE or maximum prefix encoding there
is at most one context at each position, the encoding of the text up to there (proposition H.6); with a pre-tokenizer
that looks ahead there may be more, and with all encodings there are many.
"""

from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.vocabulary import Vocabulary


class TokenDistribution(NamedTuple):
    """What may follow a context."""

    tokens: NDArray[np.float64]
    """[len(vocabulary)] by position: probabilities of the tokens that spell text; 0 for tokens that are not live"""
    end: float
    """probability that the text ends here"""
    defined: bool
    """False after a context of probability zero: then all probabilities are 0"""


class Context:
    """A live token sequence that spells a beginning of a text.

    Attributes:
        parent: the context without the last token; None for the root, which has no tokens.
        token, place: id and position in the vocabulary of the last token.
        length: bytes that the tokens spell.
        state: state of the automaton after them.
        log_probability: of the tokens, in nats; None until the parent is evaluated.
        number: of the node in the tree of the model; None until it is evaluated.
        undefined: whether the model gave it probability zero.
        plain: ids whose log-probabilities by the model as it is (no truncation) are asked for, and these when it is
            evaluated, in nats; None where nothing is asked.
        children, covers: those that wait for the context to be evaluated.
    """

    __slots__ = (
        "children",
        "covers",
        "length",
        "log_probability",
        "number",
        "parent",
        "place",
        "plain",
        "state",
        "token",
        "undefined",
    )

    def __init__(self, parent: "Context | None", token: int, place: int, length: int, state: Hashable) -> None:
        self.parent = parent
        self.token = token
        self.place = place
        self.length = length
        self.state = state
        self.log_probability: float | None = None if parent else 0.0
        self.number: int | None = None
        self.undefined = False
        self.plain: dict[int, float] | None = None
        self.children: list[Context] = []
        self.covers: list[Cover] = []

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
        self.log_probability = self.parent.log_probability + (float(np.log(last)) if last > 0 else float("-inf"))


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
        other = Covers.__new__(Covers)
        other.automaton, other.max_contexts = self.automaton, self.max_contexts
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

    def check(self) -> None:
        """Raise ParameterError where there are more contexts than allowed."""
        if len(self.covers) > self.max_contexts:
            raise ParameterError(
                f"more than {self.max_contexts} contexts after {len(self.text)} bytes of text; "
                "set prune (--prune) above 0, or a larger max_contexts (--max-contexts)"
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


@lru_cache(maxsize=16)
def known_bytes(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """[256] the bytes that occur in tokens. Do not change it."""
    known = np.zeros(256, bool)
    for token in vocabulary.tokens:
        known[list(token or b"")] = True
    return known


def check_bytes(vocabulary: Vocabulary, text: bytes) -> None:
    """Raise InputError for a text with a byte that no token has."""
    missing = np.flatnonzero(~known_bytes(vocabulary)[np.frombuffer(text, np.uint8)])
    if len(missing):
        raise unknown_byte(text[missing[0]], int(missing[0]) + 1)


def unknown_byte(byte: int, index: int) -> InputError:
    """The error for a text whose byte at an index (from 1) is in no token."""
    return InputError(
        f"the text has byte 0x{byte:02X} ({chr(byte)!r}) at byte {index}, which no token has; "
        "remove it, or use a tokenizer whose vocabulary contains it"
    )
