import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_sequences import flat, plain_bits

from tokenlab.core.errors import InputError
from tokenlab.metrics import bigram_bits, bigram_perplexity, bits_of_counts, bits_per_character


def test_worked_example():
    """a b a b c twice: BOS a and b.. : after a always b, after b twice a and twice c."""
    symbols, offsets = flat([[0, 1, 0, 1, 2]] * 2)
    bits = bigram_bits(symbols, offsets)
    assert bits == 4.0
    assert bigram_perplexity(bits, 10) == pytest.approx(2**0.4)
    assert bits_per_character(bits, 5) == 0.8


@settings(max_examples=100)
@given(st.lists(st.lists(st.sampled_from([0, 1, 2, 6000]), max_size=12), max_size=6))
def test_equals_the_definition(sequences):
    """With 6,000 symbols pairs are sorted, with 3 they are counted in a table."""
    assert bigram_bits(*flat(sequences)) == pytest.approx(plain_bits(sequences), rel=1e-12, abs=1e-9)


def test_large_counts_and_any_order():
    counts = np.array([1, 70_000, 3, 0, 5_000_000, 70_000, 3], np.int64)
    contexts = np.array([counts.sum()])
    bits = bits_of_counts(counts, contexts)
    total = counts.sum()
    assert bits == pytest.approx(-sum(c * math.log2(c / total) for c in counts.tolist() if c), rel=1e-12)
    assert bits == bits_of_counts(counts[::-1].copy(), contexts)


def test_nothing_is_nothing():
    assert bigram_bits(np.empty(0, np.int32), np.zeros(3, np.int64)) == 0.0


@pytest.mark.parametrize(("symbols", "offsets"), [([1, 2], [0, 5]), ([1, 2], [0, 2, 1]), ([1], [1, 1]), ([-1], [0, 1])])
def test_arrays_that_do_not_fit_together_are_refused(symbols, offsets):
    with pytest.raises(InputError, match="offsets must ascend"):
        bigram_bits(np.array(symbols, np.int32), np.array(offsets))
