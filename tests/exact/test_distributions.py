"""Probabilities of tokens from logits: precision at the extremes, and logits that make no sense."""

import numpy as np
import pytest
from scipy.special import softmax

from tokenlab.core.errors import InputError
from tokenlab.exact.covers import token_distribution
from tokenlab.exact.vocabulary import Vocabulary

VOCABULARY = Vocabulary([b"c", None, b"a", b"b"])
"""ids by position: 2, 3, 0; id 1 is the end"""


def test_truncated_probabilities_are_the_softmax_over_what_is_allowed():
    logits = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    found = token_distribution(logits, VOCABULARY, 1, allowed=np.array([True, False, True]), truncate=True)
    truth = softmax([3.0, 1.0, 2.0])
    assert found.tokens == pytest.approx([truth[0], 0, truth[1]], rel=1e-15)
    assert found.end == pytest.approx(truth[2], rel=1e-15)


def test_raw_probabilities_are_those_over_all_ids():
    logits = np.array([1.0, 2.0, 3.0, 4.0])
    found = token_distribution(logits, VOCABULARY, None, allowed=np.array([True, False, True]))
    assert found.tokens == pytest.approx(softmax(logits)[[2, 3, 0]] * [1, 0, 1], rel=1e-15)
    assert found.end == 0


def test_allowed_tokens_keep_their_digits_beside_a_token_with_all_the_probability():
    logits = np.array([1.0, -2000.0, 3.0, 2000.0])
    found = token_distribution(logits, VOCABULARY, None, allowed=np.array([True, False, True]), truncate=True)
    assert found.tokens == pytest.approx(softmax([3.0, -np.inf, 1.0]), rel=1e-15)


@pytest.mark.parametrize(
    ("logits", "allowed"),
    [([np.nan] * 4, [True] * 3), ([0, 0, 0, -np.inf], [False, True, False]), ([-np.inf] * 4, [True] * 3)],
)
def test_nothing_is_defined_without_probability(logits, allowed):
    found = token_distribution(np.array(logits), VOCABULARY, None, allowed=np.array(allowed), truncate=True)
    assert not found.defined and not found.tokens.any() and found.end == 0


@pytest.mark.parametrize("broken", [np.nan, np.inf])
@pytest.mark.parametrize("truncate", [True, False])
def test_broken_logits_are_refused(broken, truncate):
    logits = np.array([0.0, 0.0, broken, 0.0])
    with pytest.raises(InputError, match="NaN or infinite"):
        token_distribution(logits, VOCABULARY, 1, allowed=np.ones(3, bool), truncate=truncate)
