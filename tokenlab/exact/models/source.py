"""Language models over characters, and the same as models over the bytes of UTF-8."""

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError

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
