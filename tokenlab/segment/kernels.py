"""Kernels of the decoders. Spans are looked up by walking down the trie of n-grams, whose rows are sorted."""

import numpy as np
from numba import njit

from tokenlab.ngrams.kernels import child
from tokenlab.segment.isolation import ALONE, FREE, SPACE, WHOLE

TOLERANCE = 1e-9
"""Utilities, and sums of them, closer than this are equal."""
_TILE = 512


@njit(cache=True, nogil=True)
def look_up_spans(units, classes, last, first_child, utility, n_max):
    """Utility of the span of each length from each position, -inf where it is no candidate: float64[length, n_max].

    units: int32[length], row of the single unit, -1 where the statistics do not contain it; classes: int8[length], of
    isolation; last, first_child: as in Trie; utility: float64[rows].

    Works length by length over a tile of positions, so that the look-ups of one length are independent. A walk down the
    trie from each position would chain them (half as fast on tables larger than the cache).
    """
    values = np.full((units.size, n_max), -np.inf)
    rows = np.empty(_TILE, np.int32)
    for tile in range(0, units.size, _TILE):
        stop = min(tile + _TILE, units.size)
        for position in range(tile, stop):
            row = units[position] if classes[position] >= FREE else -1
            rows[position - tile] = row
            if row >= 0:
                values[position, 0] = utility[row]
        for n in range(2, n_max + 1):
            for position in range(tile, stop):
                row, end = rows[position - tile], position + n - 1
                if row >= 0:
                    if end < units.size and classes[end] == classes[position] and units[end] >= 0:
                        row = child(row, units[end], last, first_child)
                    else:
                        row = -1
                    rows[position - tile] = row
                    if row >= 0:
                        values[position, n - 1] = utility[row]
    return values


@njit(cache=True, nogil=True)
def restrict_to_clusters(units, values, starts):
    """Take away spans that begin or end inside a cluster; starts: bool[length], where clusters begin.

    A cluster that is no candidate itself, of several units or of a unit never seen, is unseen as a whole: its units
    become -1. Nor is any span around it a candidate then: it is longer and occurs no more often.
    """
    for position in range(units.size):
        for n in range(1, values.shape[1] + 1):
            if not starts[position] or (position + n < units.size and not starts[position + n]):
                values[position, n - 1] = -np.inf
    start = 0
    while start < units.size:
        end = start + 1
        while end < units.size and not starts[end]:
            end += 1
        n = end - start
        if n > 1 and (n > values.shape[1] or values[start, n - 1] == -np.inf):
            units[start:end] = -1
        start = end


@njit(cache=True, nogil=True)
def mark_segments(units, classes, values, viterbi, long, begins):
    """Mark in `begins` (bool[length]) where segments begin; `values` as from `look_up_spans`.

    long: whether the longer of tied spans wins.
    """
    best = np.empty(units.size + 1 if viterbi else 0, np.float64)
    back = np.empty(units.size + 1 if viterbi else 0, np.int32)
    start = np.int64(0)  # one type from the first use on, or the decoders are compiled twice
    while start < units.size:
        if classes[start] == SPACE:
            start += 1
            continue
        begins[start] = True
        end = start + 1
        if classes[start] == WHOLE:
            while end < units.size and classes[end] == WHOLE:
                end += 1
        elif classes[start] != ALONE and units[start] >= 0:
            while end < units.size and classes[end] == classes[start] and units[end] >= 0:
                end += 1
            if viterbi:
                _viterbi(values, start, end, long, best, back, begins)
            else:
                _greedy(values, start, end, long, begins)
        start = end


@njit(cache=True, nogil=True)
def _greedy(values, start, end, long, begins):
    """Algorithm 1: at each position the span of the highest utility that begins there."""
    while start < end:
        begins[start] = True
        highest, length = values[start, 0], 1
        for n in range(2, values.shape[1] + 1):
            if values[start, n - 1] > -np.inf and _beats(values[start, n - 1], highest, long):
                highest, length = values[start, n - 1], n
        start += length


@njit(cache=True, nogil=True)
def _viterbi(values, start, end, long, best, back, begins):
    """The segmentation of [start, end) with the largest sum of length times utility.

    best[i] is the largest sum up to i, back[i] the length of the last span there, tried from short to long.
    """
    best[start] = 0.0
    for stop in range(start + 1, end + 1):
        best[stop], back[stop] = best[stop - 1] + values[stop - 1, 0], 1
        for n in range(2, min(values.shape[1], stop - start) + 1):
            value = values[stop - n, n - 1]
            if value > -np.inf and _beats(best[stop - n] + n * value, best[stop], long):
                best[stop], back[stop] = best[stop - n] + n * value, n
    stop = end
    while stop > start:
        stop -= back[stop]
        begins[stop] = True


@njit(cache=True, nogil=True)
def _beats(value, highest, long):
    """Whether the value of a longer span replaces the highest of the shorter ones."""
    return value >= highest - TOLERANCE if long else value > highest + TOLERANCE
