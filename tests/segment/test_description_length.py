"""The description length against plain Python, and the search against every single change."""

import math
from collections import Counter

import numpy as np
import pytest

from tokenlab.core.errors import InputError
from tokenlab.ngrams.counting import ngram_statistics
from tokenlab.segment.by_statistics import Segmenter
from tokenlab.segment.description_length import (
    bits_of,
    change,
    code_of,
    decide,
    occurrences,
    search,
    segment_by_description_length,
)
from tokenlab.segment.words.lexicon import build_lexicon, remaining_units

TEXT = "abcabdabcaabcdbabcabcd"


def plain_bits(words):
    """The two-part code, from the words alone."""
    number, characters = Counter(words), Counter(c for word in set(words) for c in [*word, "end"])
    text = sum(n * math.log2(len(words) / n) for n in number.values())
    lexicon = sum(m * math.log2(characters.total() / m) for m in characters.values())
    return text + lexicon + len(number) / 2 * math.log2(len(words))


def make(lengths):
    units = np.array([ord(c) - ord("a") for c in TEXT], np.int32)
    first = np.array([0, len(units)])
    lexicon, spans = build_lexicon(units, remaining_units(first), np.full(len(units), 2, np.int8), 4, 4)
    return lexicon, spans, code_of(lexicon, spans, lengths)


def words_of(lengths):
    return [TEXT[i : i + k] for i, k in enumerate(lengths[: len(TEXT)].tolist()) if k]


def random_lengths(spans, seed):
    random, lengths, t = np.random.default_rng(seed), np.zeros(len(TEXT), np.int8), 0
    while t < len(TEXT):
        lengths[t] = random.choice([k for k in range(1, 5) if spans[t, k - 1] >= 0])
        t += lengths[t]
    return lengths


@pytest.mark.parametrize("seed", range(8))
def test_bits_are_those_of_the_formula(seed):
    lexicon, spans, _ = make(np.ones(len(TEXT), np.int8))
    *_, code = make(random_lengths(spans, seed))
    assert bits_of(code.sums) == pytest.approx(plain_bits(words_of(code.lengths)), rel=1e-12)
    before = bits_of(code.sums)
    for by in (3, -3):
        change(code, lexicon.prefix, lexicon.last_parts[0], lexicon.units, len(lexicon) - 1, by)
    assert bits_of(code.sums) == pytest.approx(before, rel=1e-12)


def changes(words, string):
    """What one decision can make of `words`: the string joined wherever it fits, or its words cut at one place."""
    joined, i = [], 0
    while i < len(words):
        for j in range(i + 1, len(words) + 1):
            if "".join(words[i:j]) == string:
                joined.append(string)
                i = j
                break
        else:
            joined.append(words[i])
            i += 1
    yield joined
    if string in words:
        for cut in range(1, len(string)):
            yield [part for word in words for part in ((word[:cut], word[cut:]) if word == string else (word,))]


@pytest.mark.parametrize("seed", range(8))
def test_a_decision_is_the_best_of_all_changes_of_a_string(seed):
    lexicon, spans, _ = make(np.ones(len(TEXT), np.int8))
    offsets, places = occurrences(spans, lexicon.units, len(lexicon))
    lengths = random_lengths(spans, seed)
    for word in range(lexicon.units, len(lexicon)):
        where, length = places[offsets[word] : offsets[word + 1]], int(lexicon.lengths[word])
        string = TEXT[where[0] : where[0] + length]
        assert where.tolist() == [i for i in range(len(TEXT)) if TEXT.startswith(string, i)]
        *_, code = make(lengths)
        words = words_of(lengths)
        decide(spans, lexicon.prefix, lexicon.last_parts[0], lexicon.units, word, length, where, code)
        best = min(map(plain_bits, [words, *changes(words, string)]))
        assert plain_bits(words_of(code.lengths)) == pytest.approx(best, rel=1e-9)
        assert bits_of(code.sums) == pytest.approx(best, rel=1e-9)


def test_search_ends_where_no_change_helps():
    lexicon, spans, _ = make(np.ones(len(TEXT), np.int8))
    *_, code = make(random_lengths(spans, 1))
    where = occurrences(spans, lexicon.units, len(lexicon))
    assert search(spans, lexicon.prefix, lexicon.last_parts[0], lexicon.level, code, *where, 50) < 50
    words, least = words_of(code.lengths), plain_bits(words_of(code.lengths))
    for word in range(lexicon.units, len(lexicon)):
        place = where[1][where[0][word]]
        string = TEXT[place : place + lexicon.lengths[word]]
        assert all(plain_bits(other) > least - 1e-5 for other in changes(words, string))


def test_text(chinese_sentences):
    sentences = chinese_sentences[:200]
    found = segment_by_description_length(sentences)
    assert found.sentences() == sentences
    assert found.text() == segment_by_description_length(sentences).text()
    (by_statistics,) = Segmenter(ngram_statistics(sentences)).segment(sentences)
    assert plain_bits(found.text().split()) < plain_bits(by_statistics.text().split())
    with pytest.raises(InputError, match="without spaces"):
        segment_by_description_length(["abc"])
