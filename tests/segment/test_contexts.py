"""The classifier of boundaries against plain Python."""

import math

import numpy as np
import pytest

from tokenlab.segment.words.context_kernels import EPOCHS, LARGEST_SCORE, fill_odds, learn

WINDOWS = [(2,), (3,), (1,), (4,), (2, 3), (1, 2), (3, 4), (1, 3), (2, 4), (1, 4), (1, 2, 3), (2, 3, 4), (0, 1, 2),
           (3, 4, 5)]  # fmt: skip


def text():
    """Runs of words 0 1, 2, 3 4 2: a word begins at every 0 and 3, and at 2 unless 4 stands before it."""
    random = np.random.default_rng(0)
    units, lengths, first = [], [], [0]
    for _ in range(40):
        for word in random.integers(0, 3, random.integers(1, 6)):
            spelled = [[0, 1], [2], [3, 4, 2]][word]
            units += spelled
            lengths += [len(spelled)] + [0] * (len(spelled) - 1)
        first.append(len(units))
    return np.array(units, np.int32), np.array(first), np.array(lengths, np.int8)


def plain_features(units, first, place):
    run = np.searchsorted(first, place, "right") - 1
    window = [
        "begin" if at < first[run] else "end" if at >= first[run + 1] else int(units[at])
        for at in range(place - 3, place + 3)
    ]
    return [(i, *(window[at] for at in positions)) for i, positions in enumerate(WINDOWS)]


def test_weights_are_those_of_plain_gradient_descent():
    units, first, lengths = text()
    order = np.random.default_rng(1).permutation(len(first) - 1)
    weights = learn(units, first, order, 1, lengths)
    plain, squares = {}, {}
    for _ in range(EPOCHS):
        for run in order:
            for place in range(first[run] + 1, first[run + 1]) if run % 2 == 1 else ():
                features = plain_features(units, first, place)
                score = sum(plain.get(f, 0.0) for f in features)
                error = 1 / (1 + math.exp(-score)) - (lengths[place] > 0)
                for f in features:
                    step = error + 1e-4 * plain.get(f, 0.0)
                    squares[f] = squares.get(f, 1e-8) + step * step
                    plain[f] = plain.get(f, 0.0) - 0.3 * step / math.sqrt(squares[f])
    assert np.count_nonzero(weights) == len(plain)  # no two features share a slot
    assert np.sort(weights[weights != 0]) == pytest.approx(sorted(plain.values()), rel=1e-9)
    odds = np.full(len(units), -1.0)
    fill_odds(units, first, weights, 0, odds)
    for run in range(len(first) - 1):
        assert odds[first[run]] == -1.0
        for place in range(first[run] + 1, first[run + 1]):
            score = sum(plain.get(f, 0.0) for f in plain_features(units, first, place))
            expected = math.exp(min(max(score, -LARGEST_SCORE), LARGEST_SCORE)) if run % 2 == 0 else -1.0
            assert odds[place] == pytest.approx(expected, rel=1e-9)
