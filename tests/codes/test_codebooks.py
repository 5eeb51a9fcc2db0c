"""Random codebooks."""

import numpy as np
import pytest

from tokenlab.codes.baselines import random_codebook
from tokenlab.codes.corpus import character_corpus
from tokenlab.codes.options import CodeShape
from tokenlab.generated import generate


def test_random_codes_are_a_permutation_or_a_sample_without_a_list():
    corpus = character_corpus(document.text for document in generate("en", sentences=300, seed=1))
    size = len(corpus.characters)
    code = random_codebook(corpus, CodeShape(2, 9, 7))
    assert code.assigned.tolist() == np.random.default_rng(7).permutation(81)[:size].tolist()
    huge = random_codebook(corpus, CodeShape(9, 60, 7))  # 10^16 codes.
    assert len(set(huge.assigned.tolist())) == size and huge.assigned.min() >= 0 and huge.assigned.max() < 60**9
    assert huge.assigned.tolist() == random_codebook(corpus, CodeShape(9, 60, 7)).assigned.tolist()
    assert huge.assigned.mean() == pytest.approx(60**9 / 2, rel=0.25)
    text = next(iter(corpus.texts()))
    assert huge.decode(huge.encode(text)) == text
