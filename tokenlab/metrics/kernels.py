"""Kernels of the metrics of token sequences."""

import numpy as np
from numba import njit

_SMALL = 1 << 16


@njit(cache=True, nogil=True)
def sum_n_log_n(counts):
    """Sum of n log2 n over int64 counts (0 log 0 = 0), the same to the last bit for any order of the counts.

    Small counts go into a histogram, with one logarithm per entry; the few large ones are sorted.
    """
    small = np.zeros(_SMALL, np.int64)
    large = 0
    for count in counts:
        if count < _SMALL:
            small[count] += 1
        else:
            large += 1
    others = np.empty(large, np.int64)
    large = 0
    for count in counts:
        if count >= _SMALL:
            others[large] = count
            large += 1
    total = 0.0
    for count in range(2, _SMALL):
        if small[count]:
            total += float(small[count]) * (float(count) * np.log2(float(count)))
    for count in np.sort(others):
        total += float(count) * np.log2(float(count))
    return total


@njit(cache=True, nogil=True)
def bigram_table(symbols, offsets, base):
    """Counts of symbol pairs: int32[base + 1, base], row 0 for the first symbol of a sequence."""
    table = np.zeros((base + 1, base), np.int32)
    for i in range(offsets.size - 1):
        before = 0
        for position in range(offsets[i], offsets[i + 1]):
            table[before, symbols[position]] += 1
            before = symbols[position] + 1
    return table


@njit(cache=True, nogil=True)
def bigram_keys(symbols, offsets, base):
    """(previous + 1) * base + symbol for every symbol, where the first of a sequence has 0 before it: int64[total]."""
    keys = np.empty(offsets[-1] - offsets[0], np.int64)
    size = 0
    for i in range(offsets.size - 1):
        before = np.int64(0)
        for position in range(offsets[i], offsets[i + 1]):
            keys[size] = before * base + symbols[position]
            before = np.int64(symbols[position]) + 1
            size += 1
    return keys
