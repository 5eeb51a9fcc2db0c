"""P0: the probability of a word before anything is known of it, by a bigram model of its units.

The model is an interpolated Kneser-Ney bigram with a begin and an end, estimated on the types in use, each once:

    p(c|b) = [max(n(b,c) - 0.5, 0) + (0.5 t(b) + 1) q(c)] / (n(b) + 1)        t(b): distinct followers of b
    q(c)   = [max(n1(c) - 0.5, 0) + (0.5 D1 + 1) / A] / (N1 + 1)              n1(c): distinct predecessors of c

with D1 units of n1 > 0, N1 the sum of n1, and A the units of the alphabet, one for all unknown ones, and the end.
Every pair of units of the text is a word of two units, so counts of pairs are an array over these.
"""

# mypy: allow-untyped-defs

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

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


def estimate_base(
    in_use: NDArray[np.bool_],
    prefix: NDArray[np.int32],
    level: NDArray[np.int64],
    last: NDArray[np.int32],
    last_two: NDArray[np.int32],
    symbols: int,
) -> Base:
    """P0 of all symbols and words, from the words in use, bool[words]; symbols: their number.

    Args:
        prefix, level: of the `Lexicon`.
        last, last_two: as `last_parts`.
    """
    units, pairs = int(level[1]), int(level[2] - level[1])
    pair = np.zeros(pairs, np.int64)
    begins, ends, total, followers, predecessors = np.zeros((5, units + 1), np.int64)
    count_units(in_use, prefix, last, last_two, pair, begins, ends, total, followers, predecessors)
    q = _discounted(np.append(predecessors, np.count_nonzero(ends)))
    backoff = (DISCOUNT * followers + CONCENTRATION) / (total + CONCENTRATION)
    left_over = DISCOUNT * np.count_nonzero(begins) + CONCENTRATION
    begin = (_above(begins) + left_over * q[:-1]) / (begins.sum() + CONCENTRATION)
    end = _above(ends) / (total + CONCENTRATION) + backoff * q[-1]
    base = Base(begin, end, backoff, q[:-1].copy(), np.empty(pairs), np.empty(symbols + len(in_use)))
    base.words[:symbols] = (1 - SHARE_OF_WORDS) / symbols
    fill_base(base, prefix, last, last_two, pair, total, np.empty(len(in_use)), base.words[symbols:])
    return base


@njit(cache=True, nogil=True)
def count_units(in_use, prefix, last, last_two, pair, begins, ends, total, followers, predecessors):
    """Fill the counts of the words in use, all int64 and 0 before.

    pair: [pairs]; begins, ends, and n(b), t(b) and n1(c) (its end left out): [units + 1].
    """
    units = ends.size - 1
    for word in range(in_use.size):
        if in_use[word]:
            ends[last[word]] += 1
            part = word
            while part >= units:
                pair[last_two[part] - units] += 1
                part = prefix[part]
            begins[part] += 1
    for unit in range(units):
        total[unit] = ends[unit]
        followers[unit] = ends[unit] > 0
        predecessors[unit] = begins[unit] > 0
    for i in range(pair.size):
        if pair[i] > 0:
            b, c = prefix[units + i], last[units + i]
            total[b] += pair[i]
            followers[b] += 1
            predecessors[c] += 1


@njit(cache=True, nogil=True)
def fill_base(base, prefix, last, last_two, pair, total, chain, words):
    """Fill `pair` of the base, and `words` (float64[words]) with P0 of the words. chain: room for float64[words]."""
    units = base.begin.size - 1
    for i in range(pair.size):
        b, c = prefix[units + i], last[units + i]
        base.pair[i] = max(pair[i] - DISCOUNT, 0.0) / (total[b] + CONCENTRATION) + base.backoff[b] * base.q[c]
    for word in range(words.size):
        if word < units:
            chain[word] = base.begin[word]
        else:
            chain[word] = chain[prefix[word]] * base.pair[last_two[word] - units]
        words[word] = SHARE_OF_WORDS * chain[word] * base.end[last[word]]


def _above(counts: NDArray[Any]) -> NDArray[np.float64]:
    return np.maximum(counts - DISCOUNT, 0.0)


def _discounted(predecessors: NDArray[np.int64]) -> NDArray[np.float64]:
    """q of every unit, the unknown one and the end."""
    uniform = (DISCOUNT * np.count_nonzero(predecessors) + CONCENTRATION) / len(predecessors)
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
