"""Patchers whose boundaries follow from the bytes alone: space, character, fixed. The stream of causal patchers."""

from collections.abc import Sequence
from typing import Protocol

from tokenlab.patches.interface import CausalStream, Starts
from tokenlab.patches.options import FixedOptions, SpaceOptions
from tokenlab.patches.rules import CHARACTER_LENGTHS, SPACELIKE, character_starts, fixed_starts, space_starts

_SPACELIKE = SPACELIKE.tolist()
_LENGTHS = CHARACTER_LENGTHS.tolist()
_SPACE, _FIXED = SpaceOptions(), FixedOptions()


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
