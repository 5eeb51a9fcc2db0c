"""Token-free language models: over characters, the same over the bytes of UTF-8, and Markov chains (section 4)."""

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokenlab.core.errors import InputError, ParameterError

_CACHED = 1 << 14


class CharacterSource(Protocol):
    """A token-free language model: the distribution of the next character after a text."""

    alphabet: Sequence[str]
    """the characters that it produces"""
    has_end: bool
    """whether texts end"""

    def start(self) -> Hashable:
        """The state before the first character. Equal states have equal futures."""
        ...

    def step(self, state: Hashable, character: int) -> Hashable:
        """The state after one more character, an index of the alphabet."""
        ...

    def next(self, state: Hashable) -> NDArray[np.float64]:
        """float64[alphabet, and 1 more where texts end] probabilities of the next character, and of the end."""
        ...


class ByteState(NamedTuple):
    """A state of a source, inside a character or not."""

    state: Hashable
    partial: bytes = b""
    """bytes of the character that is not complete"""
    prefix: int = 0
    """how many bytes of the encoder's prefix are still to come"""


class NextByte(NamedTuple):
    """One byte that can follow."""

    byte: int
    probability: float
    state: ByteState


class Following(NamedTuple):
    """The distribution of the next byte: those of positive probability, and the end."""

    bytes: tuple[NextByte, ...]
    end: float


class ByteSource:
    """A character source byte by byte; a prefix comes before every text with probability 1.

    Raises InputError for an alphabet that is empty, or has something in it twice, or that is no character.
    """

    def __init__(self, source: CharacterSource, prefix: bytes = b"") -> None:
        self.has_end, self._source, self._prefix = source.has_end, source, prefix
        self.spelled = [character.encode() for character in source.alphabet]
        check_alphabet(source.alphabet)
        self.following = lru_cache(_CACHED)(self._following)

    def start(self) -> ByteState:
        """The state before the first byte."""
        return ByteState(self._source.start(), prefix=len(self._prefix))

    def _following(self, at: ByteState) -> Following:
        if at.prefix:
            byte = self._prefix[len(self._prefix) - at.prefix]
            return Following((NextByte(byte, 1.0, ByteState(at.state, prefix=at.prefix - 1)),), 0.0)
        probabilities = self._source.next(at.state)
        done, masses, states = len(at.partial), dict[int, float](), dict[int, ByteState]()
        for index, (character, p) in enumerate(zip(self.spelled, probabilities.tolist(), strict=False)):
            if p > 0 and character.startswith(at.partial):
                byte, rest = character[done], character[done + 1 :]
                masses[byte] = masses.get(byte, 0.0) + p
                if byte not in states:
                    after = ByteState(at.state, at.partial + character[done : done + 1])
                    states[byte] = after if rest else ByteState(self._source.step(at.state, index))
        end = float(probabilities[-1]) if self.has_end and not done else 0.0
        total = sum(masses.values()) if done else 1.0
        return Following(tuple(NextByte(b, m / total, states[b]) for b, m in sorted(masses.items())), end)


def check_alphabet(alphabet: Sequence[str]) -> None:
    """Raise InputError for an alphabet that is empty, or has something in it twice, or that is no character."""
    if not len(alphabet):
        raise InputError("the alphabet is empty; give it at least one character")
    for character in alphabet:
        if len(character) != 1:
            raise InputError(f"{character!r} in the alphabet is not one character; list single characters")
    if len(set(alphabet)) < len(alphabet):
        twice = next(character for character in alphabet if list(alphabet).count(character) > 1)
        raise InputError(f"{twice!r} is in the alphabet twice; list each character once")


_TOLERANCE = 1e-9


class MarkovChain:
    """An endless chain of order k: the next character depends on the k last ones.

    Args:
        alphabet: its characters, any of Unicode.
        transitions: float[A, ..., A] with k + 1 axes: P(last axis | the k characters before, oldest first).
        initial: float[A, ..., A] with k axes: P(first k characters); default uniform.

    Raises:
        InputError: an alphabet that is empty or repeats, arrays of other shapes, rows that are no distributions.
    """

    has_end = False

    def __init__(
        self, alphabet: str | bytes | Sequence[str], transitions: ArrayLike, initial: ArrayLike | None = None
    ) -> None:
        characters = alphabet.decode("latin-1") if isinstance(alphabet, bytes) else alphabet
        self.alphabet: Sequence[str] = tuple(characters)
        check_alphabet(self.alphabet)
        size = len(self.alphabet)
        self.transitions = np.array(transitions, np.float64)
        self.order = self.transitions.ndim - 1
        uniform = np.full([size] * self.order, float(size) ** -self.order)
        self.initial = uniform if initial is None else np.array(initial, np.float64)
        _check_distributions(self.transitions, "transitions", size, max(self.order, 0) + 1, axis=-1)
        _check_distributions(self.initial, "initial", size, self.order, axis=None)
        self._index = {character: i for i, character in enumerate(self.alphabet)}

    @classmethod
    def random(cls, order: int, alphabet: str | Sequence[str], seed: int, concentration: float = 1.0) -> Self:
        """A chain whose rows are drawn from a symmetric Dirichlet distribution.

        Raises:
            ParameterError: a negative order, a concentration that is not above 0.
        """
        if order < 0 or not concentration > 0:
            raise ParameterError(f"order {order}, concentration {concentration}; they must be at least 0, and above 0")
        size = len(alphabet)
        rows = np.random.default_rng(seed).dirichlet(np.full(size, concentration), [size] * order)
        return cls(alphabet, rows)

    def start(self) -> Hashable:
        """No character before."""
        return ()

    def step(self, state: Hashable, character: int) -> Hashable:
        """The last k characters, as indices, fewer at the beginning."""
        assert isinstance(state, tuple)
        return (*state, character)[-self.order :] if self.order else ()

    def next(self, state: Hashable) -> NDArray[np.float64]:
        """float64[A] P(next character | last characters); NaN after a beginning of probability zero."""
        assert isinstance(state, tuple)
        if len(state) == self.order:
            row: NDArray[np.float64] = self.transitions[state]
            return row
        begun: NDArray[np.float64] = self.initial[state].reshape(len(self.alphabet), -1).sum(-1)
        total = begun.sum()
        return begun / total if total else np.full(len(self.alphabet), np.nan)

    def next_character(self, text: str) -> NDArray[np.float64]:
        """float64[A] P(next character | text).

        Raises:
            InputError: a character that is not in the alphabet.
        """
        state: Hashable = ()
        for character in self._indices(text)[-self.order or len(text) :]:
            state = self.step(state, character)
        return self.next(state)

    def log_probability(self, text: str) -> float:
        """log P(a text starts with this one), in nats; 0 for the empty text, -inf where it is impossible.

        Raises:
            InputError: a character that is not in the alphabet.
        """
        state, total = self.start(), 0.0
        for character in self._indices(text):
            p = self.next(state)[character]
            if not p > 0:
                return -np.inf
            total += float(np.log(p))
            state = self.step(state, character)
        return total

    def sample(self, generator: np.random.Generator, length: int, count: int = 1) -> list[str]:
        """Draw `count` texts of `length` characters."""
        size = len(self.alphabet)
        first = generator.choice(self.initial.size, count, p=self.initial.ravel())
        drawn = np.empty((count, max(length, self.order)), np.int64)
        drawn[:, : self.order] = np.stack(np.unravel_index(first, self.initial.shape), -1) if self.order else 0
        cumulative = self.transitions.reshape(-1, size).cumsum(-1)
        cumulative[:, -1] = 1.0
        code = first
        for i in range(self.order, length):
            drawn[:, i] = (generator.random(count)[:, None] >= cumulative[code]).sum(-1)
            code = (code * size + drawn[:, i]) % self.initial.size
        points = np.array([ord(character) for character in self.alphabet], np.uint32)[drawn[:, :length]]
        return [row.tobytes().decode("utf-32-le") for row in points]

    def _indices(self, text: str) -> list[int]:
        try:
            return [self._index[character] for character in text]
        except KeyError as error:
            raise InputError(f"character {error} is not in the alphabet ({', '.join(self.alphabet)})") from None


def _check_distributions(array: NDArray[np.float64], name: str, size: int, axes: int, axis: int | None) -> None:
    if array.shape != (size,) * axes:
        raise InputError(f"{name} have shape {array.shape}, not {(size,) * axes}; give {axes} axes of the alphabet")
    if not (array >= 0).all() or not np.allclose(array.sum(axis), 1, rtol=0, atol=_TOLERANCE):
        raise InputError(f"{name} are no distributions; they must be at least 0 and sum to 1")
