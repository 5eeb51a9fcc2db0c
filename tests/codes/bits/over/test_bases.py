"""Base tokenizers: every kind of file gives its engine's ids, and bytes that spell every text; others are refused."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
import small_bases
import unicode_text
from hypothesis import given
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from tokenlab.codes.bits.over.bases import Base, base_of, read_base
from tokenlab.core.errors import InputError
from tokenlab.formats.ranks import GPT2, RankSettings

BASES = {kind: base_of(make()) for kind, make in small_bases.KINDS.items()}
_NIGHTLY = ("gpt2", "mistral-v1", "tekken", "qwen", "whisper-multilingual")
REAL = ["mistral-v7", *(pytest.param(name, marks=pytest.mark.nightly) for name in _NIGHTLY)]


def spelled(base: Base, ids: np.ndarray) -> str:
    text = b"".join(base.spelled(id) for id in ids.tolist()).decode()
    return text.removeprefix(" ") if base.prefix else text


@pytest.mark.parametrize("kind", BASES)
def test_tokens_spell_every_text(kind):
    base = BASES[kind]
    texts = [*small_bases.AWKWARD, *small_bases.TEXTS[:40], *unicode_text.SENTENCES.values()]
    batch = base.encode_batch(texts)
    for text, ids in zip(texts, batch, strict=True):
        assert ids.dtype == np.int32
        assert ids.tolist() == base.encode(text).tolist()
        assert spelled(base, ids) == text
    assert base.encode_batch([]) == []
    assert not base.notes


@pytest.mark.parametrize("kind", BASES)
@given(text=unicode_text.text)
def test_tokens_spell_any_text(kind, text):
    assert spelled(BASES[kind], BASES[kind].encode(text)) == text


@pytest.mark.parametrize("kind", BASES)
def test_ids_are_those_of_the_tokenizer(kind):
    tokenizer = small_bases.KINDS[kind]()
    for text in [*small_bases.TEXTS[:100], "鼎鼎 [REF]", *unicode_text.SENTENCES.values()]:
        assert BASES[kind].encode(text).tolist() == tokenizer.encode(text, add_special_tokens=False).ids


def test_byte_ids():
    for kind, base in BASES.items():
        assert all(base.spelled(id) == bytes([byte]) for byte, id in enumerate(base.byte_ids.tolist())), kind
    assert BASES["pieces"].byte_ids.tolist() == list(range(4, 260))
    assert [base.whole_characters for base in BASES.values()] == [True, False, True, True]
    assert [base.prefix for base in BASES.values()] == [True, False, True, False]


def test_special_tokens_spell_nothing():
    base = BASES["pieces"]
    assert [base.spelled(id) for id in range(4)] == [b""] * 4
    for id in (-1, base.size):
        with pytest.raises(LookupError):
            base.spelled(id)


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_a_sentencepiece_model_is_encoded_as_by_its_package(algorithm, tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    path = tmp_path / "tokenizer.model"
    path.write_bytes(small_bases.sentencepiece_model(algorithm))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    base = read_base(tmp_path)
    assert base.size == processor.get_piece_size()
    texts = [*small_bases.TEXTS[:100], " a", "a  b", "鼎鼎 x", "a[REF]b", *unicode_text.SENTENCES.values()]
    for text in texts:
        assert base.encode(text).tolist() == processor.encode(text), text
    for text in [*texts, *small_bases.AWKWARD]:
        assert spelled(base, base.encode(text)) == text


def test_a_rank_file_needs_its_expression(tmp_path):
    ranks = [*(bytes([byte]) for byte in range(256)), b"ab", b" ab", "中".encode()]
    path = tmp_path / "a.tiktoken"
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(ranks)))
    base = read_base(path, RankSettings("toy", GPT2, special=2, bos=259))
    assert base.encode("ab ab\n中\n国").tolist() == [256, 257, 10, 258, 10, 0xE5, 0x9B, 0xBD]
    assert base.size == 261 and base.spelled(259) == b""
    assert spelled(base, base.encode("<|special 259|>")) == "<|special 259|>"


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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tokenizer.json", "{", "not JSON"),
        ("tokenizer.json", "{}", "JSON, but no tokenizer"),
        ("tokenizer.json", "\ufeff[1]", "its top is a list"),
        ("vocab.json", '{"a": 0}', "JSON, but no tokenizer"),
        ("tokenizer.model", "nothing", "protocol buffers"),
        ("a.txt", "", "no tokenizer in this folder"),
    ],
)
def test_damaged_files_are_one_line_errors(name, content, message, tmp_path):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        read_base(tmp_path)
    assert str(tmp_path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_normaliser_is_noted():
    tokenizer = Tokenizer.from_str(small_bases.byte_level().to_str())
    tokenizer.normalizer = normalizers.NFC()
    base = base_of(tokenizer)
    assert base.notes == ("its normaliser (NFC) changes texts; decoding gives the normalised text",)
    assert spelled(base, base.encode("e\u0301")) == "\u00e9"


def test_a_lone_surrogate_is_named():
    with pytest.raises(InputError, match=r"text 2, character 3: U\+D800 is a lone surrogate"):
        BASES["byte level"].encode_batch(["a", "ab\ud800"])
    with pytest.raises(InputError, match="lone surrogate"):
        BASES["pieces"].encode("\udfff")


def test_a_folder_of_gpt2(mirror: Path):
    base = read_base(mirror / "gpt2")
    assert base.size == 50257 and base.spelled(50256) == b""
    assert base.encode("Hello 中").tolist() == [15496, 220, 40792]


@pytest.mark.parametrize("name", REAL)
def test_published_tokenizers_spell_every_text(name):
    base = small_bases.real_base(name)
    for text in [*small_bases.AWKWARD, *unicode_text.SENTENCES.values()]:
        assert spelled(base, base.encode(text)) == text
