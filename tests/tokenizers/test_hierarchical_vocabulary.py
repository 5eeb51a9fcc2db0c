"""The vocabulary of a tokenizer as bytes, which is that of its engine; and tokenizers that have none."""

import pytest
import small_bases
from real_tokenizers import tokenizer_folder
from tokenizers import AddedToken, Tokenizer, models

from tokenlab.codes.bits.over.bases import read_base
from tokenlab.core.errors import InputError
from tokenlab.tokenizers.hierarchical import vocabulary_of

_NIGHTLY = ("llama3", "mistral-v1", "tekken", "qwen")


@pytest.mark.parametrize("name", ["gpt2", *(pytest.param(name, marks=pytest.mark.nightly) for name in _NIGHTLY)])
def test_published_tokenizers(name):
    folder = tokenizer_folder(name)
    found = vocabulary_of(folder)
    assert len(set(found)) == len(found)
    assert set(found) == {token for token in read_base(folder).tokens if token}


def test_a_bpe_of_characters_without_byte_fallback(tmp_path):
    tokenizer = Tokenizer(models.BPE({"[UNK]": 0, "a": 1, "é": 2, "aé": 3}, [("a", "é")], unk_token="[UNK]"))
    tokenizer.add_tokens([AddedToken("\n", normalized=False)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert vocabulary_of(tmp_path) == [b"a", "é".encode(), "aé".encode(), b"\n"]


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (Tokenizer(models.BPE({"a</w>": 0}, [], end_of_word_suffix="</w>")), "end_of_word_suffix"),
        (Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]")), "its model is WordPiece"),
        (small_bases.unigram(), "its model is Unigram"),
    ],
)
def test_a_tokenizer_that_is_not_bpe(tokenizer, message, tmp_path):
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(InputError, match=message):
        vocabulary_of(tmp_path)


def test_a_sentencepiece_model_that_is_not_bpe(tmp_path):
    (tmp_path / "a.model").write_bytes(small_bases.sentencepiece_model("unigram"))
    with pytest.raises(InputError, match="UNIGRAM"):
        vocabulary_of(tmp_path / "a.model")
