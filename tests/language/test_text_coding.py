"""Coders: text as passages and back, saved and read."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_language_models import spaced_tokenizer_file
from tiny_tokenizers import EXPRESSIONS, byte_level, train
from tokenizers import Tokenizer

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.language.coding import ByteCoder, PatchCoder, TokenCoder, identity, read_coder
from tokenlab.patches.bpe import read_bpe_patcher, read_tokenizer_patcher
from tokenlab.patches.by_bytes import CharacterPatcher, FixedPatcher, SpacePatcher
from tokenlab.patches.options import FixedOptions
from tokenlab.tokenizers.hierarchical import WITHOUT_MERGES, learn_hierarchical

TEXTS = ["the cat saw the other cat", "你好,世界: naïve café", "", "a", "  \n\n\ttabs <|end|> and the other"]
DATA = [text.encode() for text in TEXTS]
texts = st.lists(st.text("abthe <|nd>é你\n", max_size=20), max_size=4)
MERGES = learn_hierarchical([b"the cat", b" saw", b" other", "你好".encode()], 4)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """A tokenizer of all bytes and a few merges, with a special token."""
    alphabet = "".join(map(chr, range(0x800))) + "你好世界\U0001f600"
    alphabet += "".join(chr(0x1000 * digit) for digit in range(1, 0xD)) + "\U00040000\U00080000\U000c0000\U00100000"
    made = train(byte_level(EXPRESSIONS["gpt2"]), [*TEXTS * 3, alphabet], 40)
    made.add_special_tokens(["<|end|>"])
    path = tmp_path_factory.mktemp("tokenizer") / "tiny.json"
    made.save(str(path))
    return path


@pytest.fixture(scope="module")
def coders(tokenizer):
    return {
        "bytes": ByteCoder(),
        "tokens": TokenCoder(tokenizer),
        "bpe": PatchCoder(read_bpe_patcher(tokenizer), MERGES),
        "bpe without merges": PatchCoder(read_bpe_patcher(tokenizer), WITHOUT_MERGES),
        "space": PatchCoder(SpacePatcher()),
        "character": PatchCoder(CharacterPatcher(), MERGES),
    }


NAMES = ("bytes", "tokens", "bpe", "bpe without merges", "space", "character")


@pytest.mark.parametrize("name", NAMES)
def test_a_code_spells_its_text(coders, name):
    coder = coders[name]

    @given(texts)
    def check(written):
        data = [text.encode() for text in written]
        passages = coder.code(data)
        assert len(passages) == len(data)
        for text, passage in zip(data, passages, strict=True):
            assert coder.decode(passage.ids.tolist()) == text and passage.size == len(text)
            assert b"".join(coder.spellings[id] for id in passage.ids) == text
            assert passage.ids.dtype == passage.starts.dtype == np.int32
            assert len(passage.starts) == (0 if name in ("bytes", "tokens") else len(coder.patcher.starts([text])[0]))

    check()


def test_tokens_are_those_of_the_library(coders, tokenizer):
    library = Tokenizer.from_file(str(tokenizer))
    library.encode_special_tokens = True  # "<|end|>" in a text is text
    passages = coders["tokens"].code(DATA)
    for text, passage in zip(TEXTS, passages, strict=True):
        assert passage.ids.tolist() == library.encode(text, add_special_tokens=False).ids
    assert len(coders["tokens"].spellings) == library.get_vocab_size()
    assert library.token_to_id("<|end|>") not in passages[-1].ids


def test_tokens_of_given_starts_are_looked_up(coders):
    starts = coders["bpe"].patcher.starts(DATA)
    looked_up, found = coders["tokens"].code(DATA, starts), coders["tokens"].code(DATA)
    assert [passage.ids.tolist() for passage in looked_up] == [passage.ids.tolist() for passage in found]
    with pytest.raises(InputError, match=r"b'the cat saw' is no token of"):
        coders["tokens"].code([b"the cat saw"], [np.array([0])])


def test_tokens_with_a_space_before_the_text(tmp_path):
    """As SentencePiece has them."""
    coder = TokenCoder(spaced_tokenizer_file(tmp_path))
    (tmp_path / "saved").mkdir()
    coder.save(tmp_path / "saved")
    for same in (coder, read_coder(tmp_path / "saved")):
        (passage,) = same.code([b"ab a"])
        assert passage.ids.tolist() == [259, 258, 259] and passage.size == 4
        assert same.decode(passage.ids.tolist()) == b"ab a"
        assert same.code([b"ab a"], [np.array([0, 1, 2])])[0].ids.tolist() == [259, 258, 259]


@pytest.mark.parametrize("name", ["bpe", "bpe without merges", "character"])
def test_each_patch_is_symbols_and_the_marker(coders, name):
    coder = coders[name]
    for text, passage in zip(DATA, coder.code(DATA), strict=True):
        starts = coder.patcher.starts([text])[0].tolist()
        patches = [text[start:end] for start, end in pairwise([*starts, len(text)])]
        codes = [coder.hierarchical.encode(patch) for patch in patches]
        assert passage.ids.tolist() == [id for code in codes for id in code]
        assert [code[-1] for code in codes] == [256] * len(codes)
        assert passage.starts.tolist() == np.cumsum([0, *map(len, codes)])[:-1].tolist()


@pytest.mark.parametrize("name", ["bpe", "space"])
def test_given_starts_are_used(coders, name):
    patches = [np.arange(0, len(text), 5, dtype=np.int32) for text in DATA]
    expected = PatchCoder(FixedPatcher(FixedOptions(length=5)), coders[name].hierarchical).code(DATA)
    for coder in (coders[name], PatchCoder(None, coders[name].hierarchical)):
        for ours, theirs in zip(coder.code(DATA, patches), expected, strict=True):
            assert ours.ids.tolist() == theirs.ids.tolist() and ours.starts.tolist() == theirs.starts.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_saved_is_read(coders, name, tmp_path):
    coder = coders[name]
    coder.save(tmp_path)
    read = read_coder(tmp_path)
    assert type(read) is type(coder) and list(read.spellings) == list(coder.spellings)
    assert (read.patcher is None, read.hierarchical is None) == (coder.patcher is None, coder.hierarchical is None)
    for ours, theirs in zip(read.code(DATA), coder.code(DATA), strict=True):
        assert ours.ids.tolist() == theirs.ids.tolist() and ours.starts.tolist() == theirs.starts.tolist()
    assert [name for name in NAMES if identity(coders[name]) == identity(read)] == [name]


def test_gpt2_of_two_files(mirror, tmp_path):
    coder = TokenCoder(read_tokenizer_patcher(mirror / "gpt2" / "encoder.json"))
    coder.save(tmp_path)
    read = read_coder(tmp_path)
    assert read.code([b" the cat"])[0].ids.tolist() == [262, 3797] == coder.code([b" the cat"])[0].ids.tolist()


def test_text_without_a_code_is_an_error(tmp_path):
    made = train(byte_level(EXPRESSIONS["gpt2"]), ["the cat"], 5)
    made.save(str(tmp_path / "tiny.json"))
    with pytest.raises(InputError, match=r"the text 'x' with its tokens"):
        TokenCoder(tmp_path / "tiny.json").code([b"x"])


def test_patches_that_cannot_be_known_are_errors(tokenizer):
    with pytest.raises(ParameterError, match="patches need its marker"):
        PatchCoder(read_bpe_patcher(tokenizer))
    with pytest.raises(ParameterError, match="patcher is None; give the starts"):
        PatchCoder(None).code([b"the cat"])


def test_damaged_folders_are_errors(coders, tmp_path):
    with pytest.raises(InputError, match=r"coder.json: no such file"):
        read_coder(tmp_path)
    coders["bpe"].save(tmp_path)
    (tmp_path / "patches.json").unlink()
    with pytest.raises(InputError, match=r"patches.json: no such file"):
        read_coder(tmp_path)
    for content, message in (
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"kind": "tokens"}', "damaged"),
        (json.dumps({"kind": "words"}), "the kind 'words' is none"),
    ):
        (tmp_path / "coder.json").write_text(content)
        with pytest.raises(InputError, match=message):
            read_coder(tmp_path)
