"""The lattice of one run: all its segmentations into candidates, their probabilities, samples and exact posteriors.

    p1(w)  = [max(c1(w) - d1, 0) + (t1 + d1 D) P0(w)] / (t1 + N)
    p(w|u) = {max(c(u,w) - d2, 0) + (t2 + d2 T(u)) p1(w) R[class u, class w]} / (t2 + c(u))

A segmentation has the probability of its words by this formula, times the odds of every place at which a word begins
(`context_kernels`), but for a constant.

The node [t, k - 1] is the word of k units that ends after t units of the run; node [0, 0] is the symbol left of it.
Only + - * / and comparisons: the same on every machine.
"""

# mypy: allow-untyped-defs

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tokenlab.core.kernels import copy
from tokenlab.segment.words.base_kernels import new_word
from tokenlab.segment.words.lexicon import NEW, NONE
from tokenlab.segment.words.pair_kernels import D, N, mix, pair_count

D1, T1 = 0.5, 1.0
"""Discount and concentration of p1."""
D2, T2 = 0.9, 1.0
"""Discount and concentration of p(w|u)."""
UNIT_SCALE = 1024.0
"""Probabilities are multiplied by this for each unit, against underflow (about exp(7)); a power of two is exact."""
_FAR = 2.0**400
NEGLIGIBLE = 1e-7
"""Posteriors below this are taken as 0."""


class Parts(NamedTuple):
    """The parameters of p(w|u) beside the counts."""

    base: NamedTuple
    """P0, a `Base`."""
    new_kinds: np.ndarray
    """int16[longest]: the classes of new words, by length."""
    affinity: np.ndarray
    """float64[classes, classes]: R."""
    scale: np.ndarray
    """float64[longest]: `UNIT_SCALE` to the power of the length, times exp(beta)."""


class Lattice(NamedTuple):
    """Room for the nodes of the longest run, units + 1 rows."""

    word: np.ndarray
    """int32[rows, longest]: number of the word, NONE or NEW."""
    kind: np.ndarray
    """int16[rows, longest]: its class."""
    p1: np.ndarray
    """float64[rows, longest]: p1 of the word."""
    share: np.ndarray
    """float64[rows, longest]: (t2 + d2 T) / (t2 + c)."""
    inverse: np.ndarray
    """float64[rows, longest]: 1 / (t2 + c); 0 where c = 0: no pair begins with the word."""
    followed: np.ndarray
    """bool[rows, longest]: c1 > 0: some pair ends with the word."""
    odds: np.ndarray
    """float64[rows]: what a word that begins after so many units is multiplied by."""
    alpha: np.ndarray
    """float64[rows, longest]: forward probabilities, each row to an unknown power of two."""
    step: np.ndarray
    """float64[rows, longest, longest]: p(word | word of j + 1 units before it)."""
    last: np.ndarray
    """float64[longest]: p(symbol right of the run | word)."""
    gamma: np.ndarray
    """float64[rows, longest]: posteriors."""


def make_lattice(longest_run: int, longest: int) -> Lattice:
    """Room for runs of up to `longest_run` units."""
    rows = longest_run + 1
    return Lattice(
        word=np.full((rows, longest), NONE, np.int32),
        kind=np.zeros((rows, longest), np.int16),
        p1=np.zeros((rows, longest)),
        share=np.zeros((rows, longest)),
        inverse=np.zeros((rows, longest)),
        followed=np.zeros((rows, longest), np.bool_),
        odds=np.ones(rows),
        alpha=np.zeros((rows, longest)),
        step=np.zeros((rows, longest, longest)),
        last=np.zeros(longest),
        gamma=np.zeros((rows, longest)),
    )


@njit(cache=True, nogil=True)
def fill(lattice, text, run, symbols, counts, parts):
    """Fill the nodes of a run. text: a `Text`; symbols: how many symbols there are."""
    spans, first, size = text.spans, text.first[run], text.first[run + 1] - text.first[run]
    scale = 1.0 / (T1 + counts.totals[N])
    rest = (T1 + D1 * counts.totals[D]) * scale
    longest = spans.shape[1]
    lattice.word[0, :] = NONE
    copy(text.odds[first : first + size], lattice.odds)
    _fill_node(lattice, 0, 0, text.left[run], counts, scale, rest)
    for t in range(1, size + 1):
        for k in range(1, longest + 1):
            span = spans[first + t - k, k - 1] if k <= t else NONE
            if span >= 0:
                _fill_node(lattice, t, k - 1, symbols + span, counts, scale, rest)
            else:
                lattice.word[t, k - 1] = span
                if span == NEW:
                    lattice.kind[t, k - 1] = parts.new_kinds[k - 1]
                    lattice.p1[t, k - 1] = rest * new_word(parts.base, text.units, spans, first + t - k, k)
                    lattice.share[t, k - 1] = 1.0
                    lattice.inverse[t, k - 1] = 0.0
                    lattice.followed[t, k - 1] = False


@njit(cache=True, nogil=True, inline="always")
def _fill_node(lattice, t, k, word, counts, scale, rest):
    known = counts.words[word]
    inverse = 1.0 / (T2 + known.c)
    lattice.word[t, k] = word
    lattice.kind[t, k] = np.int16(known.kind)
    lattice.p1[t, k] = max(known.c1 - D1, 0.0) * scale + rest * known.p0
    lattice.share[t, k] = (T2 + D2 * known.followers) * inverse
    lattice.inverse[t, k] = inverse if known.c > 0 else 0.0
    lattice.followed[t, k] = known.c1 > 0


@njit(cache=True, nogil=True)
def forward(lattice, size, right, counts, parts):
    """Fill `alpha`, `step` and, for the symbol right of the run, `last`."""
    longest = lattice.word.shape[1]
    word, alpha, step, affinity = lattice.word, lattice.alpha, lattice.step, parts.affinity
    alpha[0, :] = 0.0
    alpha[0, 0] = 1.0
    for t in range(1, size + 1):
        highest = 0.0
        for k in range(min(longest, t)):
            alpha[t, k] = 0.0
            if word[t, k] == NONE:
                continue
            start = t - k - 1
            p1, kind, followed = lattice.p1[t, k], lattice.kind[t, k], lattice.followed[t, k]
            total = 0.0
            for j in range(min(longest, max(start, 1))):
                if word[start, j] == NONE:
                    continue
                p = lattice.share[start, j] * p1 * affinity[lattice.kind[start, j], kind]
                if followed and lattice.inverse[start, j] > 0:
                    number = pair_count(counts, word[start, j], word[t, k])
                    if number > D2:
                        p += (number - D2) * lattice.inverse[start, j]
                step[t, k, j] = p
                total += alpha[start, j] * p
            alpha[t, k] = total * parts.scale[k] * lattice.odds[start]
            highest = max(highest, alpha[t, k])
        if highest < 1.0 / _FAR or highest > _FAR:
            _scale(alpha, max(t - longest + 1, 0), t + 1, _FAR if highest < 1.0 else 1.0 / _FAR)
    p1 = max(counts.words[right].c1 - D1, 0.0) + (T1 + D1 * counts.totals[D]) * counts.words[right].p0
    p1 /= T1 + counts.totals[N]
    right_kind = np.int16(counts.words[right].kind)
    for k in range(min(longest, size)):
        if word[size, k] != NONE:
            p = lattice.share[size, k] * p1 * affinity[lattice.kind[size, k], right_kind]
            if lattice.inverse[size, k] > 0:
                number = pair_count(counts, word[size, k], right)
                if number > D2:
                    p += (number - D2) * lattice.inverse[size, k]
            lattice.last[k] = p


@njit(cache=True, nogil=True)
def _scale(alpha, begin, end, factor):
    """Multiply the rows from `begin` to `end`. Loops, since slices take seconds to compile: they can raise errors."""
    for t in range(begin, end):
        for k in range(alpha.shape[1]):
            alpha[t, k] *= factor


@njit(cache=True, nogil=True)
def random_number(state):
    """Uniform in [0, 1), by splitmix64. state: uint64[1]."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(mix(state[0]) >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def sample(lattice, size, lengths, first, state):
    """Draw a segmentation after `forward`: lengths[first + i] becomes the length of the word at unit i, or 0."""
    longest = lattice.word.shape[1]
    lengths[first : first + size] = 0
    weights = np.empty(longest, np.float64)
    t, after = size, -1  # the word before which the next one ends
    end = size
    while t > 0:
        total = 0.0
        for k in range(min(longest, t)):
            weights[k] = 0.0
            if lattice.word[t, k] != NONE:
                p = lattice.last[k] if after < 0 else lattice.step[end, after, k]
                weights[k] = lattice.alpha[t, k] * p
            total += weights[k]
        threshold = random_number(state) * total
        chosen, reached = 0, 0.0
        for k in range(min(longest, t)):
            if weights[k] > 0.0:
                chosen = k
                reached += weights[k]
                if reached > threshold:
                    break
        end, after = t, chosen
        t -= chosen + 1
        lengths[first + t] = chosen + 1


@njit(cache=True, nogil=True)
def add_posteriors(lattice, size, posteriors, first):
    """Add the posterior of every span, after `forward`, to posteriors[first + start, k - 1] (float32).

    The posterior of a node is shared out among the words before it, from right to left, in the proportions in which
    `sample` draws them. Shares below `NEGLIGIBLE` go no further.
    """
    longest = lattice.word.shape[1]
    gamma, alpha, step = lattice.gamma, lattice.alpha, lattice.step
    gamma[: size + 1] = 0.0
    total = 0.0
    for k in range(min(longest, size)):
        if lattice.word[size, k] != NONE:
            gamma[size, k] = alpha[size, k] * lattice.last[k]
            total += gamma[size, k]
    for k in range(longest):
        gamma[size, k] /= total
    for t in range(size, 0, -1):
        for k in range(min(longest, t)):
            if gamma[t, k] < NEGLIGIBLE:
                continue
            start = t - k - 1
            posteriors[first + start, k] += gamma[t, k]
            if start == 0:
                continue
            total = 0.0
            for j in range(min(longest, start)):
                if lattice.word[start, j] != NONE:
                    total += alpha[start, j] * step[t, k, j]
            share = gamma[t, k] / total
            for j in range(min(longest, start)):
                if lattice.word[start, j] != NONE:
                    gamma[start, j] += alpha[start, j] * step[t, k, j] * share


def decode(
    posteriors: NDArray[np.float32], passes: int, threshold: float, first: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Where words begin in the segmentation that maximises the sum of (posterior - threshold): bool[units].

    Of equal sums, the last word is the shortest.

    Args:
        posteriors: float32[units, longest], sums over `passes`.
        first: int64[runs + 1].
    """
    begins, size = np.zeros(len(posteriors), bool), int(np.diff(first).max(initial=0))
    mark_words(posteriors, passes, threshold, first, np.zeros(size + 1), np.zeros(size + 1, np.int64), begins)
    return begins


@njit(cache=True, nogil=True)
def mark_words(posteriors, passes, threshold, first, best, back, begins):
    """Mark in `begins` what `decode` returns. best, back: float64 and int64[units of the longest run + 1], zeros."""
    longest = posteriors.shape[1]
    for run in range(first.size - 1):
        size = first[run + 1] - first[run]
        for t in range(1, size + 1):
            best[t] = -np.inf
            for k in range(1, min(longest, t) + 1):
                value = np.float64(posteriors[first[run] + t - k, k - 1])
                if value > 0 or k == 1:
                    total = best[t - k] + value / passes - threshold
                    if total > best[t]:
                        best[t], back[t] = total, k
        t = size
        while t > 0:
            t -= back[t]
            begins[first[run] + t] = True
