"""Rényi entropy and efficiency of token frequencies.

With p_i = c_i / sum(c), H_alpha = log(sum_i p_i^alpha) / (1 - alpha); in the limits alpha = 0: log of the number of
types; 1: Shannon's entropy; inf: -log of the largest p_i (Rényi 1961). Efficiency is H_alpha / log |V| (Zouhar et al.
2023, "Tokenization and the Noiseless Channel", section 5, who recommend alpha = 2.5). |V| is nominal, the size of the
vocabulary, or observed, the number of types that occur; their tool `tokenization-scorer` takes the observed one, and
alpha = 3 by default.
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.options import check_choice, check_least

Unit = Literal["bits", "nats"]

ALPHA = 2.5
"""The order that Zouhar et al. found to predict translation quality best."""

_NEAR_ONE = 0.25


def renyi_entropy(
    counts: Sequence[int] | NDArray[np.integer], alpha: float = ALPHA, unit: Unit = "bits"
) -> float | None:
    """The Rényi entropy of a distribution given by counts.

    Args:
        counts: integers[types], at least 0; zeros are types that do not occur.
        alpha: the order, from 0 to infinity.
        unit: of the result: bits or nats.

    Returns:
        The entropy, at least 0; None where nothing was counted.

    Raises:
        ParameterError: alpha is negative or no number, or an unknown unit.
        InputError: a count is negative.
    """
    check_least("alpha", alpha, 0)
    check_choice("unit", unit, Unit)
    found = np.asarray(counts)
    if found.size and found.min() < 0:
        raise InputError(f"counts has {found.min()}; a token cannot occur less than 0 times")
    found = np.sort(found[found > 0].astype(np.float64))  # Sorted: equal counts in any order give equal sums.
    if not len(found):
        return None
    nats = max(0.0, _entropy(found / found.sum(), alpha))  # 0.0 first: never -0.0.
    return nats / math.log(2) if unit == "bits" else nats


def renyi_efficiency(
    counts: Sequence[int] | NDArray[np.integer], alpha: float = ALPHA, vocabulary: int | None = None
) -> float | None:
    """Rényi entropy as a share of its maximum, log |V|.

    Args:
        counts: as in `renyi_entropy`.
        vocabulary: nominal |V|; None for the observed one, the number of counts above 0.

    Returns:
        The efficiency, 0..1; None where nothing was counted, or where log |V| is 0.

    Raises:
        ParameterError: as `renyi_entropy`, or more types occur than the vocabulary has.
        InputError: as `renyi_entropy`.
    """
    types = int(np.count_nonzero(counts))
    size = types if vocabulary is None else vocabulary
    if size < types:
        raise ParameterError(f"vocabulary is {size}, but {types} types occur; give the size of the whole vocabulary")
    entropy = renyi_entropy(counts, alpha, "nats")
    return None if entropy is None or size < 2 else min(entropy / math.log(size), 1.0)


def _entropy(p: NDArray[np.float64], alpha: float) -> float:
    """In nats, of probabilities above 0 that ascend."""
    if alpha == 1:
        return float(-(p * np.log(p)).sum())
    largest = math.log(p[-1])
    if math.isinf(alpha):
        return -largest
    if abs(alpha - 1) < _NEAR_ONE:
        # sum p^alpha = 1 + sum p (p^(alpha - 1) - 1), which loses no digits where alpha - 1 is small.
        return math.log1p(float((p * np.expm1((alpha - 1) * np.log(p))).sum())) / (1 - alpha)
    # Divided by the largest: a large power would underflow otherwise.
    return (alpha * largest + math.log(float(((p / p[-1]) ** alpha).sum()))) / (1 - alpha)
