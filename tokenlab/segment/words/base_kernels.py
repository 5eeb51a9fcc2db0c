"""P0: the probability of a word before anything is known of it, by a bigram model of its units.

The model is an interpolated Kneser-Ney bigram with a begin and an end, estimated on the types in use, each once:

    p(c|b) = [max(n(b,c) - 0.5, 0) + (0.5 t(b) + 1) q(c)] / (n(b) + 1)        t(b): distinct followers of b
    q(c)   = [max(n1(c) - 0.5, 0) + (0.5 D1 + 1) / A] / (N1 + 1)              n1(c): distinct predecessors of c

with D1 units of n1 > 0, N1 the sum of n1, and A the units of the alphabet, one for all unknown ones, and the end.
Every pair of units of the text is a word of two units, so counts of pairs are an array over these.
"""

# mypy: allow-untyped-defs

from typing import NamedTuple

import numpy as np
from numba import njit

DISCOUNT = 0.5
CONCENTRATION = 1.0
SHARE_OF_WORDS = 0.8


class Base(NamedTuple):
    """Probabilities of units, where unit U stands for all unknown ones; and of symbols and words."""

    begin: np.ndarray
    """float64[U + 1]: p(c | begin)."""
    end: np.ndarray
    """float64[U + 1]: p(end | b)."""
    backoff: np.ndarray
    """float64[U + 1]: p(c|b) = backoff(b) q(c) for a pair that was never counted."""
    q: np.ndarray
    """float64[U + 1]."""
    pair: np.ndarray
    """float64[pairs]: p(c|b) of the words of two units."""
    words: np.ndarray
    """float64[contexts]: P0 of symbols and words."""


@njit(cache=True, nogil=True)
def estimate_base(in_use, prefix, level, last, last_two, symbols):
    """P0 of all symbols and words, from the words in use. in_use: bool[words]; symbols: their number."""
    units, pairs = level[1], level[2] - level[1]
    pair, begins, ends = np.zeros(pairs, np.int64), np.zeros(units + 1, np.int64), np.zeros(units + 1, np.int64)
    for word in range(in_use.size):
        if in_use[word]:
            ends[last[word]] += 1
            part = word
            while part >= units:
                pair[last_two[part] - units] += 1
                part = prefix[part]
            begins[part] += 1
    total, followers, predecessors = ends.copy(), np.zeros(units + 1, np.int64), np.zeros(units + 2, np.int64)
    starts = 0
    for unit in range(units):
        followers[unit] += ends[unit] > 0
        predecessors[units + 1] += ends[unit] > 0
        predecessors[unit] += begins[unit] > 0
        starts += begins[unit] > 0
    for i in range(pairs):
        if pair[i] > 0:
            b, c = prefix[units + i], last[units + i]
            total[b] += pair[i]
            followers[b] += 1
            predecessors[c] += 1
    q = _discounted(predecessors)
    backoff = (DISCOUNT * followers + CONCENTRATION) / (total + CONCENTRATION)
    all_begins = begins.sum()
    begin = (_above(begins) + (DISCOUNT * starts + CONCENTRATION) * q[: units + 1]) / (all_begins + CONCENTRATION)
    end = _above(ends) / (total + CONCENTRATION) + backoff * q[units + 1]
    words = np.empty(symbols + in_use.size, np.float64)
    words[:symbols] = (1 - SHARE_OF_WORDS) / symbols
    chain, steps = np.empty(in_use.size, np.float64), np.empty(pairs, np.float64)
    for i in range(pairs):
        b, c = prefix[units + i], last[units + i]
        steps[i] = max(pair[i] - DISCOUNT, 0.0) / (total[b] + CONCENTRATION) + backoff[b] * q[c]
    for word in range(in_use.size):
        if word < units:
            chain[word] = begin[word]
        else:
            chain[word] = chain[prefix[word]] * steps[last_two[word] - units]
        words[symbols + word] = SHARE_OF_WORDS * chain[word] * end[last[word]]
    return Base(begin, end, backoff, q[: units + 1].copy(), steps, words)


@njit(cache=True, nogil=True)
def _above(counts):
    return np.maximum(counts - DISCOUNT, 0.0)


@njit(cache=True, nogil=True)
def _discounted(predecessors):
    """q of every unit, the unknown one and the end."""
    types = (predecessors > 0).sum()
    uniform = (DISCOUNT * types + CONCENTRATION) / predecessors.size
    return (_above(predecessors) + uniform) / (predecessors.sum() + CONCENTRATION)


@njit(cache=True, nogil=True)
def new_word(base, units, spans, first, length):
    """P0 of a word that the lexicon does not hold. spans: the words of the lexicon, which pairs of units are."""
    b = units[first]
    p = SHARE_OF_WORDS * base.begin[b]
    for place in range(first, first + length - 1):
        b, pair = units[place + 1], spans[place, 1]
        if pair >= 0:
            p *= base.pair[pair - (base.begin.size - 1)]
        else:
            p *= base.backoff[units[place]] * base.q[b]
    return p * base.end[b]
