"""Kernels that cut texts into pieces as the regular expressions of `tokenlab.tokenizers.cuts` do, and count pieces.

`find_pieces` reads the kinds of the characters, which `tokenlab.tokenizers.kinds` knows. These expressions never
backtrack but in whitespace, so each kernel is one scan.

`add_pieces` counts in a hash table of spellings. Pieces are numbered as they appear, so their order does not depend on
the hash. All pieces of a batch are hashed before the first is looked up: a lookup misses the caches, and the processor
then works on several at once.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tokenlab.core.kernels import copy

AUTO, GPT2, LLAMA3, WHITESPACE = range(4)

RUN = 7
"""The bits for the script without spaces, 1 to 6, of whose runs a character is; 0: of none."""
MARK, WORD, LETTER, NUMBER, SPACE, SIGN = (1 << bit for bit in range(3, 9))
"""Flags: of \\p{M}; of words of scripts with spaces; of \\p{L}; of \\p{N}; of \\s; of none of these classes."""

_FIRST_PIECES = 1 << 12
_FIRST_CHARACTERS = 1 << 15
_PACKED = 8
"""Characters of ASCII that a key of 64 bits can hold, 7 bits each, with a mark before the first."""
_HASHED = np.uint64(1 << 63)
"""Set in hashed keys; packed keys are smaller."""


class Pieces(NamedTuple):
    """Open addressing from spellings to pieces, and the columns of the pieces."""

    slots: np.ndarray
    """uint64[twice the room for pieces, a power of two; 2]: the key of a piece, and its number + 1; or 0."""
    counts: np.ndarray
    """int64[room]."""
    begins: np.ndarray
    """int64[room + 1]: where its characters begin, up to where those of the next one do."""
    characters: np.ndarray
    """uint32[room]: the code points of all pieces."""
    size: np.ndarray
    """int64[1]: number of pieces."""


@njit(cache=True, nogil=True)
def find_pieces(points, kinds, ends, cut):
    """Where each piece begins, and the end of the last: int64[pieces + 1].

    points: uint32[characters], the texts one after the other; kinds: uint16[characters]; ends: int64[texts], where
    each text ends.
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
    kind = kinds[q]
    if kind & RUN:
        q += 1
        while q < end and (kinds[q] & RUN == kind & RUN or kinds[q] & MARK):
            q += 1
        return q
    if kind & WORD:
        q = _while(kinds, q, end, WORD)
        while q + 1 < end and (points[q] == ord("'") or points[q] == ord("’")) and kinds[q + 1] & WORD:
            q = _while(kinds, q + 1, end, WORD)
        return q
    if kind & NUMBER:
        return _while(kinds, q, min(q + 3, end), NUMBER)
    if kind & SIGN:
        return _while(kinds, q, end, SIGN)
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
    for flags in (LETTER, NUMBER, SIGN | MARK):
        if kinds[q] & flags:
            return _while(kinds, q, end, flags)
    return _whitespace(points, kinds, p, end, False)


@njit(inline="always")
def _llama3(points, kinds, p, end):
    if points[p] == ord("'"):
        second, third = _lower(_letter(points, p + 1, end)), _lower(_letter(points, p + 2, end))
        if second == ord("s") or second == ord("d") or second == ord("m") or second == ord("t"):
            return p + 2
        if _is_ending(second, third):
            return p + 3
    if kinds[p] & LETTER:
        return _while(kinds, p, end, LETTER)
    if p + 1 < end and kinds[p + 1] & LETTER and not kinds[p] & NUMBER and not _is_line_end(points[p]):
        return _while(kinds, p + 1, end, LETTER)
    if kinds[p] & NUMBER:
        return _while(kinds, p, min(p + 3, end), NUMBER)
    q = _after_space(points, p, end)
    if kinds[q] & (SIGN | MARK):
        q = _while(kinds, q, end, SIGN | MARK)
        while q < end and _is_line_end(points[q]):
            q += 1
        return q
    return _whitespace(points, kinds, p, end, True)


@njit(inline="always")
def _not_space(points, kinds, p, end):
    q = _after_space(points, p, end)
    if kinds[q] & SPACE:
        return _whitespace(points, kinds, p, end, False)
    while q < end and not kinds[q] & SPACE:
        q += 1
    return q


@njit(inline="always")
def _after_space(points, p, end):
    """The place after an optional space, ` ?`."""
    return p + 1 if points[p] == ord(" ") and p + 1 < end else p


@njit(inline="always")
def _while(kinds, p, end, flags):
    """The end of the characters of these kinds that begin at p."""
    while p < end and kinds[p] & flags:
        p += 1
    return p


@njit(inline="always")
def _whitespace(points, kinds, p, end, lines):
    r"""The end of `\s+(?!\S)|\s+`, or with `lines` of `\s*[\r\n]+|\s+(?!\S)|\s+`."""
    q = _while(kinds, p, end, SPACE)
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
        np.zeros((2 * _FIRST_PIECES, 2), np.uint64),
        np.empty(_FIRST_PIECES, np.int64),
        np.zeros(_FIRST_PIECES + 1, np.int64),
        np.empty(_FIRST_CHARACTERS, np.uint32),
        np.zeros(1, np.int64),
    )


@njit(cache=True, nogil=True)
def add_pieces(points, starts, pieces):
    """Count the pieces points[starts[i]:starts[i + 1]]; returns the table, or a larger copy of it."""
    keys = np.empty(starts.size - 1, np.uint64)
    for i in range(keys.size):
        keys[i] = _key(points, starts[i], starts[i + 1])
    added = 0
    while True:
        added = _add(points, starts, keys, added, pieces)
        if added == keys.size:
            return pieces
        pieces = _with_room(pieces, starts[added + 1] - starts[added])


@njit(inline="always")
def _key(points, begin, end):
    """The spelling of a short piece of ASCII; of others the hash (FNV-1a of code points), which pieces can share."""
    if end - begin <= _PACKED:
        key, all_bits = np.uint64(1), np.uint32(0)
        for p in range(begin, end):
            key = key << np.uint64(7) | np.uint64(points[p])
            all_bits |= points[p]
        if all_bits < 128:
            return key
    key = np.uint64(0xCBF29CE484222325)
    for p in range(begin, end):
        key = (key ^ np.uint64(points[p])) * np.uint64(0x100000001B3)
    return key | _HASHED


@njit(inline="always")
def _first_slot(slots, key):
    return np.int64(key * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)) & (slots.shape[0] - 1)


@njit(cache=True, nogil=True)
def _add(points, starts, keys, first, pieces):
    """Count pieces from the one numbered `first` on until the table is full; returns the next one."""
    slots, counts, begins, characters, size = pieces
    for i in range(first, keys.size):
        slot = _first_slot(slots, keys[i])
        while slots[slot, 1]:
            if slots[slot, 0] == keys[i]:
                piece = np.int64(slots[slot, 1]) - 1
                if keys[i] < _HASHED or _is_spelled(characters, begins, piece, points, starts[i], starts[i + 1]):
                    counts[piece] += 1
                    break
            slot = (slot + 1) & (slots.shape[0] - 1)
        else:
            piece, used, length = size[0], begins[size[0]], starts[i + 1] - starts[i]
            if piece == counts.size or used + length > characters.size:
                return i
            slots[slot, 0], slots[slot, 1] = keys[i], piece + 1
            counts[piece], begins[piece + 1] = 1, used + length
            copy(points[starts[i] : starts[i + 1]], characters[used:])
            size[0] = piece + 1
    return keys.size


@njit(inline="always")
def _is_spelled(characters, begins, piece, points, start, end):
    """Whether a piece is spelled points[start:end]."""
    same, at = begins[piece + 1] - begins[piece] == end - start, begins[piece]
    p = start
    while same and p < end:
        same = characters[at + p - start] == points[p]
        p += 1
    return same


@njit(cache=True, nogil=True)
def _with_room(pieces, length):
    """A copy with room for twice as many pieces, and for one of this length."""
    size, room = pieces.size[0], 2 * pieces.counts.size
    slots = np.zeros((2 * room, 2), np.uint64)
    for i in range(pieces.slots.shape[0]):
        if pieces.slots[i, 1]:
            slot = _first_slot(slots, pieces.slots[i, 0])
            while slots[slot, 1]:
                slot = (slot + 1) & (slots.shape[0] - 1)
            slots[slot, 0], slots[slot, 1] = pieces.slots[i, 0], pieces.slots[i, 1]
    counts, begins = np.empty(room, np.int64), np.empty(room + 1, np.int64)
    characters = np.empty(max(2 * pieces.characters.size, pieces.begins[size] + length), np.uint32)
    copy(pieces.counts[:size], counts)
    copy(pieces.begins[: size + 1], begins)
    copy(pieces.characters[: pieces.begins[size]], characters)
    return Pieces(slots, counts, begins, characters, pieces.size)
