"""Loops over symbols (see `symbols`): characters to prefixes and payloads and back, and the check of UTF-8.

The bits of a three-byte character as three bytes, and as a prefix and two payloads:

    1110aabb  10cdefgh  10ijklmn   =   1110aa | bb10cdefg | h10ijklmn
"""

from numba import njit

from tokenlab.codes.bits.symbols import LONG, LOWEST_PREFIX, OTHER, PREFIX, RESET, is_first, is_second

_PREFIX, _PAYLOAD, _OUTSIDE, _UTF8 = -1, -2, -3, -4
"""Units that stand for something undecodable: minus the number, from 1, of its kind in `decoding.Kind`."""


_is_first = njit(cache=True, nogil=True)(is_first)
_is_second = njit(cache=True, nogil=True)(is_second)


@njit(cache=True, nogil=True)
def rewrite(symbols, lowest, change, lossless, out):
    """Rewrite the runs of three-byte characters. `out` has room for five symbols for every four.

    lowest: the lowest prefix that is enabled. Returns the number of symbols written; -1 - i where symbol i is ambiguous
    and may not have a reset.
    """
    in_force = 0
    i = written = 0
    while i < symbols.size:
        symbol = symbols[i]
        if symbol >> 2 >= lowest and _is_character(symbols, i):
            if symbol >> 2 != in_force:
                in_force = symbol >> 2
                out[written] = PREFIX + in_force - LOWEST_PREFIX
                written += 1
            second, third = symbols[i + 1], symbols[i + 2]
            out[written] = (symbol & 3) << 7 | second >> 1
            out[written + 1] = (second & 1) << 8 | third
            written += 2
            i += 3
            continue
        if in_force:
            if _is_first(symbol):
                if not lossless:
                    return -1 - i
                out[written] = RESET
                written += 1
                in_force = 0
            elif not change:
                in_force = 0
        out[written] = symbol
        written += 1
        i += 1
    return written


@njit(cache=True, nogil=True)
def rewrite_texts(symbols, starts, lowest, change, lossless, out, out_starts):
    """`rewrite` for the texts of a stream, each on its own: text k is symbols starts[k] to starts[k + 1] - 1.

    out_starts: int64, gets where each text begins in `out`. Returns the number of texts written; where that is not all,
    the first entry of `out_starts` is the index of the ambiguous symbol.
    """
    written = 0
    for k in range(starts.size - 1):
        out_starts[k] = written
        size = rewrite(symbols[starts[k] : starts[k + 1]], lowest, change, lossless, out[written:])
        if size < 0:
            out_starts[0] = -1 - size
            return k
        written += size
    out_starts[starts.size - 1] = written
    return starts.size - 1


@njit(cache=True, nogil=True)
def _is_character(symbols, i):
    """Whether a character of three bytes in UTF-8 begins at i; faster than `_length` in the loop over all text."""
    if i + 2 >= symbols.size or symbols[i] & ~0xF != 0xE0:
        return False
    lead, second, third = symbols[i], symbols[i + 1], symbols[i + 2]
    if second & ~0x3F != 0x80 or third & ~0x3F != 0x80:
        return False
    return not (lead == 0xE0 and second < 0xA0) and not (lead == 0xED and second >= 0xA0)


@njit(cache=True, nogil=True)
def restore(symbols, change, out, where):
    """Undo `rewrite`. `out` has room for three symbols for every two; `where` has the same size, or 0.

    Undecodable symbols become the number of their kind, as does a character that is overlong or a surrogate. `where`
    gets the index of the first symbol that each stands for. Returns the number of symbols written, and whether there
    are undecodable ones.
    """
    in_force = 0
    damaged = False
    i = written = 0
    while i < symbols.size:
        symbol = symbols[i]
        before = written
        read = 1
        if in_force and _is_first(symbol):
            read, written = _character(symbols, i, in_force, out, written)
        elif symbol == RESET:
            in_force = 0
        elif PREFIX <= symbol < RESET and i + 1 < symbols.size and _is_first(symbols[i + 1]):
            in_force = symbol - PREFIX + LOWEST_PREFIX
        else:
            if LONG <= symbol < RESET:
                symbol = _OUTSIDE if symbol < PREFIX else _PREFIX
            elif not change:
                in_force = 0
            out[written] = symbol
            written += 1
        if written > before:
            if out[before] < 0:
                damaged = True
                if out[before] != _UTF8:
                    in_force = 0
            if where.size:
                where[before:written] = i
        i += read
    return written, damaged


@njit(cache=True, nogil=True)
def _character(symbols, i, prefix, out, written):
    """Read the character whose first payload is symbol i. Returns the symbols read, and those written in all."""
    if i + 1 == symbols.size or not _is_second(symbols[i + 1]):
        out[written] = _PAYLOAD
        return 1, written + 1
    first, second = symbols[i], symbols[i + 1]
    lead, middle = prefix << 2 | first >> 7, (first & 0x7F) << 1 | second >> 8
    if (lead == 0xE0 and middle < 0xA0) or (lead == 0xED and middle >= 0xA0):
        out[written] = _UTF8
        return 2, written + 1
    out[written] = lead
    out[written + 1] = middle
    out[written + 2] = second & 0xFF
    return 2, written + 3


@njit(cache=True, nogil=True)
def _length(units, i):
    """The number of bytes of the UTF-8 character at i; minus the length of the ill-formed sequence there if none.

    A unit that is no byte belongs to no sequence. An ill-formed sequence is a maximal subpart (Unicode, section 3.9):
    what Python's decoder, and browsers, replace by one U+FFFD.
    """
    lead = units[i]
    if lead < 0x80:
        return 1
    if lead < 0xC2 or lead > 0xF4:
        return -1
    length = 2 + (lead >= 0xE0) + (lead >= 0xF0)
    low, high = 0x80, 0xBF
    if lead == 0xE0:
        low = 0xA0
    elif lead == 0xED:
        high = 0x9F
    elif lead == 0xF0:
        low = 0x90
    elif lead == 0xF4:
        high = 0x8F
    for k in range(1, length):
        if i + k >= units.size or units[i + k] < low or units[i + k] > high:
            return -k
        low, high = 0x80, 0xBF
    return length


@njit(cache=True, nogil=True)
def spell(symbols, spellings, offsets, out):
    """Write bytes and undecodable units as they are, and for every token of the base vocabulary its bytes.

    spellings: uint8, the bytes of all tokens; offsets: int64, where each begins.
    """
    written = 0
    for symbol in symbols:
        if symbol < OTHER:
            out[written] = symbol
            written += 1
        else:
            for place in range(offsets[symbol - OTHER], offsets[symbol - OTHER + 1]):
                out[written] = spellings[place]
                written += 1


@njit(cache=True, nogil=True)
def mend(units, replace, out, places, kinds):
    """Write the well-formed characters of units, bytes and undecodable ones; list the errors.

    replace: whether U+FFFD stands for each maximal stretch that is left out. out: uint8 with room for three bytes a
    unit; places, kinds: the unit of each error and the number of its kind, with room for one an error. Returns the
    number of bytes written and the number of errors.
    """
    written = errors = 0
    within = False
    i = 0
    while i < units.size:
        length = 1 if units[i] < 0 else _length(units, i)
        if units[i] >= 0 and length > 0:
            for k in range(length):
                out[written + k] = units[i + k]
            written += length
            within = False
        else:
            places[errors] = i
            kinds[errors] = min(units[i], 0) or _UTF8
            errors += 1
            if replace and not within:
                out[written], out[written + 1], out[written + 2] = 0xEF, 0xBF, 0xBD
                written += 3
            within = True
        i += abs(length)
    return written, errors


@njit(cache=True, nogil=True)
def fall_back(points, ranks, out):
    """Write known characters as tokens of the base vocabulary, and others as their bytes in UTF-8.

    points: uint32, code points; ranks: int32[0x110000], the id of each known character, -1 for others; out: int32 with
    room for every byte of the text. Returns the number of symbols written.
    """
    written = 0
    for point in points:
        if ranks[point] >= 0:
            out[written] = OTHER + ranks[point]
            written += 1
        else:
            written = _write_utf8(point, out, written)
    return written


@njit(inline="always")
def _write_utf8(point, out, place):
    """Write a character in UTF-8; returns the place behind it."""
    if point < 0x80:
        out[place] = point
        place += 1
    elif point < 0x800:
        out[place] = 0xC0 | point >> 6
        out[place + 1] = 0x80 | point & 0x3F
        place += 2
    elif point < 0x10000:
        out[place] = 0xE0 | point >> 12
        out[place + 1] = 0x80 | point >> 6 & 0x3F
        out[place + 2] = 0x80 | point & 0x3F
        place += 3
    else:
        out[place] = 0xF0 | point >> 18
        out[place + 1] = 0x80 | point >> 12 & 0x3F
        out[place + 2] = 0x80 | point >> 6 & 0x3F
        out[place + 3] = 0x80 | point & 0x3F
        place += 4
    return place
