"""Kernels that cut texts into pieces as the regular expressions of `tokenlab.tokenizers.cuts` do, and count pieces.

`find_pieces` reads the kinds of the characters, which `tokenlab.tokenizers.kinds` knows. These expressions never
backtrack but in whitespace, so each kernel is one scan, from run to run of one kind.

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

from tokenlab.core.kernels import copy

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
def find_pieces(text, flags, ends, cut):
    """Where each piece begins, and the end of the last: int64[pieces + 1]; empty where a character has no flag.

    text: uint8[bytes], the texts in UTF-8, one after the other; flags: uint16[code points]; ends: int64[texts], where
    each text ends.
    """
    kinds, runs = np.empty(text.size, np.uint16), np.empty(text.size, np.int64)
    if _find_runs(text, flags, ends, kinds, runs):
        return _starts(text, kinds, runs, ends, cut)
    return np.empty(0, np.int64)


@njit(cache=True, nogil=True)
def _starts(text, kinds, runs, ends, cut):
    """As `find_pieces`, from the runs.

    Words and signs with the space before them, most pieces, are found here; others by calls, at which numba counts
    references to the arrays.
    """
    word = WORD if cut == AUTO else MARK | LETTER | NUMBER | SIGN if cut == WHITESPACE else LETTER
    sign = SIGN if cut == AUTO else SIGN | MARK if cut == GPT2 else 0
    starts = np.empty(text.size + 1, np.int64)
    found, p = 0, 0
    for end in ends:
        while p < end:
            starts[found] = p
            found += 1
            begin = _after_space(text, p, end)
            flags = word if kinds[begin] & word else 0 if kinds[begin] & RUN else sign
            q = _while(kinds, runs, begin, end, flags)
            contraction = text[p] == ord("'") and cut in (GPT2, LLAMA3)
            longer = cut == AUTO and q < end and (text[q] == ord("'") or text[q] == 0xE2)  # ’ begins with this byte.
            if q > begin and not contraction and not longer:
                p = q
            elif cut == AUTO:
                p = _auto(text, kinds, runs, p, end)
            elif cut == GPT2:
                p = _gpt2(text, kinds, runs, p, end)
            elif cut == LLAMA3:
                p = _llama3(text, kinds, runs, p, end)
            else:
                p = _whitespace(text, kinds, runs, p, end, False)
    starts[found] = p
    return starts[: found + 1].copy()


@njit(cache=True, nogil=True)
def _find_runs(text, flags, ends, kinds, runs):
    """For the first byte of each character: its flags, and the end of the characters of the same flags from it on.
    Returns whether all have flags.

    A loop over the characters of a piece would end at a place that the processor cannot foresee.
    """
    known = True
    for i in range(ends.size - 1, -1, -1):
        last, run, after = np.uint16(0), ends[i], ends[i]
        for p in range(ends[i] - 1, ends[i - 1] - 1 if i else -1, -1):
            if not _is_inside(text[p]):
                kind = flags[_point(text, p)]
                run = run if kind == last else after
                kinds[p], runs[p] = kind, run
                known &= kind != 0
                last, after = kind, p
    return known


@njit(inline="always")
def _point(text, p):
    """The code point of the character that begins at p."""
    first = np.uint32(text[p])
    if first < 0x80:
        return first
    if first < 0xE0:
        return (first & 0x1F) << 6 | text[p + 1] & 0x3F
    if first < 0xF0:
        return (first & 0xF) << 12 | np.uint32(text[p + 1] & 0x3F) << 6 | text[p + 2] & 0x3F
    high = (first & 7) << 18 | np.uint32(text[p + 1] & 0x3F) << 12
    return high | np.uint32(text[p + 2] & 0x3F) << 6 | text[p + 3] & 0x3F


@njit(inline="always")
def _is_inside(byte):
    """Whether a byte is of a character of several, and not its first one."""
    return byte & 0xC0 == 0x80


@njit(inline="always")
def _next(text, p):
    """The place after the character that begins at p."""
    return p + 1 + (text[p] >= 0xC0) + (text[p] >= 0xE0) + (text[p] >= 0xF0)


@njit(cache=True, nogil=True)
def _auto(text, kinds, runs, p, end):
    q = _after_space(text, p, end)
    kind = kinds[q]
    if kind & RUN:
        while q < end and (kinds[q] & RUN == kind & RUN or kinds[q] & MARK):
            q = runs[q]
        return q
    if kind & WORD:
        q = _while(kinds, runs, q, end, WORD)
        while True:
            after = _after_apostrophe(text, q, end)
            if q == after or after == end or not kinds[after] & WORD:
                return q
            q = _while(kinds, runs, after, end, WORD)
    if kind & NUMBER:
        return _digits(text, kinds, q, end)
    if kind & SIGN:
        return _while(kinds, runs, q, end, SIGN)
    return _whitespace(text, kinds, runs, p, end, True)


@njit(cache=True, nogil=True)
def _gpt2(text, kinds, runs, p, end):
    if text[p] == ord("'"):
        second, third = _byte(text, p + 1, end), _byte(text, p + 2, end)
        if second == ord("s") or second == ord("d") or second == ord("m") or second == ord("t"):
            return p + 2
        if _is_ending(second, third):
            return p + 3
    q = _after_space(text, p, end)
    flags = LETTER if kinds[q] & LETTER else NUMBER if kinds[q] & NUMBER else SIGN | MARK
    if kinds[q] & flags:
        return _while(kinds, runs, q, end, flags)
    return _whitespace(text, kinds, runs, p, end, False)


@njit(cache=True, nogil=True)
def _llama3(text, kinds, runs, p, end):
    if text[p] == ord("'"):
        second, third = _lower(_byte(text, p + 1, end)), _lower(_byte(text, p + 2, end))
        if second == ord("s") or second == ord("d") or second == ord("m") or second == ord("t"):
            return p + 2
        if _is_ending(second, third) or (second == 0xC5 and third == 0xBF):  # The long s is an s.
            return p + 3
    if kinds[p] & LETTER:
        return _while(kinds, runs, p, end, LETTER)
    q = _next(text, p)
    if q < end and kinds[q] & LETTER and not kinds[p] & NUMBER and not _is_line_end(text[p]):
        return _while(kinds, runs, q, end, LETTER)
    if kinds[p] & NUMBER:
        return _digits(text, kinds, p, end)
    q = _after_space(text, p, end)
    if kinds[q] & (SIGN | MARK):
        q = _while(kinds, runs, q, end, SIGN | MARK)
        while q < end and _is_line_end(text[q]):
            q += 1
        return q
    return _whitespace(text, kinds, runs, p, end, True)


@njit(inline="always")
def _after_space(text, p, end):
    """The place after an optional space, ` ?`."""
    return p + 1 if text[p] == ord(" ") and p + 1 < end else p


@njit(inline="always")
def _after_apostrophe(text, p, end):
    """The place after an optional `'` or `’`."""
    if p < end and text[p] == ord("'"):
        return p + 1
    return p + 3 if p + 2 < end and text[p] == 0xE2 and text[p + 1] == 0x80 and text[p + 2] == 0x99 else p


@njit(inline="always")
def _while(kinds, runs, p, end, flags):
    """The end of the characters of these kinds that begin at p."""
    while p < end and kinds[p] & flags:
        p = runs[p]
    return p


@njit(inline="always")
def _digits(text, kinds, p, end):
    """The end of up to three digits that begin at p."""
    for _ in range(3):
        if p < end and kinds[p] & NUMBER:
            p = _next(text, p)
    return p


@njit(cache=True, nogil=True)
def _whitespace(text, kinds, runs, p, end, lines):
    r"""The end of `\s+(?!\S)|\s+`, or with `lines` of `\s*[\r\n]+|\s+(?!\S)|\s+`."""
    q = _while(kinds, runs, p, end, SPACE)
    if lines:
        for line_end in range(q - 1, p - 1, -1):
            if _is_line_end(text[line_end]):
                return line_end + 1
    last = q - 1
    while _is_inside(text[last]):
        last -= 1
    return last if q < end and last > p else q


@njit(inline="always")
def _is_line_end(byte):
    return byte == ord("\r") or byte == ord("\n")


@njit(inline="always")
def _byte(text, p, end):
    return text[p] if p < end else np.uint8(0)


@njit(inline="always")
def _lower(byte):
    return byte | np.uint8(0x20) if ord("A") <= byte <= ord("Z") else byte


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


def add_pieces(text: NDArray[np.uint8], starts: NDArray[np.int64], pieces: Pieces) -> Pieces:
    """Count the pieces text[starts[i]:starts[i + 1]]; returns the table, or a larger copy of it."""
    text = np.concatenate([text, np.zeros(2 * _HALF, np.uint8)])
    # Eight bytes from each place on, unaligned: x86-64 and ARM64 read them as fast.
    eights = np.ndarray(text.size - _HALF, np.uint64, text, strides=(1,))
    keys = _keys(eights, starts, _MASKS)
    added = 0
    while True:
        added = _add(text, starts, keys, added, pieces)
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
def _add(text, starts, keys, begin, pieces):
    """Count pieces from the one numbered `begin` on until the table is full; returns the next one."""
    slots, begins, spellings, size = pieces
    for i in range(begin, starts.size - 1):
        first, second = keys[i]
        slot = _first_slot(slots, first, second)
        while slots[slot, 2]:
            if slots[slot, 0] == first and slots[slot, 1] == second:
                start, end = starts[i], starts[i + 1]
                if second != _HASHED or _is_spelled(spellings, begins, slots[slot, 3], text, start, end):
                    slots[slot, 2] += np.uint64(1)
                    break
            slot = (slot + 1) & (slots.shape[0] - 1)
        else:
            piece, used, length = size[0], begins[size[0]], starts[i + 1] - starts[i]
            if piece + 1 == begins.size or used + length > spellings.size:
                return i
            slots[slot, 0], slots[slot, 1], slots[slot, 2], slots[slot, 3] = first, second, 1, piece
            begins[piece + 1] = used + length
            copy(text[starts[i] : starts[i + 1]], spellings[used:])
            size[0] = piece + 1
    return starts.size - 1


@njit(inline="always")
def _is_spelled(spellings, begins, piece, text, start, end):
    """Whether a piece is spelled text[start:end]."""
    same, at = begins[piece + 1] - begins[piece] == end - start, begins[piece]
    p = start
    while same and p < end:
        same = spellings[at + p - start] == text[p]
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
