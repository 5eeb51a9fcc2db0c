"""The start of the sampler: the words of a segmentation, put together anew by their own probabilities."""

from collections import Counter
from itertools import pairwise
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from word_states import make_state

from tokenlab.segment.words.fitting import recut

texts = st.lists(st.text("中国人民の，a", min_size=1, max_size=8), min_size=1, max_size=6).filter(
    lambda sentences: set("".join(sentences)) & set("中国人民の")
)


def spans(lengths, first, last):
    starts = [t for t in range(first, last) if lengths[t]]
    return list(pairwise([*starts, last]))


@settings(max_examples=150)
@given(texts, st.integers(0, 10**6))
def test_the_largest_sum_over_words_of_the_segmentation_before(sentences, seed):
    random = np.random.default_rng(seed)
    state = make_state(sentences, lambda n: int(random.integers(n)))
    text = state.text
    found = recut(text, state.lengths, len(state.known.lexicon))
    runs = list(pairwise(text.first.tolist()))
    counts = Counter(tuple(text.units[a:b]) for run in runs for a, b in spans(state.lengths, *run))
    total = counts.total()

    def score(word):
        if word in counts or len(word) == 1:
            return log(max(counts[word], 0.3) / total) + 3.5
        return None

    for a, b in runs:
        assert [t for t in range(a, b) if found[t]] == [start for start, _ in spans(found, a, b)]
        best = [0.0]
        for end in range(a + 1, b + 1):
            steps = [(best[t - a], score(tuple(text.units[t:end]))) for t in range(max(a, end - 4), end)]
            best.append(max(before + value for before, value in steps if value is not None))
        ours = sum(score(tuple(text.units[s:e])) for s, e in spans(found, a, b))
        assert ours == pytest.approx(best[-1], abs=1e-4)  # scores of spans are float32
