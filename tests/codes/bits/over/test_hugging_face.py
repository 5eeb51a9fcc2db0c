"""A bit-level code in `transformers`: batches, padding, truncation, special tokens, saving, loading, errors."""

import copy
import json
import subprocess
import sys

import pytest
import small_bases
import torch
import unicode_text
from hypothesis import given
from tokenizers import Tokenizer, processors
from transformers import AutoTokenizer, LlamaConfig, MistralConfig, PreTrainedTokenizerFast, Qwen2Config

from tokenlab.codes import BitLevelTokenizer
from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.bits.over.bases import base_of
from tokenlab.core.errors import InputError

TEXTS = [*small_bases.AWKWARD, *small_bases.TEXTS[:20], *unicode_text.SENTENCES.values()]


def with_template(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer with <s> before a text, and </s> after."""
    copied = Tokenizer.from_str(tokenizer.to_str())
    copied.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", "<s> $A </s> $B:1 </s>:1", [("<s>", 1), ("</s>", 2)]
    )
    return copied


PIECES = BitLevelTokenizer.from_base(with_template(small_bases.pieces()))
PLAIN = PreTrainedTokenizerFast(
    tokenizer_object=with_template(small_bases.pieces()), bos_token="<s>", eos_token="</s>", pad_token="<pad>"
)
BYTE_LEVEL = BitLevelTokenizer.from_base(small_bases.byte_level(), BitOptions(prefixes=3), recycle=True)
V = 900


@given(unicode_text.text)
def test_decoding_restores_every_text(text):
    for tokenizer in (PIECES, BYTE_LEVEL):
        ids = tokenizer.encode(text, add_special_tokens=False)
        assert ids == tokenizer.bits.encode(text).tolist()
        assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("text", ["Berlin, 1990", "a <s>b</s> c", "<s>", "x<unk> y", " a", "", "a</s>"])
@pytest.mark.parametrize("special", [True, False])
def test_without_fallback_it_is_the_base(text, special):
    ids = PIECES.encode(text, add_special_tokens=special)
    assert ids == PLAIN.encode(text, add_special_tokens=special)
    for skip in (True, False):
        assert PIECES.decode(ids, skip_special_tokens=skip) == PLAIN.decode(ids, skip_special_tokens=skip)
    assert PIECES.convert_ids_to_tokens(ids) == PLAIN.convert_ids_to_tokens(ids)


def test_special_tokens_around_texts():
    for pair in ((["a", "b"], ["c d", "e"]), (["a"], None)):
        for key, value in PLAIN(*pair, return_special_tokens_mask=True).items():
            if key != "token_type_ids":
                assert PIECES(*pair, return_special_tokens_mask=True)[key] == value
    assert PIECES.num_special_tokens_to_add(pair=True) == 3
    assert BYTE_LEVEL.num_special_tokens_to_add() == 0
    assert PIECES.get_special_tokens_mask([1, 300, 2], already_has_special_tokens=True) == [1, 0, 1]


def test_batches_are_padded_and_truncated():
    texts = ["鼎鼎", "Berlin", "鼎鼎鼎鼎鼎鼎"]
    batch = PIECES(texts, padding=True, truncation=True, max_length=9, return_tensors="pt")
    assert batch.input_ids.shape == batch.attention_mask.shape == (3, 9)
    assert batch.input_ids.dtype == torch.int64
    rows = PIECES(texts).input_ids
    for row, mask, ids in zip(batch.input_ids.tolist(), batch.attention_mask.tolist(), rows, strict=True):
        whole = ids if len(ids) <= 9 else [*ids[:8], 2]
        assert row == [*whole, *[PIECES.pad_token_id] * (9 - len(whole))]
        assert mask == [1] * len(whole) + [0] * (9 - len(whole))
    assert PIECES.batch_decode(batch.input_ids[:2], skip_special_tokens=True) == texts[:2]


@pytest.mark.parametrize("tokenizer", [PIECES, BYTE_LEVEL])
def test_a_batch_is_encoded_as_its_texts(tokenizer):
    texts = [*TEXTS, "a<s>b", "鼎<|endoftext|>A"]
    for options in ({}, {"add_special_tokens": False}, {"split_special_tokens": True}):
        assert tokenizer(texts, **options).input_ids == [tokenizer(text, **options).input_ids for text in texts]


def test_the_vocabulary():
    vocabulary = PIECES.get_vocab()
    assert len(vocabulary) == len(PIECES) == PIECES.vocab_size == V + 261
    assert sorted(vocabulary.values()) == list(range(V + 261))
    assert PIECES.convert_tokens_to_ids(["<N:100>", "<P:39>", "<R>", "<0x41>", "none"]) == [900, 1157, 1160, 69, 0]
    assert (PIECES.bos_token, PIECES.eos_token, PIECES.unk_token, PIECES.pad_token_id) == ("<s>", "</s>", "<unk>", 3)
    assert PIECES.tokenize("鼎A") == ["▁", "<P:3A>", "<0xDE>", "<0x8E>", "A"]


def test_tokens_can_be_added(tmp_path):
    tokenizer = copy.deepcopy(BYTE_LEVEL)
    size = len(tokenizer)
    assert tokenizer.add_special_tokens({"pad_token": "[PAD]"}) == 1
    assert tokenizer.add_tokens(["鼎鼎"]) == 1
    assert (tokenizer.pad_token_id, len(tokenizer), tokenizer.vocab_size) == (size, size + 2, size)
    ids = tokenizer("龍鼎鼎龍[PAD]").input_ids
    assert ids.count(size + 1) == 1 and ids[-1] == size
    assert tokenizer.decode(ids) == "龍鼎鼎龍[PAD]"
    assert tokenizer.decode(ids, skip_special_tokens=True) == "龍鼎鼎龍"
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert again("龍鼎鼎龍[PAD]").input_ids == ids and len(again) == size + 2


@pytest.mark.parametrize("tokenizer", [PIECES, BYTE_LEVEL])
def test_saved_and_loaded(tokenizer, tmp_path):
    files = {path.rpartition("/")[2] for path in tokenizer.save_pretrained(tmp_path)}
    assert {"tokenizer_config.json", "base_tokenizer.json"} <= files
    for loaded in (AutoTokenizer.from_pretrained(tmp_path), BitLevelTokenizer.from_pretrained(tmp_path)):
        assert type(loaded) is BitLevelTokenizer
        assert loaded.bits.options == tokenizer.bits.options and loaded.bits.recycled == tokenizer.bits.recycled
        assert loaded.get_vocab() == tokenizer.get_vocab()
        assert loaded(TEXTS).input_ids == tokenizer(TEXTS).input_ids
        assert loaded.special_tokens_map == tokenizer.special_tokens_map
    assert base_of(Tokenizer.from_file(str(tmp_path / "base_tokenizer.json"))).tokens == tokenizer.bits.base.tokens


@pytest.mark.parametrize("config", [LlamaConfig, MistralConfig, Qwen2Config])
def test_loaded_beside_the_configuration_of_a_model(config, tmp_path):
    PIECES.save_pretrained(tmp_path)
    config().save_pretrained(tmp_path)
    assert type(AutoTokenizer.from_pretrained(tmp_path)) is BitLevelTokenizer


ELSEWHERE = """
import sys
from transformers import AutoTokenizer
for options in ({}, {"trust_remote_code": True}):
    try:
        AutoTokenizer.from_pretrained(sys.argv[1], **options)
    except Exception:
        print("refused")
"""


@pytest.mark.slow
def test_a_folder_is_refused_where_the_class_is_not_known(tmp_path):
    PIECES.save_pretrained(tmp_path)
    program = [sys.executable, "-c", ELSEWHERE, tmp_path]
    done = subprocess.run(program, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("refused\nrefused\n")  # after a question that transformers prints


def test_undecodable_ids_are_replaced_and_counted():
    tokenizer = copy.deepcopy(PIECES)
    ids = [*tokenizer.encode("a", add_special_tokens=False), V, V + 257]
    assert tokenizer.decode(ids) == "a\ufffd"
    assert tokenizer.decode_errors == 2
    assert tokenizer.batch_decode([ids, ids], on_error="skip") == ["a", "a"]
    assert tokenizer.decode_errors == 6
    assert [error.kind for error in tokenizer.decode_with_errors(ids).errors] == ["outside", "prefix"]
    with pytest.raises(InputError, match="token 3"):
        tokenizer.decode([300, 301, V], on_error="error")
    assert tokenizer.decode([V + 300, 10**6, -1]) == ""


def test_from_a_folder_of_a_model(tmp_path):
    PLAIN.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    config["eos_token"] = {"content": "<pad>", "__type": "AddedToken", "special": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    for tokenizer in (BitLevelTokenizer.from_base(tmp_path), BitLevelTokenizer.from_base(tmp_path / "tokenizer.json")):
        assert (tokenizer.bos_token, tokenizer.eos_token) == ("<s>", "<pad>")
        assert tokenizer("鼎a").input_ids == PIECES("鼎a").input_ids


def test_truncation_of_the_base_is_not_taken_over():
    base = with_template(small_bases.pieces())
    base.enable_truncation(3)
    base.enable_padding(length=20)
    tokenizer = BitLevelTokenizer.from_base(base)
    for text in ("a b c d e f", "a b<s> c d e f"):
        assert tokenizer(text).input_ids == PIECES(text).input_ids


def test_refusals():
    with pytest.raises(InputError, match="no base_tokenizer"):
        BitLevelTokenizer()
    base = Tokenizer.from_str(small_bases.pieces().to_str())
    base.add_tokens(["<N:100>"])
    with pytest.raises(InputError, match="rename it"):
        BitLevelTokenizer.from_base(base)
