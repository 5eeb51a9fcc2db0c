"""Blocked Gibbs sampling: a sweep takes the words of each run out of the counts and draws them anew, all at once."""

# mypy: allow-untyped-defs

from typing import NamedTuple

import numpy as np
from numba import njit

from tokenlab.segment.words.lattice_kernels import D1, D2, add_posteriors, fill, forward, random_number, sample
from tokenlab.segment.words.pair_kernels import EMPTY, D, N, count_pair, is_full

ADD, REMOVE = True, False


class Text(NamedTuple):
    """The runs of a text in numbers."""

    spans: np.ndarray
    """int32[units, longest]: the words of the lexicon that begin at each unit."""
    units: np.ndarray
    """int32[units]."""
    first: np.ndarray
    """int64[runs + 1]: the first unit of each run."""
    left: np.ndarray
    """int32[runs]: the symbol left of each run."""
    right: np.ndarray
    """int32[runs]."""
    odds: np.ndarray
    """float64[units]: of a word that begins at each unit, by the units around it; 1 at the first unit of a run."""


@njit(cache=True, nogil=True)
def word_lengths(begins, text, longest):
    """int8[units]: the length of the word that begins at each unit, 0 inside of words; what is no candidate is cut.

    begins: bool[units], whether a segment begins at a unit.
    """
    lengths = np.zeros(begins.size, np.int8)
    for run in range(text.first.size - 1):
        start = text.first[run]
        while start < text.first[run + 1]:
            end = start + 1
            while end < text.first[run + 1] and not begins[end]:
                end += 1
            if end - start <= longest and text.spans[start, end - start - 1] >= 0:
                lengths[start] = end - start
            else:
                lengths[start:end] = 1
            start = end
    return lengths


@njit(cache=True, nogil=True)
def count_run(text, run, lengths, symbols, counts, adds):
    """Count the pairs of a run (ADD), or take them out of the counts (REMOVE)."""
    u, t = np.int64(text.left[run]), text.first[run]
    while t < text.first[run + 1]:
        w = symbols + text.spans[t, lengths[t] - 1]
        count_pair(counts, u, w, adds)
        t += lengths[t]
        u = w
    count_pair(counts, u, np.int64(text.right[run]), adds)


@njit(cache=True, nogil=True)
def count_runs(text, begin, lengths, symbols, counts):
    """Count the runs from `begin` on until the table is full; return the first that was not counted."""
    for run in range(begin, text.first.size - 1):
        if is_full(counts):
            return run
        count_run(text, run, lengths, symbols, counts, ADD)
    return text.first.size - 1


@njit(cache=True, nogil=True)
def sweep(text, order, begin, lengths, symbols, counts, parts, lattice, posteriors, state):
    """Sample the runs order[begin:] anew until the table is full; return the number of runs of `order` done.

    order: int64[runs]; posteriors: float32[units, longest], to which those of each run are added, given the words of
    all others; float32[0, longest] for none.
    """
    collects = posteriors.shape[0] > 0
    for i in range(begin, order.size):
        if is_full(counts):
            return i
        run = order[i]
        first, size = text.first[run], text.first[run + 1] - text.first[run]
        count_run(text, run, lengths, symbols, counts, REMOVE)
        fill(lattice, text, run, symbols, counts, parts)
        forward(lattice, size, text.right[run], counts, parts)
        if collects:
            add_posteriors(lattice, size, posteriors, first)
        sample(lattice, size, lengths, first, state)
        count_run(text, run, lengths, symbols, counts, ADD)
    return order.size


@njit(cache=True, nogil=True)
def add_all_posteriors(text, symbols, counts, parts, lattice, posteriors):
    """Add the posteriors of every span of a text, given fixed counts, to `posteriors` (float32[units, longest])."""
    for run in range(text.first.size - 1):
        first, size = text.first[run], text.first[run + 1] - text.first[run]
        fill(lattice, text, run, symbols, counts, parts)
        forward(lattice, size, text.right[run], counts, parts)
        add_posteriors(lattice, size, posteriors, first)


@njit(cache=True, nogil=True)
def shuffle(order, state):
    """Shuffle in place (Fisher and Yates)."""
    for i in range(order.size - 1, 0, -1):
        j = np.int64(random_number(state) * (i + 1))
        order[i], order[j] = order[j], order[i]


@njit(cache=True, nogil=True)
def add_to_sums(counts, pair_sums, word_sums, total_sums):
    """Add the counts to the sums over sweeps from which means are taken.

    pair_sums: float32[slots], of max(c(u,w) - d2, 0); word_sums: float64[contexts, 3], of c, T and max(c1 - d1, 0);
    total_sums: float64[2], of N and D.
    """
    for slot in range(counts.keys.size):
        if counts.keys[slot] != EMPTY and counts.number[slot] > 0:
            pair_sums[slot] += counts.number[slot] - D2
    for i in range(counts.words.size):
        word = counts.words[i]
        if word.c > 0:
            word_sums[i, 0] += word.c
            word_sums[i, 1] += word.followers
        if word.c1 > 0:
            word_sums[i, 2] += word.c1 - D1
    total_sums[N] += counts.totals[N]
    total_sums[D] += counts.totals[D]
