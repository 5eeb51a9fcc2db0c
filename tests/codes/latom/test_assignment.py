import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenlab.codes.latom.learn import LARGEST_COSTS, assignment, check_assignable
from tokenlab.core.errors import ParameterError


def objectives(q: np.ndarray, floor: float) -> dict[tuple[int, ...], float]:
    """The sum of s(c, f(c)) of every injective mapping, term by term."""
    characters, N, K = q.shape
    codes = list(product(range(K), repeat=N))
    return {
        chosen: sum(math.log(max(q[c, n, codes[chosen[c]][n]], floor)) for c in range(characters) for n in range(N))
        for chosen in permutations(range(K**N), characters)
    }


@settings(max_examples=60)
@given(st.sampled_from([(3, 1, 4), (4, 2, 2), (3, 2, 3), (5, 3, 2), (1, 2, 2)]), st.integers(0, 1000), st.booleans())
def test_it_is_the_best_of_all_injective_mappings(shape, seed, sharp):
    characters, N, K = shape
    q = np.random.default_rng(seed).dirichlet(np.full(K, 0.01 if sharp else 1.0), size=(characters, N))
    found = assignment(q, floor=1e-12)
    every = objectives(q, 1e-12)
    assert found.objective == pytest.approx(max(every.values()), abs=1e-9)
    assert every[tuple(found.assigned.tolist())] == pytest.approx(found.objective, abs=1e-9)
    assert found.random_objective == pytest.approx(math.fsum(every.values()) / len(every), abs=1e-8)
    assert found.objective - found.random_objective >= -1e-9


def test_the_floor_decides_what_impossible_atoms_cost():
    q = np.array([[[1.0, 0.0]], [[1.0, 0.0]]])
    assert assignment(q, 1e-300).objective == pytest.approx(math.log(1e-300))
    assert assignment(q, 1e-3).objective == pytest.approx(math.log(1e-3))
    for floor in (0.0, -1.0, 1.5, math.nan):
        with pytest.raises(ParameterError, match="floor"):
            assignment(q, floor)


def test_too_few_codes_and_too_many():
    with pytest.raises(ParameterError, match=r"5 characters .* K\^N = 2\^2 = 4"):
        assignment(np.full((5, 2, 2), 0.5))
    with pytest.raises(ParameterError, match=r"62 characters x K\^N = 3000\^2 .*2 GiB"):
        check_assignable(62, 2, 3000)
    check_assignable(LARGEST_COSTS // 4**13, 13, 4)
    with pytest.raises(ParameterError, match="2 GiB"):
        check_assignable(LARGEST_COSTS // 4**13 + 1, 13, 4)
