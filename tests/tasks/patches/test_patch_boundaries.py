"""How patches are measured: boundaries against sets, and by hand."""

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.patches.measures import NOTHING, Lengths, agreement, quality
from tasks.patches.texts import Text
from tokenlab.tokenizers.hierarchical import learn_hierarchical


@st.composite
def cut_texts(draw):
    """The patches of a text and its words: runs of bytes with gaps of none to three between them."""
    place, words = draw(st.integers(0, 2)), []
    for _ in range(draw(st.integers(0, 5))):
        end = place + draw(st.integers(1, 5))
        words.append((place, end))
        place = end + draw(st.integers(0, 3))
    size = max(place, 1)
    cuts = draw(st.sets(st.integers(1, max(1, size - 1)), max_size=8)) if size > 1 else set()
    return np.array([0, *sorted(cuts)]), np.array(words, np.int64).reshape(-1, 2)


def plain_agreement(starts, words):
    """Every cut, gap and word by itself."""
    cuts, words = {int(start) for start in starts} - {0}, words.tolist()
    gaps = [set(range(one[1], other[0] + 1)) for one, other in pairwise(words)]
    insides = [set(range(begin + 1, end)) for begin, end in words]
    hit = [bool(gap & cuts) for gap in gaps]
    wrong = sum(len(inside & cuts) for inside in insides)
    both = sum(
        not inside & cuts and (number == 0 or hit[number - 1]) and (number == len(gaps) or hit[number])
        for number, inside in enumerate(insides)
    )
    if not words:
        return (0, 0, 0), (0, 0, 0)
    return (len(words), 1 + sum(hit) + wrong, both), (len(gaps), sum(hit) + wrong, sum(hit))


@given(cut_texts(), cut_texts())
def test_agreement_by_sets_and_its_sums(text, other):
    one, two = plain_agreement(*text), plain_agreement(*other)
    assert agreement(*text) == one
    sums = tuple(tuple(map(sum, zip(*counts, strict=True))) for counts in zip(one, two, strict=True))
    assert NOTHING + agreement(*text) + agreement(*other) == sums


TEXTS = {b"the cat": [0, 3], "日本".encode(): [0, 3], b"aaaa": [0, 1]}


def measured(hierarchical):
    lengths = Lengths(hierarchical)
    for data, starts in TEXTS.items():
        lengths.add(data, np.array(starts), 2)
    return lengths


def test_lengths_in_symbols():
    """With the markers; at S = 3 "the" and " cat" need merges."""
    merges = {longest: learn_hierarchical([b"the", b" cat", b"aaa"], longest) for longest in (3, 8)}
    lengths = measured(merges)
    for longest, found in merges.items():
        symbols = [
            len(found.encode(data[begin:end]))
            for data, starts in TEXTS.items()
            for begin, end in zip(starts, [*starts[1:], len(data)], strict=True)
        ]
        facts = lengths.facts(longest)
        assert facts["symbols_made"] == sum(symbols)
        assert facts["symbols_per_patch"] == sum(symbols) / 6
        assert facts["bytes_per_patch"] == 17 / 6
        rows = [row for row in lengths.histogram() if row["longest"] == longest]
        assert {row["length"]: row["patches"] for row in rows} == Counter(symbols)
        assert all(row["unit"] == "symbols" for row in rows)
    assert lengths.facts(8)["symbols_made"] == 17 + 6 > lengths.facts(3)["symbols_made"]


def test_quality_with_gold_words():
    gold = [Text("a", "日本語".encode(), np.array([[0, 6], [6, 9]])), Text("b", b"xy", np.array([[0, 2]]))]
    starts = [np.array([0, 3, 6]), np.array([0])]
    test = [b"the cat sat"]
    found = quality(gold, starts, test, [np.array([0, 4, 9])])
    assert found == {
        "fertility": 4 / 3,
        "gold_precision": 1 / 2,
        "gold_recall": 1.0,
        "gold_f1": 2 / 3,
        "word_f1": 2 * 2 / (3 + 4),
        "whitespace_precision": 1 / 2,
        "whitespace_recall": 1 / 2,
        "whitespace_f1": 1 / 2,
    }


def test_quality_without_gold_words_and_with_nothing_to_find():
    found = quality([], [], [b"word", b"  "], [np.array([0, 2]), np.array([0])])
    assert found.pop("fertility") == 3 and set(found.values()) == {None}
