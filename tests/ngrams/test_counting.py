"""n-gram statistics against a plain count over strings that shares nothing with them."""

import math
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from ngram_texts import all_options, texts
from plain_segmentation import split_units
from unicode_text import SENTENCES

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.ngrams import StatisticsOptions, ngram_statistics


def plain_statistics(sentences, options):
    """{units of the ngram: (count, min_pmi, left, right)} by the definitions, with dictionaries."""
    runs = [tuple(split_units(run, options.unit)) for sentence in sentences for run in sentence.split()]
    counts, left, right = Counter(), defaultdict(Counter), defaultdict(Counter)
    for run in runs:
        for n in range(1, options.n_max + 1):
            for i in range(len(run) - n + 1):
                ngram = run[i : i + n]
                counts[ngram] += 1
                before = run[i - 1] if i else None
                after = run[i + n] if i + n < len(run) else None
                if before is not None or options.edge == "symbol":
                    left[ngram][before] += 1
                if after is not None or options.edge == "symbol":
                    right[ngram][after] += 1
    lengths = {"ngram": range(1, options.n_max + 1), "unigram": [1], "bigram": [2]}[options.count_tokens]
    tokens = sum(max(len(run) - n + 1, 0) for run in runs for n in lengths)
    log = math.log if options.log_base == "e" else math.log2

    def entropy(neighbours):
        total = sum(neighbours.values())
        return -sum(f / total * log(f / total) for f in neighbours.values())

    def pmi(a, b):
        pair = sum(run[i : i + 2] == (a, b) for run in runs for i in range(len(run) - 1))
        units = Counter(unit for run in runs for unit in run)
        return log(pair * tokens / (units[a] * units[b]))

    return tokens, {
        ngram: (
            count,
            min((pmi(a, b) for a, b in pairwise(ngram)), default=math.nan),
            entropy(left[ngram]),
            entropy(right[ngram]),
        )
        for ngram, count in counts.items()
        if len(ngram) == 1 or count >= options.min_frequency
    }


def units_of(symbols, statistics):
    """The units of an n-gram given as symbols."""
    return tuple(chr(x) if x < 0x110000 else statistics.composed[x - 0x110000] for x in symbols.tolist())


def as_dictionary(statistics):
    table = {}
    for n in range(1, statistics.options.n_max + 1):
        rows = range(*statistics.rows(n).indices(len(statistics)))
        for symbols, row in zip(statistics.code_points(n), rows, strict=True):
            table[units_of(symbols, statistics)] = (
                int(statistics.count[row]),
                statistics.min_pmi[row],
                statistics.left_entropy[row],
                statistics.right_entropy[row],
            )
    return table


@settings(max_examples=150, deadline=None)
@given(texts, all_options)
def test_equals_a_plain_count(sentences, options):
    statistics = ngram_statistics(sentences, options)
    tokens, expected = plain_statistics(sentences, options)
    actual = as_dictionary(statistics)
    assert statistics.tokens == tokens
    assert statistics.characters == sum(count for units, (count, *_) in expected.items() if len(units) == 1)
    assert actual.keys() == expected.keys()
    for ngram, values in expected.items():
        np.testing.assert_allclose(actual[ngram], values, rtol=0, atol=1e-12, err_msg="".join(ngram))


def test_worked_by_hand():
    statistics = as_dictionary(ngram_statistics(["abab", "ac"], StatisticsOptions(n_max=2)))
    # T = 6 unigrams + 4 bigrams; f(a) = 3, f(b) = 2, f(ab) = 2; behind a stand b, b, c.
    count, pmi, left, right = statistics["a", "b"]
    assert (count, left, right) == (2, 0.0, 0.0)
    assert pmi == pytest.approx(math.log(2 * 10 / (3 * 2)))
    assert statistics["a",][3] == pytest.approx(-2 / 3 * math.log(2 / 3) - 1 / 3 * math.log(1 / 3))
    assert statistics["b",][3] == 0.0


def test_rows_are_sorted_by_length_then_unit_by_unit():
    """Clusters of several code points come after all single ones."""
    statistics = ngram_statistics(["ba\U00020000的กีe\u0301", "abe\u0301\U00020000กี"])
    assert statistics.ngrams(1) == ["a", "b", "的", "\U00020000", "e\u0301", "กี"]
    for n in range(1, 4):
        rows = [[(len(unit) > 1, unit) for unit in units_of(row, statistics)] for row in statistics.code_points(n)]
        assert rows == sorted(rows) and len(set(map(tuple, rows))) == len(rows)


@pytest.mark.parametrize("unit", ["cluster", "character"])
def test_ngrams_are_the_text_of_the_rows(unit):
    statistics = ngram_statistics(SENTENCES.values(), StatisticsOptions(unit=unit))
    for n in range(1, 7):
        assert statistics.ngrams(n) == ["".join(units_of(row, statistics)) for row in statistics.code_points(n)]


@pytest.mark.parametrize("sentences", [[], [""], [" \u3000", "\t"]])
def test_no_character_is_an_error(sentences):
    with pytest.raises(InputError, match="no character"):
        ngram_statistics(sentences)


def test_lone_surrogate_is_an_error():
    with pytest.raises(InputError, match=r"U\+D800"):
        ngram_statistics(["a\ud800"])


@pytest.mark.parametrize(
    "values",
    [
        {"n_max": 0},
        {"n_max": 65},
        {"min_frequency": 0},
        {"count_tokens": "trigram"},
        {"edge": ""},
        {"log_base": "10"},
        {"unit": "byte"},
    ],
)
def test_options_are_checked(values):
    with pytest.raises(ParameterError, match=next(iter(values))):
        StatisticsOptions(**values)


def test_one_string_is_no_list_of_sentences():
    with pytest.raises(TypeError, match="not one"):
        ngram_statistics("abc")
