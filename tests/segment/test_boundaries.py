"""Boundaries against scipy's peaks, against each rule written as a loop, and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import find_peaks, peak_prominences

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.segment.boundaries import RULES, maxima, prominences
from tokenlab.segment.by_entropy import boundary_scores, entropy_boundaries, segment_by_entropy
from tokenlab.segment.options import BoundaryOptions

NAN = float("nan")
# Few different values, so that plateaus and equal peaks are common.
values = st.lists(st.integers(0, 5).map(lambda n: n / 4), max_size=40).map(lambda v: np.array(v, np.float32))
with_missing = st.lists(st.one_of(st.integers(0, 5).map(float), st.just(NAN)), max_size=30)


@given(values)
def test_maxima_are_the_left_edges_of_scipys_peaks_with_their_prominences(entropy):
    peaks, facts = find_peaks(entropy, plateau_size=1)
    assert maxima(entropy).tolist() == facts["left_edges"].tolist()
    expected = peak_prominences(entropy, peaks)[0]
    np.testing.assert_allclose(prominences(entropy, maxima(entropy)), expected, atol=1e-6)


@given(values, st.integers(1, 5).map(lambda n: n / 4))
def test_minimum_prominence_is_scipys(entropy, least):
    _, facts = find_peaks(entropy, prominence=least, plateau_size=1)
    found = entropy_boundaries(entropy, BoundaryOptions("prominence", least))
    assert found.tolist() == facts["left_edges"].tolist()


@given(with_missing, st.sampled_from(sorted(RULES)))
def test_missing_values_are_skipped(entropy, rule):
    options = BoundaryOptions(rule, None if rule == "maxima" else 1.0)
    places = [place for place, value in enumerate(entropy) if value == value]
    closed = entropy_boundaries([entropy[place] for place in places], options)
    assert entropy_boundaries(entropy, options).tolist() == [places[place] for place in closed]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (BoundaryOptions(), [2, 5, 9]),
        (BoundaryOptions("prominence", 1.0), [2, 9]),
        (BoundaryOptions("threshold", 2.0), [2, 9]),
        (BoundaryOptions("threshold", 1.0), [0, 2, 3, 5, 6, 9]),
        (BoundaryOptions("rise", 0.5), [2, 9, 11]),
        (BoundaryOptions("rise", -0.25), [1 + 1, 5, 6, 9, 11]),
    ],
)
def test_each_rule_by_hand(options, expected):
    #          0    1    2    3    4    5      6      7    8    9    10   11
    entropy = [2.0, 1.0, 2.5, 1.5, 1.0, 1.375, 1.375, 0.5, NAN, 4.0, 0.0, 1.0]
    assert entropy_boundaries(entropy, options).tolist() == expected


def test_threshold_is_strict_and_bytes_are_like_characters():
    limit = 1.335442066192627
    entropy = np.array([9.0, limit, np.nextafter(np.float32(limit), np.float32(2)), 0.0], np.float32)
    above = entropy_boundaries(entropy, BoundaryOptions("threshold", float(np.float32(limit))))
    assert above.tolist() == [0, 2]
    assert entropy_boundaries([], BoundaryOptions()).tolist() == []


@pytest.mark.parametrize(
    ("rule", "threshold", "message"),
    [
        ("peaks", None, "rule is 'peaks'; .* maxima"),
        ("maxima", 1.0, "no meaning"),
        ("prominence", None, "needs a number"),
        ("rise", NAN, "needs a number"),
        ("threshold", float("inf"), "needs a number"),
    ],
)
def test_invalid_options(rule, threshold, message):
    with pytest.raises(ParameterError, match=message):
        BoundaryOptions(rule, threshold)


def test_segments_stand_between_boundaries():
    sentences = ["共同 创造，美好", "", "12年ab", "好"]
    entropies = [np.array(v, np.float32) for v in ([0, 3, NAN, 1, 2, 0, 5, 1], [], [1, 2, 0, 1, 0], [1])]
    segmentation = segment_by_entropy(sentences, entropies, BoundaryOptions())
    assert segmentation.text() == "共 同 创 造， 美好\n\n1 2年 ab\n好\n"
    assert segmentation.sentences() == sentences
    isolated = segment_by_entropy(sentences, entropies, BoundaryOptions(), "script")
    assert isolated.text() == "共 同 创 造 ， 美好\n\n12 年 ab\n好\n"
    punctuation = segment_by_entropy(sentences, entropies, BoundaryOptions(), "punctuation")
    assert punctuation.text() == "共 同 创 造 ， 美好\n\n1 2年 ab\n好\n"


def test_values_of_another_text_are_an_error():
    with pytest.raises(InputError, match="sentence 2: 1 characters but 2"):
        segment_by_entropy(["", "a"], [np.empty(0, np.float32), np.zeros(2, np.float32)], BoundaryOptions())
    with pytest.raises(InputError, match="2 sentences but"):
        segment_by_entropy(["", "a"], [np.empty(0, np.float32)], BoundaryOptions())


def test_boundary_scores_reward_entropy_above_the_threshold():
    scores = boundary_scores(np.array([4.0, NAN, 1.0], np.float32), weight=2.0, threshold=3.0)
    assert scores.dtype == np.float64 and scores[[0, 2]].tolist() == [2.0, -4.0] and np.isnan(scores[1])
