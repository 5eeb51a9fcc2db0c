"""GPT-2's real tokenizer and a random model: P(text) against all covers that its encodings of longer texts show."""

from functools import lru_cache

import numpy as np
import pytest
from brute_probabilities import TableModel
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from tokenlab.exact.adapters.reading import read_tokenizer
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.options import ExactOptions

END = 50256
CONTINUATIONS = ("", *"aesA \n1'.,é你😀", "  ", " a", "\n\n", "\na", "12", "'s")
TEXTS = ["Hello wor", "the  c", "it's", "it'", "a\n\n", "a\n\nb", "a  ", "12", "1234", "你", "é", "😀", "x 😀", " \n"]
SPACES = pytest.param(b"a  ", marks=pytest.mark.nightly)
"""30,000 tokens begin with a space: 600,000 texts to encode."""
CUT = ["你好".encode()[:4], "a 😀".encode()[:4], "é".encode()[:1], b"it\xe2\x80"]


@pytest.fixture(scope="module")
def real(mirror):
    return read_tokenizer(mirror / "gpt2")


@pytest.fixture(scope="module")
def tokenizer(mirror):
    """The tokenizer by the library alone."""
    model = models.BPE.from_file(str(mirror / "gpt2/encoder.json"), str(mirror / "gpt2/vocab.bpe"))
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def covers(tokenizer, vocabulary, text):
    """The shortest beginnings that cover the text, of the encodings of many longer texts.

    The longer texts are the text up to a place, then every token that begins with the rest, then every continuation;
    a character that is cut is completed in several ways.
    """
    longer = set()
    for start in range(max(0, len(text) - vocabulary.longest), len(text) + 1):
        low, high = vocabulary.beginning_with(text[start:]) if start < len(text) else (0, 0)
        for place in range(low, high):
            spelled = text[:start] + vocabulary.spelling(place)
            for filling in (b"", b"\x80", b"\xa0", b"\x80\x80", b"\xa0\x80", b"\x80\x80\x80", b"\xa0\x80\x80"):
                try:
                    whole = (spelled + filling).decode()
                except UnicodeDecodeError:
                    continue
                longer.update(whole + more for more in CONTINUATIONS)
    found = set()
    for encoding in tokenizer.encode_batch(sorted(longer), add_special_tokens=False):
        length = 0
        for k, token in enumerate(encoding.ids):
            length += len(vocabulary.tokens[token])
            if length >= len(text):
                found.add(tuple(encoding.ids[: k + 1]))
                break
    return found


@pytest.mark.parametrize("text", [*(text.encode() for text in TEXTS if text != "a  "), *CUT, SPACES])
def test_text_probability_is_the_sum_over_all_covers(real, tokenizer, text):
    model = TableModel(END + 1, END)
    probabilities = lru_cache(model.probabilities)
    truth = sum(
        np.prod([probabilities(cover[:k])[token] for k, token in enumerate(cover)])
        for cover in covers(tokenizer, real.automaton.vocabulary, text)
    )
    chars = CharacterModel(model, real.automaton, ExactOptions(truncate=False))
    assert np.exp(chars.log_probability(text).log_probability) == pytest.approx(truth, rel=1e-10)
