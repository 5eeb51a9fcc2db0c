"""Candidates and runs against plain counting of substrings."""

from collections import Counter

import numpy as np
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_segmentation import split_units
from word_states import spellings, symbol

from tokenlab.segment.words import encoding
from tokenlab.segment.words.encoding import find_runs
from tokenlab.segment.words.fitting import _known
from tokenlab.segment.words.knowledge import encode
from tokenlab.segment.words.lexicon import NEW, NONE

ALPHABET = "中国人カーなกาี，。a 1"
RUN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー]+|\p{Thai}+")
texts = st.lists(st.text(st.sampled_from(ALPHABET), max_size=14), min_size=1, max_size=8).filter(
    lambda sentences: any(RUN.search(sentence) for sentence in sentences)
)


def runs_of(sentences):
    """Runs as lists of clusters; a cluster is of the script of its first code point."""
    found = []
    for sentence in sentences:
        before = None
        pieces = regex.split(r"(\s)", sentence)  # a mark after whitespace is a cluster of its own
        for cluster in (cluster for piece in pieces for cluster in split_units(piece, "cluster")):
            kind = "T" if regex.match(r"\p{Thai}", cluster) else "J" if RUN.match(cluster) else None
            if kind and kind == before:
                found[-1].append(cluster)
            elif kind:
                found.append([cluster])
            before = kind
    return found


def may_be_new(word):
    """Whether a span is a candidate though it occurs once."""
    least = 4 if regex.match(r"\p{Thai}", word[0]) else 2
    return len(word) <= least or all(regex.match(r"[\p{Katakana}ー]", cluster) for cluster in word)


@settings(max_examples=200)
@given(texts, texts, st.integers(2, 6))
def test_candidates_are_short_or_repeated_substrings(sentences, others, longest):
    known, text = _known(find_runs(sentences), longest)
    plain = runs_of(sentences)
    count = Counter(
        tuple(run[a : a + k]) for run in plain for k in range(1, longest + 1) for a in range(len(run) - k + 1)
    )
    expected = {"".join(word) for word, n in count.items() if may_be_new(word) or n >= 2}
    words = spellings(known)
    assert len(words) == len(set(words)) and set(words) == expected
    for spans, found in ((text.spans, plain), (encode(find_runs(others), known).spans, runs_of(others))):
        rows = iter(spans.tolist())
        for run in found:
            for a in range(len(run)):
                row = next(rows)
                for k in range(1, longest + 1):
                    word = run[a : a + k] if a + k <= len(run) else None
                    if word and "".join(word) in expected:
                        assert words[row[k - 1]] == "".join(word)
                    else:
                        assert row[k - 1] == (NEW if word and may_be_new(word) else NONE)
        assert next(rows, None) is None


def test_context_symbols():
    sentences = ["中国，人a1人 人คนа", "。中😀国‌"]
    runs = find_runs(sentences)
    known, text = _known(runs, 3)
    beside = [(symbol(known, a)[1], symbol(known, b)[1]) for a, b in zip(text.left, text.right, strict=True)]
    assert beside == [
        ("edge", "，"), ("，", "whole"), ("whole", "edge"), ("edge", "other"), ("other", "whole"), ("。", "😀"),
        ("😀", "edge"),
    ]  # fmt: skip
    other = encode(find_runs(["！中，"]), known)
    assert (symbol(known, other.left[0])[1], symbol(known, other.right[0])[1]) == ("unknown", "，")
    assert spellings(known)[: len(known.units.clusters)] == known.units.clusters


def test_segments_outside_of_runs_stand(monkeypatch):
    monkeypatch.setattr(encoding, "LONGEST_RUN", 3)
    runs = find_runs(["ab中国人民1", "，， 中  c"])
    assert np.diff(runs.first).tolist() == [3, 1, 1]
    nothing = np.zeros(len(runs.place), bool)
    assert runs.segmentation(nothing).text() == "ab 中国人 民 1\n， ， 中 c\n"
    assert runs.segmentation(~nothing).text() == "ab 中 国 人 民 1\n， ， 中 c\n"
