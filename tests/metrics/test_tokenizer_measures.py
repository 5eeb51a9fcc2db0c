from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenlab.core.errors import InputError
from tokenlab.metrics import gini, of_tokenizer, perceived_tps, registry, relative_gain, tokens_per_second
from tokenlab.metrics.tokenizer_measures import TokenizerCounts

COUNTS = TokenizerCounts(
    texts=2,
    characters=30,
    bytes=60,
    tokens=15,
    types=np.array([7, 5, 3]),
    vocabulary=12,
    byte_tokens=3,
    unknown_tokens=6,
    words=10,
    whole_words=4,
    reference_tokens=12,
    parallel_tokens=20,
)


def test_ratios_by_hand():
    values = of_tokenizer(COUNTS)
    expected = {
        "tokens": 15,
        "fertility": 1.5,
        "words_kept_whole": 0.4,
        "characters_per_token": 2.0,
        "bytes_per_token": 4.0,
        "tokens_per_text": 7.5,
        "normalised_length": 1.25,
        "parity": 0.75,
        "vocabulary_used": 0.25,
        "byte_token_rate": 0.2,
        "unknown_rate": 0.4,
    }
    assert {name: values[name] for name in expected} == expected
    assert list(values) == [metric.name for metric in registry.TOKENIZERS]


def test_what_was_not_counted_is_undefined():
    counts = replace(COUNTS, vocabulary=None, words=None, whole_words=None, byte_tokens=None, reference_tokens=0)
    values = of_tokenizer(counts)
    undefined = {name for name, value in values.items() if value is None}
    words = {"fertility", "words_kept_whole"}
    assert undefined == words | {"normalised_length", "vocabulary_used", "byte_token_rate", "renyi_efficiency"}


@settings(max_examples=100)
@given(st.lists(st.just(0.0) | st.floats(1e-6, 1e6), min_size=2, max_size=12).filter(any), st.floats(0.01, 100))
def test_gini_equals_the_mean_difference_and_ignores_units(costs, factor):
    differences = np.abs(np.subtract.outer(costs, costs)).sum()
    assert gini(costs) == pytest.approx(differences / (2 * len(costs) ** 2 * np.mean(costs)), abs=1e-9)
    assert gini(costs[::-1]) == gini(costs)
    assert gini(np.array(costs) * factor) == pytest.approx(gini(costs), abs=1e-9)


def test_gini_is_undefined_below_two_languages():
    assert gini([]) is None and gini([2.0]) is None and gini([0, 0]) is None
    for wrong in ([1, -1], [1, float("nan")]):
        with pytest.raises(InputError, match="costs has"):
            gini(wrong)


def test_perceived_speed_of_the_paper():
    """Table 6, Korean: TPS 937.21 and relative gain 1.0225 give a perceived TPS of 958.28 (of rounded figures)."""
    assert perceived_tps(937.21, 1.0225, 1.0) == pytest.approx(958.28, abs=0.05)
    assert relative_gain(90, 60) == 1.5
    assert tokens_per_second(np.array([100, 30]), np.array([2.0, 3.0])).tolist() == [50.0, 10.0]
