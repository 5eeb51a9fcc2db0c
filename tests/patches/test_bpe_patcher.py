"""Tokens as patches: those of the engine, over all of Unicode, from every kind of tokenizer."""

import json
from functools import cache
from itertools import accumulate

import pytest
import small_bases
import unicode_text
from hypothesis import given, settings
from tokenizers import AddedToken, Tokenizer, decoders, models

from tokenlab.codes.bits.over.bases import base_of
from tokenlab.core.errors import InputError
from tokenlab.patches.bpe import BpePatcher, read_bpe_patcher

TEXTS = [*small_bases.AWKWARD, *small_bases.TEXTS[:8], *list(unicode_text.SENTENCES.values())[::3]]


@cache
def patcher(kind):
    return BpePatcher(small_bases.KINDS[kind](), kind)


def characters():
    """BPE of a few characters, without byte fallback."""
    vocabulary = {"a": 0, "b": 1, "é": 2, " ": 3, "ab": 4, "abé": 5, "[UNK]": 6}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("a", "b"), ("ab", "é")], unk_token="[UNK]"))
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([AddedToken("[UNK]", normalized=False)])
    return BpePatcher(tokenizer, "characters")


@pytest.mark.parametrize("kind", small_bases.KINDS)
def test_patches_are_the_tokens(kind):
    found, tokenizer, base = patcher(kind), small_bases.KINDS[kind](), base_of(small_bases.KINDS[kind]())
    prefix = len(found.prefix)
    for text in [*small_bases.TEXTS[:40], *unicode_text.SENTENCES.values()]:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        widths = [len(base.tokens[id] or b"") for id in ids]
        starts = [max(0, end - width - prefix) for width, end in zip(widths, accumulate(widths), strict=True)]
        data = text.encode()
        (cut,) = found.starts([data])
        assert cut.tolist() == sorted(set(starts))
        assert found.encode([data])[0].tolist() == ids
    for text in small_bases.AWKWARD:
        assert found.encode([text.encode()])[0].tolist() == base.encode(text).tolist()


@pytest.mark.parametrize(
    "kind",
    ["byte level", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("pieces", "unigram", "added tokens"))],
)
@settings(max_examples=6)
@given(text=unicode_text.text)
def test_all_of_unicode(kind, text):
    data = text.encode()
    (starts,) = patcher(kind).starts([data])
    assert starts.tolist() == sorted(set(starts.tolist()))
    assert starts.tolist()[:1] == [0][: len(data)]
    assert len(starts) <= len(data)
    assert not len(starts) or starts[-1] < len(data)


def test_without_byte_fallback_known_characters_are_cut():
    found = characters()
    assert found.starts(["ab abéa".encode()])[0].tolist() == [0, 2, 3, 7]
    with pytest.raises(InputError, match="'ac' with its tokens: it has no tokens"):
        found.starts([b"ac"])


def test_a_text_that_is_not_utf8():
    found = patcher("byte level")
    with pytest.raises(InputError, match="not UTF-8 at byte 1"):
        found.starts([b"a\xff"])


def test_a_text_that_the_tokenizer_changes():
    content = json.loads(small_bases.byte_level().to_str())
    content["normalizer"] = {"type": "Lowercase"}
    found = BpePatcher(Tokenizer.from_str(json.dumps(content)), "small letters")
    assert found.starts([b"abc abc"])[0].tolist()[0] == 0
    with pytest.raises(InputError, match="'Abc' with its tokens: its normaliser"):
        found.starts([b"abc", b"Abc"])


def test_a_file_is_a_tokenizer_json(tmp_path):
    small_bases.pieces().save(str(tmp_path / "tokenizer.json"))
    data = [text.encode() for text in TEXTS]
    whole = [starts.tolist() for starts in patcher("pieces").starts(data)]
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        assert [starts.tolist() for starts in read_bpe_patcher(path).starts(data)] == whole
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="no such file"):
        read_bpe_patcher(tmp_path)
