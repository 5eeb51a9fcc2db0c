"""Texts and options for n-gram statistics, as strategies of hypothesis; and the comparison of two tables."""

import numpy as np
from hypothesis import strategies as st
from unicode_text import text

from tokenlab.ngrams import StatisticsOptions

alphabets = st.sampled_from(["ab的国\U00020000 \u3000\n", "กทีำ e\u0301क\u094d\u1100\u1161🇫\u200d\n"])
texts = st.lists(
    alphabets.flatmap(lambda alphabet: st.text(alphabet, max_size=12)) | text, min_size=1, max_size=6
).filter(lambda sentences: any(sentence.strip() for sentence in sentences))
all_options = st.builds(
    StatisticsOptions,
    n_max=st.integers(1, 7),
    count_tokens=st.sampled_from(["ngram", "unigram", "bigram"]),
    edge=st.sampled_from(["skip", "symbol"]),
    min_frequency=st.integers(1, 3),
    log_base=st.sampled_from(["e", "2"]),
    unit=st.sampled_from(["cluster", "character"]),
)


def assert_same_statistics(found, expected):
    """To the last bit."""
    for name in ("options", "tokens", "characters", "composed"):
        assert getattr(found, name) == getattr(expected, name)
    assert_same_columns(found, expected)


def assert_same_columns(found, expected):
    """Types included, but for that of the counts."""
    for name in ("level", "last", "parent", "count", "min_pmi", "left_entropy", "right_entropy"):
        pair = getattr(found, name), getattr(expected, name)
        np.testing.assert_array_equal(*pair, err_msg=name, strict=name != "count")
