"""Pieces find their n-grams and get the terms of the segmenter's sum."""

import math

import numpy as np
import pytest
import unicode_text
from hypothesis import given
from hypothesis import strategies as st
from plain_words import segmentations

from tokenlab.ngrams import StatisticsOptions, ngram_statistics
from tokenlab.segment import SegmentOptions
from tokenlab.segment.by_statistics import utilities
from tokenlab.tokenizers.export.vocabulary import find_ngrams, piece_scores, spelled_otherwise

THAI = [unicode_text.UNSPACED["Thai"], unicode_text.UNSPACED["Burmese"]]


@pytest.mark.parametrize("unit", ["cluster", "character"])
def test_every_ngram_is_found_and_nothing_else(chinese_sentences, unit):
    for sentences in (chinese_sentences[:40], THAI):
        statistics = ngram_statistics(sentences, StatisticsOptions(n_max=4, unit=unit))
        rows = {}
        for n in range(1, 5):
            rows |= zip(statistics.ngrams(n), range(*statistics.rows(n).indices(len(statistics))), strict=True)
        texts = [*rows, "没有出现过", "x", sentences[0], next(iter(rows)) + "\U0001f600"]
        _, found = find_ngrams(statistics, texts)
        assert found.tolist() == [rows.get(text, -1) for text in texts]


def test_scores_are_length_times_utility(chinese_sentences):
    statistics = ngram_statistics(chinese_sentences)
    for tie, sign in (("short", -1), ("long", 1)):
        options = SegmentOptions(weight=1.25, vbe_weight=0.5, tie=tie)
        values = utilities(statistics, options)
        han = [
            (text, row, n) for n in (1, 2, 3) for row, text in enumerate(statistics.ngrams(n), statistics.rows(n).start)
        ]
        han = [each for each in han if all("\u4e00" <= c <= "\u9fff" for c in each[0]) and values[each[1]] > -math.inf]
        scores = piece_scores([text for text, _, _ in han], np.ones(len(han), np.int64), statistics, options)
        assert np.allclose(scores, [n * values[row] + sign * 1e-7 * n * n for _, row, n in han], rtol=0, atol=1e-12)


def test_unseen_characters_and_marks_come_last():
    statistics = ngram_statistics(THAI)
    pieces = ["ฉั", "น", "\u0e31", "漢", "ฉัน", "abc", "a"]
    scores = dict(
        zip(pieces, piece_scores(pieces, np.array([5, 5, 0, 0, 1, 9, 1]), statistics, SegmentOptions()), strict=True)
    )
    assert scores["\u0e31"] == scores["漢"] == min(scores.values())
    assert scores["漢"] <= min(scores["ฉั"], scores["น"], scores["ฉัน"]) - 10
    assert -1 <= scores["a"] < scores["abc"] <= -0.6


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=4), st.floats(-5, 5), min_size=1),
    st.text("abc", min_size=1, max_size=6),
)
def test_spelled_otherwise_is_the_best_of_all_spellings(scores, text):
    scores = {"a": -1.0, "b": -1.0, "c": -1.0} | scores
    ways = (parts for parts in segmentations(text, scores.__contains__) if len(parts) > 1)
    best = max((sum(map(scores.get, parts)) for parts in ways), default=-math.inf)
    assert spelled_otherwise(text, scores) == pytest.approx(best)
