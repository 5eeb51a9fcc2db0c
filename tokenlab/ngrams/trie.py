"""A trie over the rows of n-gram statistics: from an n-gram to the one with another character after it."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


class Trie(NamedTuple):
    """Rows are those of NgramStatistics; a character is represented by its row among the single characters."""

    unit: NDArray[np.int32]  # [code points] row of the single character, -1 where it does not occur
    last: NDArray[np.int32]  # [rows] the last character
    first_child: NDArray[np.int32]  # [rows + 1] rows first_child[r] : first_child[r + 1] extend row r, sorted by last


def build_trie(last: NDArray[np.uint32], parent: NDArray[np.int32], characters: int) -> Trie:
    """The trie over rows whose last code points and parents are given, the first `characters` rows being characters."""
    unit = np.full(0x110000, -1, np.int32)
    unit[last[:characters]] = np.arange(characters)
    children = np.bincount(parent[characters:], minlength=len(last))
    first_child = np.concatenate(([0], np.cumsum(children))) + characters
    return Trie(unit, unit[last], first_child.astype(np.int32))


@njit(cache=True, nogil=True)
def child(row, unit, last, first_child):  # type: ignore[no-untyped-def]
    """The row of the n-gram of `row` with the character `unit` after it, or -1."""
    low, high = first_child[row], first_child[row + 1]
    while low < high:
        middle = (low + high) >> 1
        if last[middle] < unit:
            low = middle + 1
        else:
            high = middle
    return low if low < first_child[row + 1] and last[low] == unit else -1


@njit(cache=True, nogil=True)
def suffix_rows(parent, last, first_child, characters):  # type: ignore[no-untyped-def]
    """The row of each n-gram without its first character, -1 for single characters: int32[rows].

    It always exists: a substring of an n-gram occurs at least as often as the n-gram.
    """
    suffix = np.full(parent.size, -1, np.int32)
    for row in range(characters, parent.size):
        before = suffix[parent[row]]
        suffix[row] = last[row] if before < 0 else child(before, last[row], last, first_child)
    return suffix
