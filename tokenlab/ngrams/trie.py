"""A trie over the rows of n-gram statistics: from an n-gram to the one with another unit after it."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


class Trie(NamedTuple):
    """Rows are those of NgramStatistics; a unit is represented by its row among the single units."""

    unit: NDArray[np.int32]  # [symbols + 1] row of the single unit, -1 where it does not occur and at the end
    last: NDArray[np.int32]  # [rows] the last unit
    first_child: NDArray[np.int32]  # [rows + 1] rows first_child[r] : first_child[r + 1] extend row r, sorted by last


def build_trie(last: NDArray[np.uint32], parent: NDArray[np.int32], singles: int, symbols: int) -> Trie:
    """The trie over rows whose last symbols (of `symbols`) and parents are given; the first `singles` are units."""
    unit = np.full(symbols + 1, -1, np.int32)
    unit[last[:singles]] = np.arange(singles)
    children = np.bincount(parent[singles:], minlength=len(last))
    first_child = np.concatenate(([0], np.cumsum(children))) + singles
    return Trie(unit, unit[last], first_child.astype(np.int32))


@njit(cache=True, nogil=True)
def child(row, unit, last, first_child):  # type: ignore[no-untyped-def]
    """The row of the n-gram of `row` with the unit `unit` after it, or -1."""
    low, high = first_child[row], first_child[row + 1]
    while low < high:
        middle = (low + high) >> 1
        if last[middle] < unit:
            low = middle + 1
        else:
            high = middle
    return low if low < first_child[row + 1] and last[low] == unit else -1


@njit(cache=True, nogil=True)
def suffix_rows(parent, last, first_child, singles):  # type: ignore[no-untyped-def]
    """The row of each n-gram without its first unit, -1 for single units: int32[rows].

    It always exists: a substring of an n-gram occurs at least as often as the n-gram.
    """
    suffix = np.full(parent.size, -1, np.int32)
    for row in range(singles, parent.size):
        before = suffix[parent[row]]
        suffix[row] = last[row] if before < 0 else child(before, last[row], last, first_child)
    return suffix
