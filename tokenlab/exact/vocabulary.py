"""The tokens of a model as bytes of text, sorted, so that the tokens that begin with the same bytes are neighbours."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError


class Branches(NamedTuple):
    """A range of sorted tokens with a common prefix, divided by the byte that follows the prefix."""

    following: NDArray[np.uint8]
    """[branches] the byte after the prefix, ascending"""
    start: NDArray[np.int64]
    """[branches] position of the first token of each branch; tokens before the first are the prefix itself"""


class Vocabulary:
    """Tokens as bytes.

    Several ids may spell the same bytes: SentencePiece has `A` and `<0x41>`. Ids that spell no text (BOS, EOS, padding)
    have None.

    Attributes:
        tokens: the bytes of each id, or None.
        ids: int64[n] the ids that spell text, sorted by their bytes, equal bytes by id. A *position* is an index of it.
        position: int64[ids] the position of each id, -1 for ids that spell no text.
        longest: length of the longest token in bytes.
        has_byte: bool[256] the bytes that occur in tokens.

    Raises InputError where no token spells text, or one spells the empty text.
    """

    def __init__(self, tokens: Sequence[bytes | None]) -> None:
        self.tokens = tuple(tokens)
        if b"" in self.tokens:
            raise InputError(f"token {self.tokens.index(b'')} is empty; remove it from the vocabulary")
        spelled = sorted((token, id) for id, token in enumerate(self.tokens) if token is not None)
        if not spelled:
            raise InputError("the vocabulary is empty: no token spells text")
        self._spelled = [token for token, _ in spelled]
        self.ids = np.array([id for _, id in spelled], np.int64)
        self.position = np.full(len(self.tokens), -1, np.int64)
        self.position[self.ids] = np.arange(len(self.ids))
        self.length = np.array([len(token) for token, _ in spelled], np.int64)
        self.longest = int(self.length.max())
        self._offset = np.concatenate(([0], np.cumsum(self.length)))
        self._bytes = np.frombuffer(b"".join(self._spelled), np.uint8)
        self.has_byte = np.zeros(256, bool)
        self.has_byte[self._bytes] = True
        self.branches = lru_cache(maxsize=4096)(self._branches)

    def __len__(self) -> int:
        """Number of tokens that spell text."""
        return len(self._spelled)

    def spelling(self, position: int) -> bytes:
        """The bytes of the token at a position."""
        return self._spelled[position]

    def beginning_with(self, prefix: bytes, low: int = 0, high: int | None = None) -> tuple[int, int]:
        """The range of positions [low, high) of the tokens that begin with `prefix`, searched in a range."""
        high = len(self._spelled) if high is None else high
        low = bisect_left(self._spelled, prefix, low, high)
        after = _successor(prefix)
        return low, high if after is None else bisect_left(self._spelled, after, low, high)

    def equal_to(self, text: bytes, low: int = 0, high: int | None = None) -> tuple[int, int]:
        """The range of positions [low, high) of the tokens that spell `text`, searched in a range."""
        high = len(self._spelled) if high is None else high
        low = bisect_left(self._spelled, text, low, high)
        return low, bisect_left(self._spelled, text + b"\0", low, high)

    def _branches(self, low: int, high: int, depth: int) -> Branches:
        """Divide the range [low, high) of tokens that share `depth` bytes by the byte that follows."""
        longer = low + int(np.searchsorted(self.length[low:high] > depth, True))
        following = self._bytes[self._offset[longer:high] + depth]
        first = np.flatnonzero(np.diff(following, prepend=-1 if not len(following) else int(following[0]) - 1))
        return Branches(following[first], longer + first)


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the longest common prefix of two sequences, such as bytes."""
    shorter = min(len(first), len(second))
    return next((i for i in range(shorter) if first[i] != second[i]), shorter)


def _successor(prefix: bytes) -> bytes | None:
    """The smallest bytes above all that begin with `prefix`, None where there are none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None
