"""Segmentation against plain implementations over strings, and against every possible segmentation."""

import math
import unicodedata
from itertools import product

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenlab.errors import InputError, ParameterError
from tokenlab.ngrams import StatisticsOptions, ngram_statistics
from tokenlab.segment import Segmenter, SegmentOptions, utilities


def utility_table(statistics, options):
    """{ngram: utility} by the definitions of the options, from the columns of the statistics."""
    table = {}
    for n in range(1, statistics.options.n_max + 1):
        for points, row in zip(statistics.code_points(n), range(*statistics.rows(n).indices(10**9)), strict=True):
            context = min(statistics.left_entropy[row], statistics.right_entropy[row])
            weighted = context if options.entropy_only else options.weight * context
            if n > 1:
                value = weighted if options.entropy_only else statistics.min_pmi[row] + weighted
            elif options.single_character == "literal":
                value = weighted
            elif options.single_character == "fallback":
                value = -math.inf
            elif options.entropy_only:
                value = 0.0
            elif options.single_character == "self":
                value = math.log(statistics.tokens / statistics.count[row])
            else:
                value = options.single_character
            table["".join(map(chr, points))] = value
    return table


def pieces(sentence, options, table):
    """(text, is segmented by statistics) of the stretches that no segment crosses."""
    if options.isolate == "script":
        pattern = r"[0-9A-Za-z０-９Ａ-Ｚａ-ｚ.．%％@·]+|[\p{Script=Han}○]+|\S"
        found = [m.group() for m in regex.finditer(pattern, sentence) if m.group().strip()]
        found = [(text, bool(regex.match(r"[\p{Script=Han}○]", text))) for text in found]
    else:
        found = [(text, True) for text in sentence.split()]
    for text, free in found:
        if not free:
            yield text, False
        else:
            for part in regex.findall(r"\p{Co}|\P{Co}+", "".join(c if c in table else "\ue000" for c in text)):
                yield part, part != "\ue000"


def candidates(text, start, options, table, n_max):
    for n in range(1, min(n_max, len(text) - start) + 1):
        span = text[start : start + n]
        if n > 1 and options.isolate == "punctuation" and any(unicodedata.category(c)[0] in "PSZ" for c in span):
            continue
        if span in table:
            yield n, table[span]


def plain_greedy(text, options, table, n_max):
    start, lengths = 0, []
    while start < len(text):
        best = None
        for n, value in candidates(text, start, options, table, n_max):
            if (
                best is None
                or value > best[1] + 1e-9
                or (options.tie == "long" and value > -math.inf and value >= best[1] - 1e-9)
            ):
                best = (n, value)
        lengths.append(best[0])
        start += best[0]
    return lengths


def plain_viterbi(text, options, table, n_max):
    best = [(0.0, 0)]
    for stop in range(1, len(text) + 1):
        chosen = None
        for n in range(1, min(n_max, stop) + 1):
            value = dict(candidates(text, stop - n, options, table, n_max)).get(n)
            if value is None:
                continue
            total = best[stop - n][0] + n * value
            if chosen is None or total > chosen[0] + 1e-9 or (options.tie == "long" and total >= chosen[0] - 1e-9):
                chosen = (total, n)
        best.append(chosen)
    lengths, stop = [], len(text)
    while stop:
        lengths.append(best[stop][1])
        stop -= best[stop][1]
    return lengths[::-1]


def plain_segments(sentence, options, table, n_max):
    segments = []
    for run in sentence.split():
        start = 0
        for text, free in pieces(run, options, table):
            decode = plain_viterbi if options.decoder == "viterbi" else plain_greedy
            for n in decode(text, options, table, n_max) if free else [len(text)]:
                segments.append(run[start : start + n])
                start += n
    return segments


alphabet = "中国人民的在日一，。“a1. カな○々"
sentences = st.lists(st.text(st.sampled_from(alphabet), min_size=1, max_size=15), min_size=1, max_size=6)
option_sets = st.builds(
    SegmentOptions,
    weight=st.sampled_from([0.0, 0.5, 1.0, 4.0, 15.0]),
    entropy_only=st.booleans(),
    single_character=st.sampled_from(["literal", "self", 0.0, 2.5, 9.0, -1.0]),
    decoder=st.sampled_from(["viterbi", "greedy"]),
    isolate=st.sampled_from(["script", "punctuation", "none"]),
    tie=st.sampled_from(["short", "long"]),
) | st.builds(
    SegmentOptions,
    single_character=st.just("fallback"),
    decoder=st.just("greedy"),
    isolate=st.sampled_from(["script", "punctuation", "none"]),
    tie=st.sampled_from(["short", "long"]),
)


@settings(max_examples=400, deadline=None)
@given(sentences, sentences, option_sets, st.integers(1, 6), st.integers(1, 2))
def test_equals_plain_implementation(seen, text, options, n_max, min_frequency):
    if not "".join(seen).strip():
        seen = ["中"]
    statistics = ngram_statistics(seen, StatisticsOptions(n_max=n_max, min_frequency=min_frequency))
    segmenter = Segmenter(statistics, options)
    table = utility_table(statistics, options)
    expected = [plain_segments(sentence, options, table, n_max) for sentence in text]
    (batch,) = segmenter.segment(text)
    actual = [[sentence[a:b] for a, b in spans] for sentence, spans in zip(text, batch.spans(), strict=True)]
    assert actual == expected
    assert batch.text() == "".join(" ".join(segments) + "\n" for segments in expected)
    assert [segmenter.spans(sentence) for sentence in text] == batch.spans()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.sampled_from("中国人"), min_size=1, max_size=9), min_size=1, max_size=5), option_sets)
def test_viterbi_is_the_best_of_all_segmentations(seen, options):
    if options.single_character == "fallback":
        return
    options = SegmentOptions(**{**vars(options), "decoder": "viterbi", "isolate": "none"})
    statistics = ngram_statistics(seen, StatisticsOptions(n_max=4))
    table = utility_table(statistics, options)
    text = seen[0]
    sums = {}
    for cuts in product([False, True], repeat=len(text) - 1):
        edges = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), len(text)]
        spans = tuple(zip(edges, edges[1:]))  # noqa: B905, RUF007
        if all(text[a:b] in table for a, b in spans):
            sums[spans] = sum((b - a) * table[text[a:b]] for a, b in spans)
    found = tuple(Segmenter(statistics, options).spans(text))
    assert sums[found] >= max(sums.values()) - 1e-8


def test_utilities_agree_with_their_definition():
    statistics = ngram_statistics(["天地玄黄宇宙", "天地人"])
    for options in (
        SegmentOptions(weight=2.0),
        SegmentOptions(entropy_only=True, single_character="self"),
        SegmentOptions(single_character="self"),
    ):
        table = utility_table(statistics, options)
        np.testing.assert_allclose(utilities(statistics, options), list(table.values()), rtol=0, atol=1e-12)


def test_self_in_bits():
    statistics = ngram_statistics(["天地"], StatisticsOptions(log_base="2"))
    assert utilities(statistics, SegmentOptions(single_character="self"))[0] == pytest.approx(math.log2(3))


def test_ties_are_structural():
    # Every bigram of a text seen once has the PMI of its trigram, and all their entropies are 0.
    statistics = ngram_statistics(["天地玄黄"])
    for tie, expected in (("short", [(0, 2), (2, 4)]), ("long", [(0, 4)])):
        options = SegmentOptions(decoder="greedy", tie=tie, isolate="none")
        assert Segmenter(statistics, options).spans("天地玄黄") == expected


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
        ({"weight": math.nan}, "lambda"),
        ({"decoder": "beam"}, "decoder"),
        ({"isolate": "han"}, "isolate"),
        ({"tie": "first"}, "tie"),
        ({"single_character": "paper"}, "single_character"),
        ({"single_character": math.inf}, "single_character"),
        ({"single_character": "fallback"}, "greedy"),
    ],
)
def test_options_are_checked(values, message):
    with pytest.raises(ParameterError, match=message):
        SegmentOptions(**values)
