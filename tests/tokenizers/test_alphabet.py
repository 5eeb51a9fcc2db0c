"""Characters and bytes as tokens: nothing lost, nothing confused, offsets exact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.tokenizers import AlphabetOptions, learn_alphabet
from tokenlab.tokenizers.alphabet import save_alphabet

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
KNOWN = set("今天气很好 \n[UNK]")
KNOWN_ALPHABET = learn_alphabet(KNOWN)


@given(ANY_TEXT)
def test_characters_round_trip_with_exact_offsets(text):
    encoding = learn_alphabet([text]).tokenizer.encode(text, add_special_tokens=False)
    assert encoding.tokens == list(text)
    assert encoding.offsets == [(number, number + 1) for number in range(len(text))]


@given(ANY_TEXT)
def test_what_the_alphabet_lacks_is_unknown_and_keeps_its_place(text):
    encoding = KNOWN_ALPHABET.tokenizer.encode(text)
    assert encoding.tokens == ["[START]", *(c if c in KNOWN else "[UNK]" for c in text)]
    assert encoding.offsets[1:] == [(number, number + 1) for number in range(len(text))]


@given(ANY_TEXT)
def test_bytes_round_trip(text):
    alphabet = learn_alphabet([], AlphabetOptions("byte"))
    ids = alphabet.tokenizer.encode(text).ids
    assert ids == [0, *(byte + 1 for byte in text.encode())]
    assert alphabet.tokenizer.decode(ids[1:]) == text
    assert alphabet.begins_character[ids].sum() == len(text)


@pytest.mark.parametrize("level", ["character", "byte"])
def test_transformers_reads_the_same_tokens(tmp_path, level):
    text = "今天[UNK][START]很好。\r\n\u3000e\u0301😀 "
    alphabet = learn_alphabet([text], AlphabetOptions(level))
    save_alphabet(alphabet, tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=False)
    ids = tokenizer(text)["input_ids"]
    assert ids == alphabet.tokenizer.encode(text).ids
    assert ids[0] == tokenizer.bos_token_id == 0 and len(tokenizer) == alphabet.size
    assert tokenizer.decode(ids, skip_special_tokens=True) == text


def test_rare_characters_are_left_out():
    alphabet = learn_alphabet(["好好人", "天好人"], AlphabetOptions("character", min_count=2))
    assert alphabet.tokenizer.get_vocab() == {"[START]": 0, "[UNK]": 1, "人": 2, "好": 3}
    assert alphabet.begins_character.tolist() == [False, True, True, True]


def test_texts_without_an_alphabet_and_bad_options():
    for texts, level, min_count, error, message in [
        ([], "character", 1, InputError, "no text"),
        ([""], "character", 1, InputError, "no text"),
        (["好人"], "character", 2, InputError, "lower min_count"),
        (["好"], "character", 0, ParameterError, "min_count"),
        (["好"], "word", 1, ParameterError, "level is 'word'"),
    ]:
        with pytest.raises(error, match=message):
            learn_alphabet(texts, AlphabetOptions(level, min_count))
