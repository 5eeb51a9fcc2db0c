"""BPE with byte fallback: alphabet, merges beside a plain twin, losslessness, determinism."""

import plain_bpe
import pytest
import unicode_text
from hypothesis import given

from tokenlab.codes.bits.over.training import most_frequent, train_byte_fallback
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.formats.pieces import SPACE
from tokenlab.generated import generate

FIXED = 4 + 256
TEXTS = [document.text for language in ("zh", "en") for document in generate(language, sentences=300, seed=1)]
TOKENIZER = train_byte_fallback(TEXTS, 900, 200)


def test_most_frequent_characters_make_the_alphabet():
    assert most_frequent(["cab ab", "a bd"], 2) == ["a", "b"]
    assert most_frequent(["dcba ▁"], 3) == ["a", "b", "c"]
    assert most_frequent(["ab"], 9) == ["a", "b"]


def test_merges_are_those_of_a_plain_trainer():
    words = ["▁ab", "ab", "▁abc", "▁cab", "▁b", "▁ab", "▁b", "b"]
    tokenizer = train_byte_fallback(["ab5ab abc", "cab b", "ab b.b"], FIXED + 8, 3)
    alphabet = ["a", "b", "c", SPACE]
    merges = plain_bpe.train([[alphabet.index(c) for c in word] for word in words], 4, 8)
    tokens = list(alphabet)
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    assert {id - FIXED: token for token, id in tokenizer.get_vocab().items() if id >= FIXED} == dict(enumerate(tokens))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a", ["▁", "a"]),
        (" a", ["▁", "▁", "a"]),
        ("鼎", ["▁", "<0xE9>", "<0xBC>", "<0x8E>"]),
        ("\n", ["▁", "<0x0A>"]),
        ("", []),
    ],
)
def test_characters_outside_the_alphabet_fall_back(text, tokens):
    assert train_byte_fallback(["aa aa"], FIXED + 2, 1).encode(text, add_special_tokens=False).tokens == tokens


@given(unicode_text.text)
def test_decoding_restores_every_text_without_the_mark_of_a_space(text):
    text = text.replace(SPACE, "")
    assert TOKENIZER.decode(TOKENIZER.encode(text, add_special_tokens=False).ids) == text


def test_the_order_of_texts_does_not_matter():
    assert train_byte_fallback(TEXTS[::-1], 900, 200).to_str() == TOKENIZER.to_str()


def test_bad_arguments_are_one_line():
    with pytest.raises(ParameterError, match=r"vocabulary_size is 460; .* 461"):
        train_byte_fallback(TEXTS, 460, 200)
    with pytest.raises(ParameterError, match="characters is -1"):
        train_byte_fallback(TEXTS, 900, -1)
    with pytest.raises(InputError, match="no text"):
        train_byte_fallback(["", ""], 900, 10)
