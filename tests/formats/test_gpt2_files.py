"""GPT-2's pair of files, and the byte-level alphabet."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from real_tokenizers import tokenizer_folder
from tokenizers import pre_tokenizers

from tokenlab.core.errors import InputError
from tokenlab.formats.byte_level import byte_characters, read_gpt2, spelled_bytes, written


def test_the_alphabet_is_that_of_the_library() -> None:
    assert set(byte_characters()) == set(pre_tokenizers.ByteLevel.alphabet())
    assert written(b" a\n") == "\u0120a\u010a" and spelled_bytes("\u4e2d") is None


@given(st.text(max_size=8))
def test_bytes_are_written_as_the_library_writes_them(text: str) -> None:
    pieces = pre_tokenizers.ByteLevel(False, use_regex=False).pre_tokenize_str(text)
    assert written(text.encode()) == "".join(piece for piece, _ in pieces)
    assert spelled_bytes(written(text.encode())) == text.encode()


def test_published_files() -> None:
    folder = tokenizer_folder("gpt2")
    ids, merges = read_gpt2(folder / "encoder.json", folder / "vocab.bpe")
    assert len(ids) == 50257 and len(merges) == 50000 and merges[0] == ("\u0120", "t")


@pytest.mark.parametrize(
    ("vocabulary", "merges", "message"),
    [
        ("[1]", "", "expected a mapping"),
        ("{", "", "not JSON"),
        ('{"a": 0, "b": 0}', "a b", "an id stands for two tokens"),
        ('{"a": 0, "b": 1}', "#version\na b", "line 2: not a merge of two tokens"),
        ('{"a": 0}', "", "0 bytes"),
    ],
)
def test_damaged_files_are_one_line_errors(tmp_path: Path, vocabulary: str, merges: str, message: str) -> None:
    (tmp_path / "v.json").write_text(vocabulary)
    (tmp_path / "m.txt").write_text(merges)
    with pytest.raises(InputError, match=message):
        read_gpt2(tmp_path / "v.json", tmp_path / "m.txt")


def test_merges_in_order(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps({"a": 0, "b": 1, "ab": 2, "aba": 3}))
    (tmp_path / "m.txt").write_text("#version: 0.2\na b\r\nab a\n\n")
    assert read_gpt2(tmp_path / "v.json", tmp_path / "m.txt")[1] == [("a", "b"), ("ab", "a")]
