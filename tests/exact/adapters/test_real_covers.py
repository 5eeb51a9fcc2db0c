"""Covers of real texts in real tokenizers, against brute force over continuations with the tokenizer's own engine."""

from pathlib import Path

import numpy as np
import pytest
from engine_covers import assert_exact_covers
from real_tokenizers import real_lines

from tokenlab.core.errors import InputError
from tokenlab.exact.adapters.probes import NAMED
from tokenlab.exact.adapters.real import RealTokenizer

LONGEST = 90


def encodable(real: RealTokenizer, text: str) -> bool:
    try:
        real.automaton.encode(text.encode())
    except InputError:
        return False
    return True


def compare(real: RealTokenizer, texts: list[str], cuts: int, seed: int) -> int:
    random, compared = np.random.default_rng(seed), 0
    for text in texts:
        data = text.encode()
        chosen = sorted({int(cut) for cut in random.integers(1, min(len(data), LONGEST) + 1, cuts)})
        compared += assert_exact_covers(real, data, chosen, random)
    return compared


@pytest.mark.slow
def test_lines_of_all_languages(real: RealTokenizer, mirror: Path) -> None:
    count = 60 if real.name == "cluecorpussmall" else 30  # of the former, few can be encoded
    texts = [text for text in real_lines(mirror, count) if text and encodable(real, text)]
    assert len(texts) >= (10 if real.name == "cluecorpussmall" else count)
    assert compare(real, texts, cuts=1, seed=0) > 3 * len(texts)


@pytest.mark.slow
def test_named_cases_at_every_byte(real: RealTokenizer) -> None:
    random = np.random.default_rng(1)
    texts = [text for group in NAMED.values() for text in group if encodable(real, text)]
    for text in texts:
        data = text.encode()
        assert_exact_covers(real, data, list(range(1, min(len(data), 24) + 1)), random, most=3)


@pytest.mark.slow
def test_a_thousand_lines(real: RealTokenizer, mirror: Path) -> None:
    texts = [text for text in real_lines(mirror, 1080, first=2000) if text and encodable(real, text)]
    if real.name == "cluecorpussmall":  # refused but for its normaliser; Chinese alone, and slow
        assert compare(real, texts[:100], cuts=1, seed=2) > 300
    else:
        assert len(texts) >= 1000
        assert compare(real, texts, cuts=1, seed=2) > 5_000
