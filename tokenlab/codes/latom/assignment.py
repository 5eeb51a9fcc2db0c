"""From atom posteriors to a code for every character: the optimal one-to-one assignment (Latom, section 3.3)."""

from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from tokenlab.codes.base.codebook import check_capacity
from tokenlab.codes.options import FLOOR
from tokenlab.core.errors import ParameterError

LARGEST_COSTS = 1 << 28
"""Largest number of characters times codes in one assignment: 2 GiB of float64."""


class Assignment(NamedTuple):
    """An injective mapping from characters to codes, and its objective."""

    assigned: np.ndarray
    """int64[|C|]: the code of each character, as the place of (a_1, ..., a_N) in lexicographic order."""
    objective: float
    """Nats: the sum over characters of s(c, f(c)), equation 1; the maximum over all injective mappings."""
    random_objective: float
    """Nats: the exact mean of that sum over all injective mappings; they give a character each code equally often."""

    @property
    def gap(self) -> float:
        """Objective above the mean of random assignments, in nats."""
        return self.objective - self.random_objective


def assignment(q: np.ndarray, floor: float = FLOOR) -> Assignment:
    """The injective mapping with the maximal sum of s(c, a) = sum_n log max(q[c, n, a_n], floor), in nats.

    q: float64[|C|, N, K], the mean posterior of atom k at digit n of character c.

    Raises ParameterError where there are fewer codes than characters, where the |C| x K^N costs take more than 2 GiB,
    and where the floor is outside (0, 1].
    """
    characters, N, K = q.shape
    check_assignable(characters, N, K)
    if not 0 < floor <= 1:
        raise ParameterError(f"floor is {floor}; it must be above 0 and at most 1")
    scores = np.log(np.maximum(q, floor))
    costs = reduce(_add_digit, np.moveaxis(-scores, 1, 0))
    _, assigned = linear_sum_assignment(costs)  # Rows are in order. Costs, since maximize=True copies.
    objective = -costs[np.arange(characters), assigned].sum()
    random_objective = scores.mean(axis=2).sum()
    return Assignment(assigned.astype(np.int64), float(objective), float(random_objective))


def check_assignable(characters: int, N: int, K: int) -> None:
    """Raises ParameterError where there are fewer codes than characters, or costs or transitions exceed 2 GiB."""
    check_capacity(characters, N, K)
    if N * K * K > LARGEST_COSTS:
        raise ParameterError(
            f"N = {N}, K = {K}: the HMM has N K^2 = {N * K * K:,} transitions, and at most {LARGEST_COSTS:,} (2 GiB)"
            " can be learned; choose a smaller K"
        )
    if characters * K**N > LARGEST_COSTS:
        raise ParameterError(
            f"{characters:,} characters x K^N = {K}^{N} = {K**N:,} codes: an assignment has at most"
            f" {LARGEST_COSTS:,} such pairs (2 GiB); choose a smaller K or N"
        )


def _add_digit(costs: np.ndarray, digit: np.ndarray) -> np.ndarray:
    """float64[|C|, codes] and float64[|C|, K] -> float64[|C|, codes K], in lexicographic order."""
    return (costs[:, :, None] + digit[:, None, :]).reshape(len(costs), -1)
