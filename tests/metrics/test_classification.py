"""Weighted F1 against scikit-learn, and differences over the same items against the variances that they must have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from tokenlab.core.errors import InputError
from tokenlab.metrics.classification import confusion_counts, paired_difference, weighted_f1
from tokenlab.metrics.registry import CLASSIFICATION

CLASSES = 4


@given(st.lists(st.tuples(st.integers(0, CLASSES - 1), st.integers(0, CLASSES - 1)), min_size=1, max_size=30))
def test_weighted_f1_is_that_of_scikit_learn(pairs):
    """Classes without items and classes that are never predicted included."""
    gold, predicted = np.array(pairs).T
    counts = confusion_counts(gold, predicted, CLASSES)
    expected = f1_score(gold, predicted, average="weighted", zero_division=0)
    functions = {metric.name: metric.function for metric in CLASSIFICATION}
    assert functions["weighted_f1"](counts) == pytest.approx(expected)


def test_a_row_of_predictions_for_each_seed():
    gold, predicted = np.array([0, 1, 1]), np.array([[0, 1, 1], [1, 1, 1]])
    assert weighted_f1(confusion_counts(gold, predicted, 2)) == pytest.approx([1.0, 2 / 3 * 0.8])


@pytest.mark.parametrize("wrong", [-1, 4])
def test_a_label_outside_the_classes_is_an_error(wrong):
    for gold, predicted in (([0, wrong], [0, 1]), ([0, 1], [0, wrong])):
        with pytest.raises(InputError, match=f"label {wrong} is outside"):
            confusion_counts(np.array(gold), np.array(predicted), CLASSES)


def test_nothing_to_score_is_an_error():
    with pytest.raises(InputError, match="no test item"):
        confusion_counts(np.array([], int), np.array([], int), CLASSES)


def predictions(gold, right, seeds, random):
    """Of each item, the right class with the probability of the item."""
    hits = random.random((seeds, len(gold))) < right
    return np.where(hits, gold, (gold + 1) % CLASSES)


def test_the_variance_over_items_is_that_of_new_items():
    """A difference of one seed: its bootstrap deviation against the deviation over many draws of the test items."""
    random = np.random.default_rng(0)
    draws = []
    for _ in range(300):
        gold = random.integers(CLASSES, size=400)
        draws.append([gold, predictions(gold, 0.8, 1, random), predictions(gold, 0.7, 1, random)])
    found = [paired_difference(*draw, CLASSES, resamples=200) for draw in draws[:20]]
    over_draws = np.std([paired_difference(*draw, CLASSES, resamples=2).mean for draw in draws])
    assert np.mean([each.deviation for each in found]) == pytest.approx(over_draws, rel=0.15)


def test_equal_runs_differ_by_nothing_and_items_are_paired():
    """Two classifiers that fail on the same hard items, one on a few more: separable as pairs alone."""
    random = np.random.default_rng(1)
    gold = random.integers(CLASSES, size=500)
    one = np.tile(np.where(random.random(500) < 0.5, gold, (gold + 1) % CLASSES), (3, 1))
    assert paired_difference(gold, one, one, CLASSES) == (0.0, 0.0)
    other = one.copy()
    other[:, :10] = (gold[:10] + 2) % CLASSES
    shuffled = random.permutation(500)
    assert paired_difference(gold, one, other, CLASSES).separable
    unpaired = paired_difference(gold, one, (other - gold)[:, shuffled] % CLASSES, CLASSES)
    assert unpaired.deviation > 3 * paired_difference(gold, one, other, CLASSES).deviation


def test_seeds_that_disagree_are_not_separable():
    gold = np.arange(400) % CLASSES
    wrong = (gold + 1) % CLASSES
    one = np.stack([gold, wrong, gold])
    assert not paired_difference(gold, one, one[[1, 0, 0]], CLASSES).separable
    assert paired_difference(gold, one, np.stack([wrong, wrong, wrong]), CLASSES).mean == pytest.approx(2 / 3)


def test_other_numbers_of_items_or_seeds_are_an_error():
    gold = np.zeros(5, int)
    with pytest.raises(InputError, match="compare runs on equal items"):
        paired_difference(gold, np.zeros((2, 5), int), np.zeros((3, 5), int), CLASSES)
