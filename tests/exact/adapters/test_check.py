"""The self-check: finds nothing in an exact automaton, and finds each way in which one can be wrong."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from real_tokenizers import all_names, real_tokenizer

from tokenlab.exact.adapters.check import check_tokenizer
from tokenlab.exact.adapters.hugging_face import from_tokenizer
from tokenlab.exact.adapters.probes import probe_texts
from tokenlab.exact.adapters.real import RealTokenizer
from tokenlab.generated.corpora import LANGUAGES, generate
from tokenlab.tokenizers.bpe import train_byte_level


def sentences(count: int = 20) -> list[str]:
    return [document.text for language in LANGUAGES for document in generate(language, sentences=count, seed=0)]


@pytest.fixture(scope="module")
def small() -> RealTokenizer:
    texts = [*probe_texts(), *sentences(10), "a\n\nb\n\nc", "x  y   z", "x\n\n\ny"] * 5
    return from_tokenizer(train_byte_level(texts, 600, ["<s>", "</s>"]), name="small")


def test_an_exact_tokenizer_passes(small: RealTokenizer) -> None:
    report = check_tokenizer(small, [*sentences(), "more text", "a lone surrogate \ud800"], walks=100)
    assert report.handled and report.failures == ()
    assert report.skipped == 1 and report.texts == len(probe_texts()) + len(sentences()) + 1
    assert report.prefixes > 3000 and report.contexts > 100
    assert (report.tokens, report.longest) == (598, small.automaton.vocabulary.longest)
    # 13 bytes are in no UTF-8; others are inside tokens that merging never makes.
    assert report.unreachable >= 13 and report.unreachable_examples[0] == "b'\\xc0' (126)"


def test_look_ahead_breaks_the_premise(small: RealTokenizer) -> None:
    report = check_tokenizer(small, ["\n\na", "a   b"], walks=10)
    assert not report.premise and report.most_contexts > 1
    assert "begins an encoding but is not that of its own text" in report.premise_example


class Wrong:
    """An automaton that differs from `inner` in some of its members."""

    def __init__(self, inner: Any, **members: Any) -> None:
        self.inner = inner
        self.__dict__.update(members)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def failures(real: RealTokenizer, walks: int = 100, **members: Any) -> set[str]:
    report = check_tokenizer(replace(real, automaton=Wrong(real.automaton, **members)), sentences(), walks=walks)
    assert not report.handled and report.failed >= len(report.failures) > 0
    return {failure.kind for failure in report.failures}


def test_a_token_that_is_wrongly_forbidden(small: RealTokenizer) -> None:
    token = small.automaton.encode(b"the cat")[0]
    position = int(np.flatnonzero(small.automaton.vocabulary.ids == token)[0])

    def allowed(state: Hashable) -> np.ndarray:
        mask = small.automaton.allowed(state).copy()
        mask[position] = False
        return mask

    assert failures(small, allowed=allowed) & {"not allowed", "other encodings"}


def test_every_token_allowed(small: RealTokenizer) -> None:
    everything = np.ones(len(small.automaton.vocabulary), bool)
    assert "allowed without a state" in failures(small, allowed=lambda state: everything)


def test_an_automaton_without_the_splits(small: RealTokenizer) -> None:
    """BPE alone, with the engine of the tokenizer that splits: 'a b' may merge across the space."""
    word = small.automaton._words._word
    kinds = failures(small, start=word.start, step=word.step, allowed=word.allowed, may_end=word.may_end)
    assert kinds & {"not allowed", "other encodings", "completed otherwise"}


@pytest.mark.slow
def test_ends_that_are_none(small: RealTokenizer) -> None:
    assert failures(small, may_end=lambda state: True) & {"ends inside a character", "other encodings"}
    inside, start = small.automaton.may_end, small.automaton.start()
    seen = failures(small, walks=0, may_end=lambda state: state != start and inside(state))
    assert "other encodings" in seen, "the empty text has an encoding"


def test_the_engine_of_another_tokenizer(small: RealTokenizer) -> None:
    encode = small.automaton.encode
    assert failures(small, encode=lambda text: [0] if b"the" in text else encode(text))


@pytest.mark.parametrize("name", all_names())
def test_published_tokenizers_pass(name: str) -> None:
    real = real_tokenizer(name)
    report = check_tokenizer(real, sentences(), walks=60)
    assert report.handled, report.failures
    assert report.texts > 80 and report.prefixes > 2500 and report.walks == 60
    assert report.tokens - report.unreachable > 0.9 * report.tokens
    split = real.name not in ("cluecorpussmall",) and not real.name.startswith("mistral")
    assert (report.most_contexts > 1) == split
    if name == "gpt2":
        assert not report.premise and report.premise_example.startswith(r"'\n'|'\n'")
    if name == "mistral-v7":
        assert report.premise and report.skipped == 1, "the text with U+2581"
        assert report.unreachable == 140, "byte pieces of characters that are pieces, and of no UTF-8"
