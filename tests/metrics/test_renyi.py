"""Rényi entropy against its definition in exact arithmetic, and against the public tool."""

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.metrics import renyi_efficiency, renyi_entropy

COUNTS = st.lists(st.integers(0, 10**6), min_size=1, max_size=30).filter(any)
HALF_QUARTERS = [2, 1, 1]


@pytest.mark.parametrize(
    ("alpha", "bits"),
    [
        (0, math.log2(3)),
        (0.5, 2 * math.log2(math.sqrt(0.5) + 1)),
        (1, 1.5),
        (2, -math.log2(0.375)),
        (3, -math.log2(5 / 32) / 2),
        (math.inf, 1.0),
    ],
)
def test_by_hand(alpha, bits):
    """p = 1/2, 1/4, 1/4: sum p^2 = 3/8, sum p^3 = 5/32."""
    assert renyi_entropy(HALF_QUARTERS, alpha) == pytest.approx(bits, rel=1e-14)
    assert renyi_entropy(HALF_QUARTERS, alpha, "nats") == pytest.approx(bits * math.log(2), rel=1e-14)
    assert renyi_efficiency(HALF_QUARTERS, alpha) == pytest.approx(bits / math.log2(3), rel=1e-14)
    assert renyi_efficiency(HALF_QUARTERS, alpha, 16) == pytest.approx(bits / 4, rel=1e-14)


@settings(max_examples=150)
@given(COUNTS, st.one_of(st.floats(0, 200), st.floats(0.99, 1.01), st.floats(0, 3)))
def test_equals_the_definition(counts, alpha):
    expected = definition(counts, alpha)
    assert renyi_entropy(counts, alpha) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def definition(counts, alpha):
    """With 60 digits."""
    present = [Fraction(count, sum(counts)) for count in counts if count]
    with localcontext() as context:
        context.prec = 60
        p = [Decimal(share.numerator) / Decimal(share.denominator) for share in present]
        two = Decimal(2).ln()
        if alpha == 1:
            return float(-sum(share * share.ln() for share in p) / two)
        order = Decimal(alpha)
        return float(sum((order * share.ln()).exp() for share in p).ln() / (1 - order) / two)


@settings(max_examples=50)
@given(COUNTS, st.randoms(use_true_random=False))
def test_order_and_zeros_do_not_matter(counts, random):
    shuffled = [*counts, 0]
    random.shuffle(shuffled)
    assert renyi_entropy(shuffled) == renyi_entropy(np.array(counts, np.int32))


def test_undefined_where_nothing_or_no_choice_is():
    assert renyi_entropy([]) is None and renyi_entropy([0, 0]) is None and renyi_efficiency([0]) is None
    assert renyi_entropy([5]) == 0.0
    assert renyi_efficiency([5]) is None
    assert renyi_efficiency([5], vocabulary=10) == 0.0


def test_errors_say_what_to_do():
    for alpha in (-1, math.nan):
        with pytest.raises(ParameterError, match="alpha is"):
            renyi_entropy([1], alpha)
    with pytest.raises(ParameterError, match="unit is 'bit'"):
        renyi_entropy([1], unit="bit")
    with pytest.raises(ParameterError, match="vocabulary is 1, but 2"):
        renyi_efficiency([1, 1], vocabulary=1)
    with pytest.raises(InputError, match="counts has -1"):
        renyi_entropy([2, -1])


def test_figures_of_the_public_tool():
    """What tokenization-scorer 1.1.8 gives for these lines, for where it is not installed."""
    lines = "pick ed pick l ed pick les\nand and and a"
    counts = list(Counter(lines.split()).values())
    assert renyi_efficiency(counts, 3) == pytest.approx(0.8425513023241566, rel=1e-12)
    assert renyi_efficiency(counts, 2.5, 50) == pytest.approx(0.39366216478235677, rel=1e-12)
    assert renyi_entropy(counts, 2.5) == pytest.approx(2.2217726453870217, rel=1e-12)
    assert renyi_entropy(counts, 1) == pytest.approx(2.413088436425758, rel=1e-12)
