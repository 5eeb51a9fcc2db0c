"""Loops compiled by numba that other kernels call."""

from numba import njit


@njit(cache=True, nogil=True)
def copy(source, target):
    """Copy a vector into the beginning of another, at least as long, which is not checked.

    A loop: numba takes two seconds to compile the assignment of a slice, in each module again.
    """
    for i in range(source.size):
        target[i] = source[i]


@njit(inline="always")
def write_utf8(point, out, place):
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
