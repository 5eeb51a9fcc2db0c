"""Rules of patchers, as functions from a whole text to the offsets at which its patches begin.

The same rules byte by byte are in `by_bytes` and `entropy`.
"""

import numpy as np
from numpy.typing import NDArray

from tokenlab.patches.interface import Starts
from tokenlab.patches.options import EntropyOptions

_BYTES = np.arange(256)
_ALPHANUMERIC = np.array([chr(byte).isalnum() and byte < 0x80 for byte in range(256)])
SPACELIKE: NDArray[np.bool_] = ~_ALPHANUMERIC & ~((_BYTES >= 0x80) & (_BYTES < 0xC0))
"""bool[256]: ASCII but letters and digits, and the first bytes of longer characters; not continuation bytes."""
CHARACTER_LENGTHS: NDArray[np.int64] = np.select(
    [_BYTES < 0xC0, _BYTES < 0xE0, _BYTES < 0xF0, _BYTES < 0xF8], [1, 2, 3, 4], default=1
)
"""int64[256]: bytes of the character that a byte begins; 1 for bytes that begin none."""


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
    if _is_utf8(data):
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


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
