"""Rank files and Tekken: read as tiktoken reads them, and refused where they are damaged."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from real_tokenizers import tokenizer_folder

from tokenlab.core.errors import InputError
from tokenlab.formats.ranks import KNOWN, RankSettings, looks_like_ranks, read_rank_tokenizer, read_ranks, read_tekken

BYTES = [bytes([byte]) for byte in range(256)]
SETTINGS = RankSettings("toy", r"\s+|\S+", special=2, bos=257, eos=258)


def lines(tokens: list[bytes], first: int = 0) -> bytes:
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens, start=first))


def test_tokens_by_rank_and_special_ids_after_them(tmp_path: Path) -> None:
    path = tmp_path / "a.tiktoken"
    path.write_bytes(lines([*BYTES, b"ab"]) + b"\n")
    assert read_ranks(path) == [*BYTES, b"ab"]
    toy = read_rank_tokenizer(path, SETTINGS)
    assert toy.tokens[256:] == (b"ab", None, None) and (toy.bos, toy.eos) == (257, 258)
    assert list(toy.regular.items())[-1] == (b"ab", 256)
    assert looks_like_ranks(path.read_bytes()) and not looks_like_ranks(b"\n\x0e\n\x05<unk>")


def test_an_empty_token_and_gaps_spell_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.tiktoken"
    path.write_bytes(lines(BYTES) + b"= 256\n" + lines([b"ab"], first=258))
    assert read_ranks(path)[256:] == [None, None, b"ab"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bytes"),
        (b"a b c\n", "line 1: not a token"),
        (lines(BYTES) + b"a=b 300\n", "line 257: not base64"),
        (lines(BYTES) + b"YWI= 3\n", "line 257: rank 3 stands for two tokens"),
        (lines([*BYTES, b"a"]), "a token has two ranks"),
        (lines(BYTES[1:]), "byte 0x00 has no token"),
        (lines(BYTES) + b"YWI= 99999999\n", "at most 2097151 is read"),
    ],
)
def test_damaged_files_are_one_line_errors(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.tiktoken"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_ranks(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_an_unknown_file_needs_its_expression(tmp_path: Path) -> None:
    path = tmp_path / "a.tiktoken"
    path.write_bytes(lines(BYTES))
    with pytest.raises(InputError, match=r"known \(Llama 3, .*regular expression"):
        read_rank_tokenizer(path)
    with pytest.raises(InputError, match="special token 300"):
        read_rank_tokenizer(path, SETTINGS._replace(bos=300))


def tekken(**changes: Any) -> dict[str, Any]:
    vocabulary = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate([*BYTES, b"ab", b"never read"])
    ]
    config = {"pattern": r"\s+|\S+", "default_vocab_size": 260, "default_num_special_tokens": 3, "version": "v3"}
    return {"config": config, "vocab": vocabulary} | changes


def test_tekken_has_special_tokens_first_and_fewer_tokens_than_it_lists(tmp_path: Path) -> None:
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(tekken()))
    read = read_tekken(path)
    assert read.tokens[:4] == (None, None, None, b"\0") and read.tokens[259:] == (b"ab",)
    assert (read.bos, read.eos, read.pattern) == (1, 2, r"\s+|\S+")
    named = [{"rank": 2, "token_str": "<s>"}, {"rank": 0, "token_str": "</s>"}]
    path.write_text(json.dumps(tekken(special_tokens=named)))
    assert (read_tekken(path).bos, read_tekken(path).eos) == (2, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": None}, "not a file of Tekken"),
        ({"vocab": []}, "ask for more than 0 tokens"),
        ({"vocab": [{"rank": 1, "token_bytes": "AA=="}] * 300}, "vocab 0: expected rank 0"),
        ({"vocab": [{"rank": 0, "token_bytes": "?"}] * 300}, "vocab 0: not base64"),
        ({"special_tokens": [{"rank": 9, "token_str": "<s>"}]}, "with ids below 3"),
    ],
)
def test_a_damaged_tekken_is_a_one_line_error(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(tekken(**changes)))
    with pytest.raises(InputError, match=message):
        read_tekken(path)


@pytest.mark.parametrize(
    ("name", "file", "bos", "eos", "ids"),
    [
        pytest.param("llama3", "tokenizer.model", 128000, 128001, 128256, marks=pytest.mark.nightly),
        pytest.param("llama4", "tokenizer.model", 200000, 200001, 202048, marks=pytest.mark.nightly),
        pytest.param("qwen", "qwen.tiktoken", None, 151643, 151851, marks=pytest.mark.nightly),
        ("whisper-gpt2", "gpt2.tiktoken", 50257, 50256, 51864),
        pytest.param("whisper-multilingual", "multilingual.tiktoken", 50258, 50257, 51865, marks=pytest.mark.nightly),
    ],
)
def test_published_files(name: str, file: str, bos: int | None, eos: int, ids: int) -> None:
    read = read_rank_tokenizer(tokenizer_folder(name) / file)
    assert (read.bos, read.eos, len(read.tokens)) == (bos, eos, ids)
    reference = pytest.importorskip("tiktoken.load")
    path = str(tokenizer_folder(name) / file)
    if name != "whisper-multilingual":  # its empty token is no base64
        assert reference.load_tiktoken_bpe(path) == read.regular
    assert len(KNOWN) == 5
