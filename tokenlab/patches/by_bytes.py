"""Patchers whose boundaries follow from the bytes alone: space, character, fixed.

Every rule is there twice: as a function from a whole text to the offsets at which its patches begin, and byte by byte
for streams. The rule of `entropy_patcher` is here as a function, too.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tokenlab.formats.reading import is_utf8
from tokenlab.patches.interface import CausalStream, Starts
from tokenlab.patches.options import EntropyOptions, FixedOptions, SpaceOptions

_BYTES = np.arange(256)
_ALPHANUMERIC = np.array([chr(byte).isalnum() and byte < 0x80 for byte in range(256)])
SPACELIKE: NDArray[np.bool_] = ~_ALPHANUMERIC & ~((_BYTES >= 0x80) & (_BYTES < 0xC0))
"""bool[256]: ASCII but letters and digits, and the first bytes of longer characters; not continuation bytes."""
CHARACTER_LENGTHS: NDArray[np.int64] = np.select(
    [_BYTES < 0xC0, _BYTES < 0xE0, _BYTES < 0xF0, _BYTES < 0xF8], [1, 2, 3, 4], default=1
)
"""int64[256]: bytes of the character that a byte begins; 1 for bytes that begin none."""
_SPACELIKE = SPACELIKE.tolist()
_LENGTHS = CHARACTER_LENGTHS.tolist()
_SPACE, _FIXED = SpaceOptions(), FixedOptions()


def space_starts(data: bytes, cap: int | None = None) -> Starts:
    """A patch ends with a spacelike byte that follows one that is not spacelike (Slagle 2024; Pagnoni et al. 2024).

    Before the text stands something spacelike. In Chinese, where every first byte of a character is spacelike, patches
    are one byte out of phase with the characters: each ends with the first byte of the next character.
    """
    spacelike = SPACELIKE[np.frombuffer(data, np.uint8)]
    begins = np.zeros(len(data), bool)
    begins[:1] = True
    begins[2:] = spacelike[1:-1] & ~spacelike[:-2]
    return capped(np.flatnonzero(begins), len(data), cap)


def character_starts(data: bytes) -> Starts:
    """A patch is a character of UTF-8.

    Bytes that are not UTF-8 are cut by their first bytes: a patch has as many bytes as its first one announces.
    """
    if is_utf8(data):
        values = np.frombuffer(data, np.uint8)
        return np.flatnonzero((values & 0xC0) != 0x80)
    starts, at = [], 0
    while at < len(data):
        starts.append(at)
        at += int(CHARACTER_LENGTHS[data[at]])
    return np.array(starts, np.int64)


def fixed_starts(size: int, length: int) -> Starts:
    """A patch has `length` bytes, the last one the rest."""
    return np.arange(0, size, length, dtype=np.int64)


def entropy_starts(entropies: NDArray[np.float32], options: EntropyOptions) -> Starts:
    """A patch begins where the next byte is hard to predict (Pagnoni et al. 2024, section 2.3).

    entropies: float32[bytes] in nats; entropies[i] is that of byte i, given the bytes before it. The first byte begins
    a patch whatever its entropy is. Comparisons are strict, in float32.
    """
    begins = np.zeros(len(entropies), bool)
    if options.rule != "monotone":
        begins[1:] = entropies[1:] > np.float32(options.threshold)
    if options.rule != "threshold":
        risen = np.diff(entropies) > np.float32(options.rise)
        begins[1:] = risen if options.rule == "monotone" else begins[1:] & risen
    begins[:1] = True
    return capped(np.flatnonzero(begins), len(entropies), options.cap)


def capped(starts: Starts, size: int, cap: int | None) -> Starts:
    """Patches of at most `cap` bytes: longer ones are cut from their beginning, the last part has the rest."""
    if cap is None or not size:
        return starts
    parts = -(-np.diff(starts, append=size) // cap)
    first = np.repeat(np.cumsum(parts) - parts, parts)
    return np.repeat(starts, parts) + cap * (np.arange(len(first)) - first)


class Rule(Protocol):
    """A rule byte by byte."""

    def begins(self) -> bool:
        """Whether the next byte begins a patch; not asked before the first byte."""
        ...

    def see(self, byte: int) -> None:
        """The next byte."""
        ...


class RuleStream:
    """The stream of a rule, with a cap on the bytes of a patch."""

    def __init__(self, rule: Rule, cap: int | None = None) -> None:
        self._rule, self._cap = rule, cap
        self._size = self._last = 0

    def begins_next(self) -> bool:
        """Whether the next byte, whatever it is, begins a patch."""
        return not self._size or self._size - self._last == self._cap or self._rule.begins()

    def feed(self, data: bytes) -> list[int]:
        """The starts among these bytes, as offsets in the whole text."""
        starts = []
        for byte in data:
            if self.begins_next():
                self._last = self._size
                starts.append(self._size)
            self._rule.see(byte)
            self._size += 1
        return starts

    def finish(self) -> list[int]:
        """Nothing: all starts are known when their bytes come."""
        return []


class SpacePatcher:
    """Patches that end with a spacelike byte; see `space_starts`."""

    causal = True

    def __init__(self, options: SpaceOptions = _SPACE) -> None:
        self.options = options

    def starts(self, texts: Sequence[bytes]) -> list[Starts]:
        """The patches of each text."""
        return [space_starts(text, self.options.cap) for text in texts]

    def stream(self) -> CausalStream:
        """A new stream."""
        return RuleStream(_SpaceRule(), self.options.cap)


class CharacterPatcher:
    """Patches that are characters; see `character_starts`."""

    causal = True

    def starts(self, texts: Sequence[bytes]) -> list[Starts]:
        """The patches of each text."""
        return [character_starts(text) for text in texts]

    def stream(self) -> CausalStream:
        """A new stream."""
        return RuleStream(_CharacterRule())


class FixedPatcher:
    """Patches of equal length; they may cut characters."""

    causal = True

    def __init__(self, options: FixedOptions = _FIXED) -> None:
        self.options = options

    def starts(self, texts: Sequence[bytes]) -> list[Starts]:
        """The patches of each text."""
        return [fixed_starts(len(text), self.options.length) for text in texts]

    def stream(self) -> CausalStream:
        """A new stream."""
        return RuleStream(_NoRule(), self.options.length)


class _SpaceRule:
    def __init__(self) -> None:
        self._spacelike, self._begins = True, False

    def begins(self) -> bool:
        return self._begins

    def see(self, byte: int) -> None:
        before, self._spacelike = self._spacelike, _SPACELIKE[byte]
        self._begins = self._spacelike and not before


class _CharacterRule:
    def __init__(self) -> None:
        self._missing = 0

    def begins(self) -> bool:
        return not self._missing

    def see(self, byte: int) -> None:
        self._missing = (self._missing or _LENGTHS[byte]) - 1


class _NoRule:
    def begins(self) -> bool:
        return False

    def see(self, byte: int) -> None:
        pass
