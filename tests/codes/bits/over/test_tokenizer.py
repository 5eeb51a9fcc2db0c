"""A bit-level code over a base: known ids, losslessness, decoding of anything, recycled ids."""

import itertools
import json

import numpy as np
import pytest
import small_bases
import unicode_text
from hypothesis import given
from hypothesis import strategies as st
from real_tokenizers import tokenizer_folder
from tokenizers import Tokenizer

from tokenlab.codes.bits.bit_code import CharacterBits
from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.bits.over.bases import base_of, read_base
from tokenlab.codes.bits.over.tokenizer import BitTokenizer, dead_tokens
from tokenlab.core.errors import InputError, ParameterError

BASES = {kind: base_of(make()) for kind, make in small_bases.KINDS.items()}
OPTIONS = [BitOptions(prefixes=prefixes, emission=emission) for prefixes in (3, 4) for emission in ("run", "change")]
TOKENIZERS = [
    BitTokenizer(base, options, recycle)
    for base, options, recycle in itertools.product(BASES.values(), OPTIONS, (False, True))
]
PIECES = BitTokenizer(BASES["pieces"])
TEXTS = [*small_bases.AWKWARD, *small_bases.TEXTS[:20], *unicode_text.SENTENCES.values()]
V = 900


def test_ids_of_a_run_of_pieces():
    """U+9F0E is E9 BC 8E: prefix 3Ah, payloads 0DE and 08E. U+9F8D is E9 BE 8D: the same prefix, 0DF and 08D."""
    space = BASES["pieces"].tokenizer.token_to_id("▁")
    byte = BASES["pieces"].byte_ids
    ids = [space, V + 256 + 2, byte[0xDE], byte[0x8E], byte[0xDF], byte[0x8D]]
    assert PIECES.encode("鼎龍").tolist() == ids
    assert PIECES.size == V + 261


def test_a_byte_after_a_run_gets_a_reset():
    """A of byte-level BPE is the byte 41, a first payload."""
    tokenizer = BitTokenizer(BASES["byte level"])
    reset = BASES["byte level"].size + 260
    assert tokenizer.encode("鼎A").tolist()[-2:] == [reset, BASES["byte level"].byte_ids[0x41]]
    with pytest.raises(InputError, match="byte 41 after"):
        BitTokenizer(BASES["byte level"], BitOptions(mode="paper")).encode("鼎A")
    with pytest.raises(InputError, match="text 2"):
        BitTokenizer(BASES["byte level"], BitOptions(mode="paper")).encode_batch(["鼎", "鼎A"])


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_decoding_restores_sentences(tokenizer):
    batch = tokenizer.encode_batch(TEXTS)
    assert [ids.tolist() for ids in batch] == [tokenizer.encode(text).tolist() for text in TEXTS]
    assert [tokenizer.decode(ids).text for ids in batch] == TEXTS
    assert [decoded.text for decoded in tokenizer.decode_batch(batch)] == TEXTS


@given(st.sampled_from(TOKENIZERS), unicode_text.text)
def test_decoding_restores_every_text(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)).text == text


@given(st.sampled_from(TOKENIZERS), st.data())
def test_any_ids_are_decoded_or_flagged(tokenizer, data):
    ids = data.draw(st.lists(st.integers(0, tokenizer.size - 1), max_size=12))
    skipped, replaced = (tokenizer.decode(ids, policy) for policy in ("skip", "replace"))
    assert skipped.errors == replaced.errors
    left = replaced.text.replace("\ufffd", "")
    assert skipped.text.replace("\ufffd", "") in (left, left.removeprefix(" "))
    assert tokenizer.decode_batch([ids, ids], "replace") == [replaced, replaced]
    if skipped.errors:
        with pytest.raises(InputError):
            tokenizer.decode(ids)


def test_without_a_vocabulary_it_is_the_code_over_bytes():
    text = "".join(unicode_text.SENTENCES.values())
    content = json.loads(small_bases.byte_level().to_str())
    content["model"]["merges"] = []
    tokenizer = BitTokenizer(base_of(Tokenizer.from_str(json.dumps(content))))
    assert tokenizer.symbols(tokenizer.encode(text)).tolist() == CharacterBits().encode(text).tolist()


def test_bad_ids_are_named():
    for ids in ([5, PIECES.size], [5, -1]):
        with pytest.raises(InputError, match=f"token 2: id {ids[1]} is none"):
            PIECES.decode(ids, "skip")
        with pytest.raises(InputError, match="token 2"):
            PIECES.decode_batch([[5], ids], "skip")
    for recycle in ([V], [5, 5], [-1]):
        with pytest.raises(ParameterError, match="recycled ids"):
            BitTokenizer(BASES["pieces"], recycle=recycle)


def test_an_id_in_use_is_not_recycled_silently():
    space = BASES["pieces"].tokenizer.token_to_id("▁")
    tokenizer = BitTokenizer(BASES["pieces"], recycle=[space])
    with pytest.raises(InputError, match="was recycled"):
        tokenizer.encode("鼎")


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", BASES)
def test_dead_tokens_do_not_occur(kind, options):
    base = BASES[kind]
    dead = {token.id for token in dead_tokens(base, options)}
    tokenizer = BitTokenizer(base, options)
    used = set(np.concatenate(tokenizer.encode_batch([*TEXTS, *small_bases.TEXTS])).tolist())
    assert not used & dead
    assert used.isdisjoint(token.id for token in tokenizer.dead())


def test_unreachable_tokens_are_found():
    settings = json.loads(small_bases.pieces().to_str())
    last = settings["model"]["merges"].pop()
    dead = {token.id: token.reason for token in dead_tokens(base_of(Tokenizer.from_str(json.dumps(settings))))}
    assert "no text gives this token" in dead[settings["model"]["vocab"]["".join(last)]]


def test_recycled_ids_come_first():
    base = BASES["pieces"]
    tokenizer = BitTokenizer(base, recycle=True)
    dead = [token.id for token in dead_tokens(base)]
    assert tokenizer.recycled == dead
    assert tokenizer.size == V + 128 + 4 + 1 - len(dead)
    assert tokenizer.symbols(dead[:2]).tolist() == [0x140, 0x141]
    assert [tokenizer.name(id) for id in (dead[0], tokenizer.size - 1)] == ["N:140", "R"]
    assert BitTokenizer(base, recycle=tokenizer.recycled).ids.ids.tolist() == tokenizer.ids.ids.tolist()


def test_bytes_without_a_token_get_ids_where_they_are_payloads():
    """U+1000 is E1 80 80, and its first payload C0."""
    content = json.loads(small_bases.byte_level().to_str())
    for byte in (0xC0, 0xC1, 0xFF):
        del content["model"]["vocab"][chr(byte)]
    base = base_of(Tokenizer.from_str(json.dumps(content)))
    tokenizer = BitTokenizer(base)
    assert tokenizer.size == base.size + 261 + 2
    assert tokenizer.encode("\u1000").tolist()[1] == base.size + 261
    assert tokenizer.decode(tokenizer.encode("\u1000\u1042")).text == "\u1000\u1042"


@pytest.mark.parametrize(
    "name", ["mistral-v7", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("gpt2", "tekken"))]
)
def test_published_bases(name):
    base = read_base(tokenizer_folder(name))
    for recycle in (False, True):
        tokenizer = BitTokenizer(base, recycle=recycle)
        batch = tokenizer.encode_batch(TEXTS)
        assert [decoded.text for decoded in tokenizer.decode_batch(batch)] == TEXTS
        plain = sum(map(len, base.encode_batch(TEXTS)))
        assert sum(map(len, batch)) < plain
