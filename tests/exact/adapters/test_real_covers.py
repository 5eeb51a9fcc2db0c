"""Covers of real texts in real tokenizers, against brute force over continuations with the tokenizer's own engine."""

from pathlib import Path

import numpy as np
import pytest
from engine_covers import assert_exact_covers
from real_tokenizers import EXACT, QUICK, WITHOUT_NORMALIZER, all_names, real_lines, real_tokenizer

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


def compare(real: RealTokenizer, texts: list[str], seed: int) -> int:
    """The covers compared, at one place of each text."""
    random, compared = np.random.default_rng(seed), 0
    for text in texts:
        data = text.encode()
        compared += assert_exact_covers(real, data, [int(random.integers(1, min(len(data), LONGEST) + 1))], random)
    return compared


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_lines_of_all_languages(name: str, mirror: Path) -> None:
    real = real_tokenizer(name)
    texts = [text for text in real_lines(mirror, 30) if text and encodable(real, text)]
    assert len(texts) >= 30
    assert compare(real, texts, seed=0) > 3 * len(texts)


@pytest.mark.parametrize("name", all_names())
def test_named_cases_at_every_byte(name: str) -> None:
    real, random = real_tokenizer(name), np.random.default_rng(1)
    texts = [text for group in NAMED.values() for text in group if encodable(real, text)]
    for text in texts:
        data = text.encode()
        assert_exact_covers(real, data, list(range(1, min(len(data), 24) + 1)), random, most=3)


@pytest.mark.parametrize(
    ("name", "text"),
    [("gpt-neox", b"to |||EMAIL_ADDRESS|||"), ("mistral-v7", b"[REFERENCE_DOC_1][REFERENCE_DOC_12]")],
)
def test_prompts_that_end_inside_an_added_token(name: str, text: bytes) -> None:
    assert_exact_covers(real_tokenizer(name), text, list(range(1, len(text) + 1)), np.random.default_rng(5), most=4)


def test_tokens_that_no_text_reaches() -> None:
    """Spaces inside a token of GPT-NeoX are always found as an added token first."""
    real = real_tokenizer("gpt-neox")
    vocabulary = real.automaton.vocabulary
    inside = [id for id, token in enumerate(vocabulary.tokens) if token and b"\t  " in token]
    assert inside
    for id in inside[:20]:
        token = vocabulary.tokens[id] or b""
        for before in (b"", b"a", b"\n"):
            assert id not in real.automaton.encode(before + token)
    position = vocabulary.ids.tolist().index(inside[0])
    assert not real.automaton.allowed(real.automaton.start())[position]


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*EXACT, *WITHOUT_NORMALIZER])
def test_a_thousand_lines(name: str, mirror: Path) -> None:
    real = real_tokenizer(name)
    texts = [text for text in real_lines(mirror, 1080, first=2000) if text and encodable(real, text)]
    if name == "cluecorpussmall":  # refused but for its normaliser; Chinese alone, and slow
        assert compare(real, texts[:100], seed=2) > 300
    else:
        assert len(texts) >= 1000
        assert compare(real, texts, seed=2) > 5_000
