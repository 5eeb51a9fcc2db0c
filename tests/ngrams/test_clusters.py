"""Clusters against `\\X` of the module regex and the rule of what else is kept together, written plainly."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from plain_segmentation import split_clusters
from unicode_text import SENTENCES, text

from tokenlab.ngrams.clusters import cluster_starts
from tokenlab.text.code_points import code_points


def clusters(whole):
    edges = [*np.flatnonzero(cluster_starts(code_points(whole))).tolist(), len(whole)]
    return [whole[start:end] for start, end in pairwise(edges)]


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(text)
def test_equals_regex_over_unicode(whole):
    assert clusters(whole) == split_clusters(whole)


@pytest.mark.parametrize("language", SENTENCES)
def test_sentences_of_many_scripts(language):
    assert clusters(SENTENCES[language]) == split_clusters(SENTENCES[language])


@pytest.mark.parametrize(
    "expected",
    [
        ["กำ", "ลั", "ง"],
        ["e\u0302\u0301", "a"],
        ["क्षि", "ति", "क्\u200c", "क", "क्\u0308\u200dक"],
        ["\u1112\u1161\u11ab", "\u1100\u116e\u11a8", "한", "각\u11a8"],
        ["👩‍👩‍👧‍👦", "👍🏽", "❤️", "1️⃣"],
        ["เเม่", "โร", "ง", "จะ", "มา", "ເທ", "ດ", "ລາ", "ว"],
        ["သား", "ကြီး", "များ", "တ္တ", "ប្រ", "ទេ"],
        ["一ヶ", "月", "しょ", "う", "スー", "がー", "「", "っ", "て", "A", "ー"],
        ["👩\u200d\u0308", "👩\u200d\u200d", "👩\u0308\u200d👩"],
        ["🇫🇷", "🇩🇪", "🇯", "x"],
        ["\u0600١", "٢"],
        ["\u0301", "a"],
        [" ", "\u0301", "\r", "\n", "\u3000", "\u200d", "\u0600", "\t", "a"],
        [],
    ],
)
def test_by_hand(expected):
    assert clusters("".join(expected)) == expected
