"""Tokenizers that cannot be exact are refused with the reason and, where there is one, an example."""

import json
from pathlib import Path
from typing import Any

import pytest
from real_tokenizers import real_tokenizer, tokenizer_folder
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from tokenlab.core.errors import InputError
from tokenlab.exact.adapters.check import check_tokenizer
from tokenlab.exact.adapters.hugging_face import collision, from_tokenizer
from tokenlab.exact.adapters.reading import read_tokenizer
from tokenlab.exact.adapters.real import UnsupportedTokenizer
from tokenlab.tokenizers.alphabet import learn_alphabet

CHARACTERS = [*" abcdefgh", "\u00e9", "\u0301", "\u4e2d"]


def bpe(normalizer: Any = None, pre_tokenizer: Any = None, **options: Any) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE({token: id for id, token in enumerate(CHARACTERS)}, [], **options))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    return tokenizer


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpt-neox", r"gpt-neox: the normaliser NFC .*'e\\u0301' and '\\xe9'"),
        ("cluecorpussmall", "cluecorpussmall: .*nmt_nfkc"),
    ],
)
def test_published_tokenizers_with_a_lossy_normaliser(name: str, message: str) -> None:
    folder = tokenizer_folder(name)
    with pytest.raises(UnsupportedTokenizer, match=message) as caught:
        read_tokenizer(folder)
    assert "\n" not in str(caught.value)


def test_a_published_model_of_pieces_without_its_normaliser() -> None:
    assert any("normalised already" in note for note in real_tokenizer("cluecorpussmall").notes)


@pytest.mark.parametrize(
    "normalizer",
    [
        normalizers.NFC(),
        normalizers.NFKC(),
        normalizers.Lowercase(),
        normalizers.Strip(),
        normalizers.BertNormalizer(),
        normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
        normalizers.Replace("``", '"'),
        normalizers.Nmt(),
    ],
)
def test_every_lossy_normaliser_has_an_example(normalizer: Any) -> None:
    assert "both become" in collision(normalizer)
    with pytest.raises(UnsupportedTokenizer, match=r"changes the text: .* both become"):
        from_tokenizer(bpe(normalizer))
    without = from_tokenizer(bpe(normalizer), ignore_normalizer=True)
    assert without.automaton.encode(b"ab") == [1, 2] and "normalised already" in without.notes[0]


def test_an_unknown_normaliser_is_refused_without_an_example() -> None:
    with pytest.raises(UnsupportedTokenizer, match="not known to keep texts apart"):
        from_tokenizer(bpe(normalizers.Replace("b", "bb")))


def word_piece(pre_tokenizer: Any, **options: Any) -> Tokenizer:
    vocabulary = {"[UNK]": 0, **{token: id for id, token in enumerate([*CHARACTERS, "ab"], start=1)}}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", **options))
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    return tokenizer


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (word_piece(pre_tokenizers.BertPreTokenizer()), "depend on their place|drops white space"),
        (word_piece(None, continuing_subword_prefix="##"), "WordPiece with '##'"),
        (word_piece(None, continuing_subword_prefix=""), "more than 100 characters"),
        (bpe(dropout=0.1), "several encodings"),
        (bpe(end_of_word_suffix="</w>"), "depend on their place"),
        (bpe(pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=True)), "'a' and ' a'"),
        (bpe(normalizers.Prepend("\u2581")), "keeps spaces"),
        (Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a")), "WordLevel"),
    ],
)
def test_the_reason_is_said(tokenizer: Tokenizer, message: str) -> None:
    with pytest.raises(UnsupportedTokenizer, match=message) as caught:
        from_tokenizer(tokenizer, name="it")
    assert str(caught.value).startswith("it: ") and "\n" not in str(caught.value)


def test_a_space_before_each_part_of_the_text() -> None:
    spaces = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer = Tokenizer(models.BPE({"\u2581": 0, "a": 1, "\u2581a": 2}, [("\u2581", "a")]))
    tokenizer.normalizer = spaces
    assert from_tokenizer(tokenizer).automaton.encode(b"a a") == [2, 2]
    tokenizer.add_tokens([AddedToken("[X]")])
    with pytest.raises(UnsupportedTokenizer, match=r"added token '\[X\]' gets a space"):
        from_tokenizer(tokenizer)


def test_word_piece_without_marks_is_the_longest_prefix() -> None:
    tokenizer = word_piece(None, continuing_subword_prefix="", max_input_chars_per_word=1_000_000)
    real = from_tokenizer(tokenizer)
    assert real.automaton.encode(b"abba") == [len(CHARACTERS) + 1, 3, 2]
    with pytest.raises(InputError, match="'x' at byte 0"):
        real.automaton.encode(b"x")


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    for content, message in [
        (b"", "0 bytes"),
        (b"{", "not JSON"),
        (b"[1]", "no tokenizer"),
        (b"{}", "no tokenizer; known are"),
        (b'{"model": {"type": "BPE"}, "added_tokens": []}', "not a tokenizer.json"),
        (
            b'{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b"]]}, "added_tokens": []}',
            "not a tokenizer",
        ),
        (b"[" * 100_000, "not JSON"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b"\x80\x04\x95 a pickle", "breaks off"),
    ]:
        path.write_bytes(content)
        with pytest.raises(InputError, match=message) as caught:
            read_tokenizer(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="no such file"):
        read_tokenizer(tmp_path / "other.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no tokenizer in this folder"):
        read_tokenizer(tmp_path / "empty")


def test_a_folder_of_transformers_names_its_ends(tmp_path: Path) -> None:
    tokenizer = bpe()
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens(["<begin>", "<end>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    config = {"bos_token": {"content": "<begin>"}, "eos_token": "<end>", "model_max_length": 1}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    real = read_tokenizer(tmp_path)
    assert (real.bos, real.eos) == (len(CHARACTERS), len(CHARACTERS) + 1)
    assert real.name == tmp_path.name and real.tokenizer is not None
    assert real.decode(real.automaton.encode(b"abc")) == b"abc"
    with pytest.raises(InputError, match="spells no text"):
        real.decode([real.bos])


def test_word_level_of_single_characters_is_exact() -> None:
    """The character models of the pipeline: [UNK] and [START] spell nothing."""
    tokenizer = learn_alphabet(["中国人民 [UNK]"]).tokenizer
    real = from_tokenizer(tokenizer)
    tokens = real.automaton.vocabulary.tokens
    assert tokens[tokenizer.token_to_id("[UNK]")] is None and tokens[tokenizer.token_to_id("[START]")] is None
    assert real.automaton.encode("中[UNK]".encode()) == [tokenizer.token_to_id(c) for c in "中[UNK]"]
    assert check_tokenizer(real, ["中国 人", "[UNK] 民"]).handled
