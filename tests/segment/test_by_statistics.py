"""Segmentation against plain implementations over strings, and against every possible segmentation."""

import math
from dataclasses import replace
from itertools import accumulate, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_segmentation import plain_segments, utility_table
from plain_words import segmentations

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.ngrams import StatisticsOptions, ngram_statistics
from tokenlab.segment import Segmenter, SegmentOptions, utilities

alphabet = "中国人民的在日一，。“a1. カな○々"
# Clusters of several code points, of spaced and unspaced scripts and of none, and what breaks them apart.
composing = "กทีำ่ษကာ္ཀིe\u0302\u0301क\u094dी각\u1100\u1161\u11a8👩🏽\u200d\u200c\u200b\u0600🇫🇷\ufe0fー"
sentences = st.lists(st.text(st.sampled_from(alphabet), min_size=1, max_size=15), min_size=1, max_size=6) | st.lists(
    st.text(st.sampled_from(composing + " 中カ。a1"), min_size=1, max_size=15), min_size=1, max_size=6
)
option_sets = st.builds(
    SegmentOptions,
    weight=st.sampled_from([0.0, 0.5, 1.0, 4.0, 15.0]),
    entropy_only=st.booleans(),
    single_character=st.sampled_from(["literal", "self", 0.0, 2.5, 9.0, -1.0]),
    decoder=st.sampled_from(["viterbi", "greedy"]),
    isolate=st.sampled_from(["script", "punctuation", "none"]),
    tie=st.sampled_from(["short", "long"]),
    vbe_weight=st.sampled_from([0.0, 0.5, 2.0]),
) | st.builds(
    SegmentOptions,
    single_character=st.just("fallback"),
    decoder=st.just("greedy"),
    isolate=st.sampled_from(["script", "punctuation", "none"]),
    tie=st.sampled_from(["short", "long"]),
)
option_sets |= st.builds(SegmentOptions, isolate=st.just("script"), split_kana=st.just(True))


@settings(max_examples=200)
@given(
    sentences, sentences, option_sets, st.integers(1, 6), st.integers(1, 2), st.sampled_from(["cluster", "character"])
)
def test_equals_plain_implementation(seen, text, options, n_max, min_frequency, unit):
    if not "".join(seen).strip():
        seen = ["中"]
    statistics = ngram_statistics(seen, StatisticsOptions(n_max=n_max, min_frequency=min_frequency, unit=unit))
    segmenter = Segmenter(statistics, options)
    table = utility_table(statistics, options)
    text = text + seen
    expected = [plain_segments(sentence, options, table, n_max, unit) for sentence in text]
    (batch,) = segmenter.segment(text)
    actual = [[sentence[a:b] for a, b in spans] for sentence, spans in zip(text, batch.spans(), strict=True)]
    assert actual == expected
    assert batch.text() == "".join(" ".join(segments) + "\n" for segments in expected)
    assert [segmenter.spans(sentence) for sentence in text] == batch.spans()


@settings(max_examples=75)
@given(
    st.lists(st.text(st.sampled_from("中国人"), min_size=1, max_size=9), min_size=1, max_size=5),
    option_sets,
    st.data(),
)
def test_boundary_scores_are_added_where_a_segment_begins(seen, options, data):
    """The best of all segmentations by the sum of length times utility and of the scores at every beginning."""
    if options.single_character == "fallback":
        return
    options = replace(options, decoder="viterbi", isolate="none", split_kana=False)
    statistics = ngram_statistics(seen, StatisticsOptions(n_max=4))
    table = utility_table(statistics, options)
    numbers = st.sampled_from([-5.0, -1.5, 0.0, 0.25, 2.0, 40.0])
    scores = [data.draw(st.lists(numbers, min_size=len(text), max_size=len(text))) for text in seen]
    (batch,) = Segmenter(statistics, options).segment(seen, [np.array(values) for values in scores])
    for text, values, found in zip(seen, scores, batch.spans(), strict=True):
        sums = {}
        for segments in segmentations(text, table.__contains__):
            spans = tuple(pairwise(accumulate(map(len, segments), initial=0)))
            sums[spans] = sum((b - a) * table[text[a:b]] + values[a] for a, b in spans)
        assert sums[tuple(found)] >= max(sums.values()) - 1e-8


CLUSTERS = dict(zip("甲乙丙丁戊己", ["กำ", "ที่", "e\u0301", "क्षि", "ก", "a"], strict=True))
chains = st.lists(st.text(st.sampled_from("".join(CLUSTERS)), min_size=1, max_size=8), min_size=1, max_size=5)


def spelled(chain):
    return "".join(map(CLUSTERS.get, chain))


@settings(max_examples=100)
@given(chains, option_sets, st.booleans(), st.data())
def test_a_cluster_counts_like_one_character(seen, options, scored, data):
    """A text of clusters is segmented like the text that has a character of its own for each of them."""
    options = replace(options, isolate="none", split_kana=False)
    scores = clustered = None
    if scored and options.decoder == "viterbi":
        numbers = st.sampled_from([-5.0, -1.5, 0.0, 0.25, 2.0, 40.0])
        scores = [data.draw(st.lists(numbers, min_size=len(chain), max_size=len(chain))) for chain in seen]
        # Scores inside a cluster have no meaning.
        clustered = [
            np.concatenate([[score] + [99.0] * (len(CLUSTERS[c]) - 1) for c, score in zip(chain, values, strict=True)])
            for chain, values in zip(seen, scores, strict=True)
        ]
        scores = [np.array(values) for values in scores]
    (plain,) = Segmenter(ngram_statistics(seen), options).segment(seen, scores)
    texts = [spelled(chain) for chain in seen]
    (found,) = Segmenter(ngram_statistics(texts), options).segment(texts, clustered)
    expected = [[spelled(word) for word in line.split()] for line in plain.text().splitlines()]
    assert [line.split() for line in found.text().splitlines()] == expected


@settings(max_examples=100)
@given(chains, option_sets, st.data())
def test_boundary_scores_where_units_are_smaller_than_clusters(seen, options, data):
    """The best of all segmentations that cut no cluster, a cluster that is no candidate being a segment by itself."""
    options = replace(options, isolate="punctuation", split_kana=False, decoder="viterbi", single_character=1.0)
    statistics = ngram_statistics(map(spelled, seen), StatisticsOptions(n_max=4, unit="character"))
    table = utility_table(statistics, options)
    for chain in [*seen, "丙乙"]:
        units, text = [CLUSTERS[character] for character in chain], spelled(chain)
        values = data.draw(st.lists(st.sampled_from([-5.0, 0.25, 40.0]), min_size=len(text), max_size=len(text)))
        (batch,) = Segmenter(statistics, options).segment([text], [np.array(values)])
        sums = {}
        for cuts in product([False, True], repeat=len(units) - 1):
            edges = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), len(units)]
            places = [len("".join(units[:edge])) for edge in edges]
            spans = tuple(pairwise(places))
            lone = [b - a == 1 for a, b in pairwise(edges)]
            if all(text[a:b] in table or single for (a, b), single in zip(spans, lone, strict=True)):
                sums[spans] = sum((b - a) * table.get(text[a:b], 0.0) + values[a] for a, b in spans)
        assert sums[tuple(batch.spans()[0])] >= max(sums.values()) - 1e-8


@settings(max_examples=100)
@given(sentences, sentences, option_sets)
def test_boundary_scores_of_nan_change_nothing(seen, text, options):
    if options.decoder == "greedy" or not "".join(seen).strip():
        return
    segmenter = Segmenter(ngram_statistics(seen), options)
    (plain,) = segmenter.segment(text)
    (given,) = segmenter.segment(text, [np.full(len(sentence), np.nan, np.float32) for sentence in text])
    assert given.spans() == plain.spans()


def test_bad_boundary_scores():
    statistics = ngram_statistics(["天地"])
    with pytest.raises(ParameterError, match="decoder `viterbi`"):
        list(Segmenter(statistics, SegmentOptions(decoder="greedy")).segment(["天"], [np.zeros(1)]))
    for scores in ([np.zeros(1)], [np.zeros(1), np.zeros(3)]):
        with pytest.raises(InputError, match=r"sentence 2: 2 characters but [03]"):
            list(Segmenter(statistics).segment(["天", "天地"], scores))
    with pytest.raises(InputError, match="more boundary scores"):
        list(Segmenter(statistics).segment(["天"], [np.zeros(1), np.zeros(1)]))


def test_variation_worked_by_hand():
    statistics = ngram_statistics(["ab", "ac", "ab"])
    # Characters a b c with counts 3 2 1; behind a stand b b c; nothing stands behind b or c.
    at_start = -(3 / 6 * math.log(3 / 6) + 2 / 6 * math.log(2 / 6) + 1 / 6 * math.log(1 / 6))
    behind_a = -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))
    with_it, without = (utilities(statistics, SegmentOptions(weight=0.0, vbe_weight=mu)) for mu in (1.0, 0.0))
    # On one side a, b and c have no neighbour at all; b and c end what a opened.
    assert list(with_it - without) == pytest.approx([-at_start] * 3 + [-behind_a] * 2)


def test_unseen_characters_and_long_texts():
    segmenter = Segmenter(ngram_statistics(["天地玄黄"]))
    assert segmenter.spans("天地人天地") == [(0, 2), (2, 3), (3, 5)]
    assert segmenter.spans("") == [] and segmenter.spans(" \u3000") == []
    many = ["天地玄黄" * 50] * 3000  # several batches
    batches = list(segmenter.segment(many))
    assert len(batches) > 1
    assert [spans for batch in batches for spans in batch.spans()] == [segmenter.spans(many[0])] * 3000


def test_lone_surrogate_is_an_error():
    with pytest.raises(InputError, match=r"U\+DC80"):
        Segmenter(ngram_statistics(["天"])).spans("天\udc80")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"weight": -1.0}, "lambda"),
        ({"weight": 1e7}, "lambda"),
        ({"vbe_weight": -0.5}, "vbe_weight"),
        ({"single_character": "paper"}, "single_character"),
        ({"single_character": "fallback"}, "greedy"),
    ],
)
def test_options_are_checked(values, message):
    with pytest.raises(ParameterError, match=message):
        SegmentOptions(**values)
