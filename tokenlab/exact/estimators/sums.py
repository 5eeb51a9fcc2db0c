"""Sums over the covers of a text, in log space.

Every cover's share is computed from its own sum, not from differences of cumulative sums, so that small probabilities
keep their digits.
"""

from collections.abc import Sequence
from math import exp, inf, log

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.estimators.covers import Context, Covers
from tokenlab.exact.vocabulary import Vocabulary


def log_sum(values: Sequence[float] | NDArray[np.float64]) -> float:
    """log of a sum of exponentials; -inf for none, NaN where a value is."""
    array = np.asarray(values, np.float64)
    highest = float(array.max()) if len(array) else -inf
    if highest == -inf or np.isnan(highest):
        return highest
    return highest + float(np.log(np.exp(array - highest).sum()))


def log_product(context: Context, probability: float) -> float:
    """log of the probability of a context and of what follows it with this probability."""
    assert context.log_probability is not None
    return context.log_probability + log(probability) if probability > 0 else -inf


def log_masses(covers: Covers) -> list[float]:
    """log of the probability of each cover: of its context at the end of the text, else with one of its tokens."""
    length = len(covers.text)
    masses = []
    for cover in covers.covers:
        if cover.context.length == length:
            assert cover.context.log_probability is not None
            masses.append(cover.context.log_probability)
        else:
            masses.append(log_product(cover.context, cover.sum()))
    return masses


def log_branches(vocabulary: Vocabulary, covers: Covers) -> NDArray[np.float64]:
    """[256] log of the probability of the text and one more byte, from covers that are all evaluated."""
    parts = []
    for cover in covers.covers:
        assert cover.tokens is not None and cover.context.log_probability is not None
        branches = vocabulary.branches(cover.low, cover.high, len(covers.text) - cover.context.length)
        if not len(branches.start):
            continue
        sums = np.add.reduceat(
            cover.tokens[cover.low - cover.offset : cover.high - cover.offset], branches.start - cover.low
        )
        # scaled by its own sum: neither the context's probability nor the tokens' alone fit the range of a float
        total = float(sums.sum())
        if total > 0 and cover.context.log_probability > -inf:
            parts.append((cover.context.log_probability + log(total), branches.following, sums / total))
    highest = max((mass for mass, _, _ in parts), default=-inf)
    out = np.zeros(256)
    for mass, following, shares in parts:
        out[following] += exp(mass - highest) * shares
    with np.errstate(divide="ignore"):
        return np.log(out) + (highest if parts else 0.0)
