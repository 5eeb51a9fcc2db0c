"""Boundaries from the units around them: a logistic regression on n-grams across and beside a place.

A place is a unit of a run that is not its first; the question is whether a word begins there. Features are n-grams of
the three units before it and the three from it on, each with its position; beyond an end of the run stands a mark. A
feature is a slot of a table by its hash, and features that share a slot share a weight. Weights are learned by
stochastic gradient descent with the step sizes of AdaGrad (Duchi, Hazan and Singer, 2011) and a small L2 penalty.

Such a classifier knows no words. Learned from the words of one half of a text, it judges places of the other half by
what surrounds them, and so differs from the model that found these words where the latter rests on single cases.
"""

# mypy: allow-untyped-defs

from math import exp, sqrt

import numpy as np
from numba import njit

from tokenlab.segment.words.pair_kernels import mix

SLOTS = 1 << 20
EPOCHS = 2
LARGEST_SCORE = 4.0
"""Scores count up to this, in nats: a probability from 0.018 to 0.982."""
_RATE, _PENALTY = 0.3, 1e-4
_BEFORE_RUN, _AFTER_RUN = 0, 1
_FIRST_UNIT = 2
_REACH = 3
_NONE = -1
_FEATURES = np.array(
    [[2, _NONE, _NONE], [3, _NONE, _NONE], [1, _NONE, _NONE], [4, _NONE, _NONE],
     [2, 3, _NONE], [1, 2, _NONE], [3, 4, _NONE], [1, 3, _NONE], [2, 4, _NONE], [1, 4, _NONE],
     [1, 2, 3], [2, 3, 4], [0, 1, 2], [3, 4, 5]]
)  # fmt: skip
"""Positions in the window of six units, of which the place is number 3."""


@njit(cache=True, nogil=True)
def slots_of(units, begin, end, place, window, slots):
    """Fill slots (int64[features]) for a place of the run from unit `begin` to `end`. window: room, int64[6]."""
    for i in range(window.size):
        unit = place + i - _REACH
        window[i] = _BEFORE_RUN if unit < begin else _AFTER_RUN if unit >= end else units[unit] + _FIRST_UNIT
    for feature in range(slots.size):
        state = np.uint64(feature + 1) << np.uint64(32)  # apart from any unit
        for position in _FEATURES[feature]:
            if position >= 0:
                # As in splitmix64, one unit after the other.
                state = mix((state + np.uint64(window[position]) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
        slots[feature] = np.int64(state & np.uint64(SLOTS - 1))


@njit(cache=True, nogil=True)
def learn(units, first, order, half, lengths):
    """Weights, float64[SLOTS], from the runs whose number modulo 2 is `half`, in the order of `order`.

    units: int32[units]; first: int64[runs + 1]; order: int64[runs]; lengths: int8[units], 0 inside of words.
    """
    weights, squares = np.zeros(SLOTS, np.float64), np.full(SLOTS, 1e-8)
    window, slots = np.empty(2 * _REACH, np.int64), np.empty(len(_FEATURES), np.int64)
    for _ in range(EPOCHS):
        for run in order:
            if run % 2 != half:
                continue
            for place in range(first[run] + 1, first[run + 1]):
                slots_of(units, first[run], first[run + 1], place, window, slots)
                score = 0.0
                for slot in slots:
                    score += weights[slot]
                error = 1.0 / (1.0 + exp(-score)) - (lengths[place] > 0)
                for slot in slots:
                    step = error + _PENALTY * weights[slot]
                    squares[slot] += step * step
                    weights[slot] -= _RATE * step / sqrt(squares[slot])
    return weights


@njit(cache=True, nogil=True)
def fill_odds(units, first, weights, half, odds):
    """Fill odds (float64[units]) of the places of the runs whose number modulo 2 is `half`; of all runs where it is -1.

    The odds that a word begins at a place are exp(score), the score kept within `LARGEST_SCORE`.
    """
    window, slots = np.empty(2 * _REACH, np.int64), np.empty(len(_FEATURES), np.int64)
    for run in range(first.size - 1):
        if half >= 0 and run % 2 != half:
            continue
        for place in range(first[run] + 1, first[run + 1]):
            slots_of(units, first[run], first[run + 1], place, window, slots)
            score = 0.0
            for slot in slots:
                score += weights[slot]
            odds[place] = exp(min(max(score, -LARGEST_SCORE), LARGEST_SCORE))
