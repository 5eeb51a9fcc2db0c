"""Kernels that cut texts into pieces as the regular expressions of `tokenlab.tokenizers.cuts` do, and count pieces.

`find_pieces` reads the kinds of the characters, which `tokenlab.tokenizers.kinds` knows. These expressions never
backtrack but in whitespace, so each kernel is one scan.

`add_pieces` counts in a hash table of spellings. Pieces are numbered as they appear, so their order does not depend on
the hash. A short piece is its own key, read eight bytes at once; its count stands beside the key, so that most pieces
touch one line of the caches. All pieces of a batch get their keys before the first is looked up: a lookup misses the
caches, and the processor then works on several at once.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tokenlab.core.kernels import copy, write_utf8

AUTO, GPT2, LLAMA3, WHITESPACE = range(4)

RUN = 7
"""The bits for the script without spaces, 1 to 6, of whose runs a character is; 0: of none."""
MARK, WORD, LETTER, NUMBER, SPACE, SIGN = (1 << bit for bit in range(3, 9))
"""Flags: of \\p{M}; of words of scripts with spaces; of \\p{L}; of \\p{N}; of \\s; of none of these classes."""

_FIRST_PIECES = 1 << 12
_FIRST_BYTES = 1 << 15
_HALF = 8
"""Bytes of half a key."""
_PACKED = 15
"""Bytes of a piece that a key holds; the last byte of the key is their number."""
_MASKS = np.array([(1 << 8 * min(max(length, 0), _HALF)) - 1 for length in range(-_HALF, _PACKED + 1)], np.uint64)
"""Of the bytes of a piece in the second half of its key, by its length; of those in the first, by its length plus 8."""
_HASHED = np.uint64(255 << 56)
"""The second half of the key of a longer piece; the first is a hash of it, which pieces can share."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class Pieces(NamedTuple):
    """Open addressing from spellings to pieces, and their spellings."""

    slots: np.ndarray
    """uint64[twice the room for pieces, a power of two; 4]: the key of a piece, its count, and its number."""
    begins: np.ndarray
    """int64[room + 1]: where its bytes begin, up to where those of the next one do."""
    spellings: np.ndarray
    """uint8[room]: all pieces in UTF-8."""
    size: np.ndarray
    """int64[1]: number of pieces."""


@njit(cache=True, nogil=True)
def without_kind(points, kinds):
    """The number of characters whose kind is not known yet."""
    number = 0
    for p in range(points.size):
        number += kinds[points[p]] == 0
    return number


@njit(cache=True, nogil=True)
def find_pieces(points, kinds, ends, cut):
    """Where each piece begins, and the end of the last: int64[pieces + 1].

    points: uint32[characters], the texts one after the other; kinds: uint16[code points], of all that occur; ends:
    int64[texts], where each text ends.
    """
    starts = np.empty(points.size + 1, np.int64)
    found, p = 0, 0
    for end in ends:
        while p < end:
            starts[found] = p
            found += 1
            if cut == AUTO:
                p = _auto(points, kinds, p, end)
            elif cut == GPT2:
                p = _gpt2(points, kinds, p, end)
            elif cut == LLAMA3:
                p = _llama3(points, kinds, p, end)
            else:
                p = _not_space(points, kinds, p, end)
    starts[found] = p
    return starts[: found + 1].copy()


@njit(inline="always")
def _auto(points, kinds, p, end):
    q = _after_space(points, p, end)
    kind = kinds[points[q]]
    if kind & RUN:
        q += 1
        while q < end and (kinds[points[q]] & RUN == kind & RUN or kinds[points[q]] & MARK):
            q += 1
        return q
    if kind & WORD:
        q = _while(points, kinds, q, end, WORD)
        while q + 1 < end and (points[q] == ord("'") or points[q] == ord("’")) and kinds[points[q + 1]] & WORD:
            q = _while(points, kinds, q + 1, end, WORD)
        return q
    if kind & NUMBER:
        return _while(points, kinds, q, min(q + 3, end), NUMBER)
    if kind & SIGN:
        return _while(points, kinds, q, end, SIGN)
    return _whitespace(points, kinds, p, end, True)


@njit(inline="always")
def _gpt2(points, kinds, p, end):
    if points[p] == ord("'"):
        second, third = _letter(points, p + 1, end), _letter(points, p + 2, end)
        if second == ord("s") or second == ord("d") or second == ord("m") or second == ord("t"):
            return p + 2
        if _is_ending(second, third):
            return p + 3
    q = _after_space(points, p, end)
    kind = kinds[points[q]]
    flags = LETTER if kind & LETTER else NUMBER if kind & NUMBER else SIGN | MARK
    if kind & flags:
        return _while(points, kinds, q, end, flags)
    return _whitespace(points, kinds, p, end, False)


@njit(inline="always")
def _llama3(points, kinds, p, end):
    if points[p] == ord("'"):
        second, third = _lower(_letter(points, p + 1, end)), _lower(_letter(points, p + 2, end))
        if second == ord("s") or second == ord("d") or second == ord("m") or second == ord("t"):
            return p + 2
        if _is_ending(second, third):
            return p + 3
    if kinds[points[p]] & LETTER:
        return _while(points, kinds, p, end, LETTER)
    if p + 1 < end and kinds[points[p + 1]] & LETTER and not kinds[points[p]] & NUMBER and not _is_line_end(points[p]):
        return _while(points, kinds, p + 1, end, LETTER)
    if kinds[points[p]] & NUMBER:
        return _while(points, kinds, p, min(p + 3, end), NUMBER)
    q = _after_space(points, p, end)
    if kinds[points[q]] & (SIGN | MARK):
        q = _while(points, kinds, q, end, SIGN | MARK)
        while q < end and _is_line_end(points[q]):
            q += 1
        return q
    return _whitespace(points, kinds, p, end, True)


@njit(inline="always")
def _not_space(points, kinds, p, end):
    q = _after_space(points, p, end)
    if kinds[points[q]] & SPACE:
        return _whitespace(points, kinds, p, end, False)
    while q < end and not kinds[points[q]] & SPACE:
        q += 1
    return q


@njit(inline="always")
def _after_space(points, p, end):
    """The place after an optional space, ` ?`."""
    return p + 1 if points[p] == ord(" ") and p + 1 < end else p


@njit(inline="always")
def _while(points, kinds, p, end, flags):
    """The end of the characters of these kinds that begin at p."""
    while p < end and kinds[points[p]] & flags:
        p += 1
    return p


@njit(inline="always")
def _whitespace(points, kinds, p, end, lines):
    r"""The end of `\s+(?!\S)|\s+`, or with `lines` of `\s*[\r\n]+|\s+(?!\S)|\s+`."""
    q = _while(points, kinds, p, end, SPACE)
    if lines:
        for line_end in range(q - 1, p - 1, -1):
            if _is_line_end(points[line_end]):
                return line_end + 1
    return q - 1 if q < end and q - p > 1 else q


@njit(inline="always")
def _is_line_end(point):
    return point == ord("\r") or point == ord("\n")


@njit(inline="always")
def _letter(points, p, end):
    return points[p] if p < end else np.uint32(0)


@njit(inline="always")
def _lower(point):
    """The letter without case: A to Z, and the long s."""
    if point == ord("ſ"):
        return np.uint32(ord("s"))
    return np.uint32(point + 32) if ord("A") <= point <= ord("Z") else point


@njit(inline="always")
def _is_ending(second, third):
    """Whether the letters after an apostrophe are `ll`, `ve` or `re`."""
    if second == ord("l"):
        return third == ord("l")
    return (second == ord("v") or second == ord("r")) and third == ord("e")


@njit(cache=True, nogil=True)
def no_pieces():
    """An empty table."""
    return Pieces(
        np.zeros((2 * _FIRST_PIECES, 4), np.uint64),
        np.zeros(_FIRST_PIECES + 1, np.int64),
        np.empty(_FIRST_BYTES, np.uint8),
        np.zeros(1, np.int64),
    )


def add_pieces(points: NDArray[np.uint32], starts: NDArray[np.int64], pieces: Pieces) -> Pieces:
    """Count the pieces points[starts[i]:starts[i + 1]]; returns the table, or a larger copy of it."""
    encoded = np.empty(4 * points.size + 2 * _HALF, np.uint8)
    starts = _utf8(points, starts, encoded)
    # Eight bytes from each place on, unaligned: x86-64 and ARM64 read them as fast.
    eights = np.ndarray(encoded.size - _HALF, np.uint64, encoded, strides=(1,))
    keys = _keys(eights, starts, _MASKS)
    added = 0
    while True:
        added = _add(encoded, starts, keys, added, pieces)
        if added == starts.size - 1:
            return pieces
        pieces = _with_room(pieces, starts[added + 1] - starts[added])


def counts_by_piece(pieces: Pieces) -> dict[str, int]:
    """How often each piece occurs."""
    slots = pieces.slots[pieces.slots[:, 2] > 0]
    counts = slots[slots[:, 3].argsort(), 2].tolist()
    begins = pieces.begins[: len(counts) + 1].tolist()
    spellings = pieces.spellings[: begins[-1]].tobytes()
    return {spellings[start:end].decode(): count for (start, end), count in zip(pairwise(begins), counts, strict=True)}


@njit(cache=True, nogil=True)
def _utf8(points, starts, encoded):
    """Write the characters in UTF-8; returns the places of the starts there."""
    places = np.empty(points.size + 1, np.int64)
    place = 0
    for p in range(points.size):
        places[p] = place
        place = write_utf8(points[p], encoded, place)
    places[points.size] = place
    found = np.empty_like(starts)
    for i in range(starts.size):
        found[i] = places[starts[i]]
    return found


@njit(cache=True, nogil=True)
def _keys(eights, starts, masks):
    """The key of each piece, uint64[pieces, 2]: its bytes and their number, or a hash of them."""
    keys = np.empty((starts.size - 1, 2), np.uint64)
    for i in range(starts.size - 1):
        start, length = starts[i], starts[i + 1] - starts[i]
        if length <= _PACKED:
            keys[i, 0] = eights[start] & masks[length + _HALF]
            keys[i, 1] = eights[start + _HALF] & masks[length] | np.uint64(length) << np.uint64(56)
        else:
            key = np.uint64(length)
            for p in range(start, starts[i + 1], _HALF):
                key = _mixed(key ^ eights[p] & masks[min(starts[i + 1] - p, _HALF) + _HALF])
            keys[i, 0], keys[i, 1] = key, _HASHED
    return keys


@njit(inline="always")
def _mixed(bits):
    """Bits of which all decide those above the lowest 32."""
    return (bits ^ bits >> np.uint64(32)) * _FACTOR


@njit(inline="always")
def _first_slot(slots, first, second):
    return np.int64(_mixed(first ^ second * _FACTOR) >> np.uint64(32)) & (slots.shape[0] - 1)


@njit(cache=True, nogil=True)
def _add(encoded, starts, keys, begin, pieces):
    """Count pieces from the one numbered `begin` on until the table is full; returns the next one."""
    slots, begins, spellings, size = pieces
    for i in range(begin, starts.size - 1):
        first, second = keys[i]
        slot = _first_slot(slots, first, second)
        while slots[slot, 2]:
            if slots[slot, 0] == first and slots[slot, 1] == second:
                start, end = starts[i], starts[i + 1]
                if second != _HASHED or _is_spelled(spellings, begins, slots[slot, 3], encoded, start, end):
                    slots[slot, 2] += np.uint64(1)
                    break
            slot = (slot + 1) & (slots.shape[0] - 1)
        else:
            piece, used, length = size[0], begins[size[0]], starts[i + 1] - starts[i]
            if piece + 1 == begins.size or used + length > spellings.size:
                return i
            slots[slot, 0], slots[slot, 1], slots[slot, 2], slots[slot, 3] = first, second, 1, piece
            begins[piece + 1] = used + length
            copy(encoded[starts[i] : starts[i + 1]], spellings[used:])
            size[0] = piece + 1
    return starts.size - 1


@njit(inline="always")
def _is_spelled(spellings, begins, piece, encoded, start, end):
    """Whether a piece is spelled encoded[start:end]."""
    same, at = begins[piece + 1] - begins[piece] == end - start, begins[piece]
    p = start
    while same and p < end:
        same = spellings[at + p - start] == encoded[p]
        p += 1
    return same


@njit(cache=True, nogil=True)
def _with_room(pieces, length):
    """A copy with room for twice as many pieces where there is none, and for the spelling of one of this length."""
    slots, begins, spellings, size = pieces
    used = begins[size[0]]
    if size[0] + 1 == begins.size:
        slots = np.zeros((2 * pieces.slots.shape[0], 4), np.uint64)
        for row in pieces.slots:
            if row[2]:
                slot = _first_slot(slots, row[0], row[1])
                while slots[slot, 2]:
                    slot = (slot + 1) & (slots.shape[0] - 1)
                copy(row, slots[slot])
        begins = np.empty(2 * size[0] + 1, np.int64)
        copy(pieces.begins, begins)
    if used + length > spellings.size:
        spellings = np.empty(max(2 * spellings.size, used + length), np.uint8)
        copy(pieces.spellings[:used], spellings)
    return Pieces(slots, begins, spellings, size)
