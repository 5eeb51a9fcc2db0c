"""Base tokenizers: every kind of file gives its engine's ids, and bytes that spell every text; others are refused."""

import json

import numpy as np
import pytest
import small_bases
import unicode_text
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from tokenlab.codes.bits.over.bases import Base, base_of
from tokenlab.core.errors import InputError

BASES = {kind: base_of(make()) for kind, make in small_bases.KINDS.items()}


def spelled(base: Base, ids: np.ndarray) -> str:
    text = b"".join(base.tokens[id] or b"" for id in ids.tolist()).decode()
    return text.removeprefix(" ") if base.prefix else text


@pytest.mark.parametrize("kind", BASES)
def test_tokens_are_those_of_the_tokenizer_and_spell_every_text(kind):
    base = BASES[kind]
    texts = [*small_bases.AWKWARD, *small_bases.TEXTS[:40], *unicode_text.SENTENCES.values()]
    batch = base.encode_batch(texts)
    for text, ids in zip(texts, batch, strict=True):
        assert ids.dtype == np.int32
        assert ids.tolist() == base.encode(text).tolist()
        assert spelled(base, ids) == text
    assert base.encode_batch([]) == []
    assert not base.notes
    tokenizer = small_bases.KINDS[kind]()
    for text in [*small_bases.TEXTS[:100], "鼎鼎 [REF]", *unicode_text.SENTENCES.values()]:
        assert base.encode(text).tolist() == tokenizer.encode(text, add_special_tokens=False).ids


def test_byte_ids():
    for kind, base in BASES.items():
        assert all(base.tokens[id] == bytes([byte]) for byte, id in enumerate(base.byte_ids.tolist())), kind
    assert BASES["pieces"].byte_ids.tolist() == list(range(4, 260))
    assert [base.whole_characters for base in BASES.values()] == [True, False, True, True]
    assert [base.prefix for base in BASES.values()] == [True, False, True, False]


def test_bytes_that_no_text_has_may_lack_a_token():
    content = json.loads(small_bases.byte_level().to_str())
    for byte in (0xC0, 0xFF):
        content["model"]["vocab"].pop(chr(byte))
    base = base_of(Tokenizer.from_str(json.dumps(content)))
    assert np.flatnonzero(base.byte_ids < 0).tolist() == [0xC0, 0xFF]


def without(tokenizer: Tokenizer, token: str) -> Tokenizer:
    content = json.loads(tokenizer.to_str())
    content["model"]["vocab"].pop(token)
    content["model"]["merges"] = []
    return Tokenizer.from_str(json.dumps(content))


def word_level() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


def with_suffix() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE({"a</w>": 0}, [], end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    return tokenizer


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (word_level(), "no byte fallback"),
        (Tokenizer(models.BPE({"a": 0}, [])), "no byte fallback"),
        (without(small_bases.byte_level(), "A"), "byte 0x41 has no token"),
        (without(small_bases.pieces(), "<0xE4>"), "byte 0xE4 has no token"),
        (with_suffix(), "end_of_word_suffix '</w>'"),
    ],
)
def test_a_base_without_byte_fallback_is_refused(tokenizer, message):
    with pytest.raises(InputError, match=message) as caught:
        base_of(tokenizer, "toy")
    assert str(caught.value).startswith("toy: ") and "\n" not in str(caught.value)


def test_a_normaliser_is_noted():
    tokenizer = Tokenizer.from_str(small_bases.byte_level().to_str())
    tokenizer.normalizer = normalizers.NFC()
    base = base_of(tokenizer)
    assert base.notes == ("its normaliser (NFC) changes texts; decoding gives the normalised text",)
    assert spelled(base, base.encode("e\u0301")) == "\u00e9"


def test_a_lone_surrogate_is_named():
    with pytest.raises(InputError, match=r"text 2, character 3: U\+D800"):
        BASES["byte level"].encode_batch(["a", "ab\ud800"])
    with pytest.raises(InputError, match="lone surrogate"):
        BASES["pieces"].encode("\udfff")
