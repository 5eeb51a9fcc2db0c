"""A tokenizer in a file of any format: its format, the bytes of its ids, its ends, and what it cannot be used for."""

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest
import small_bases
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from tokenlab.core.errors import InputError
from tokenlab.formats.hugging_face import LibraryTokenizer
from tokenlab.formats.pieces import read_pieces
from tokenlab.formats.ranks import RankSettings
from tokenlab.formats.tokenizer_file import of_pieces, read_tokenizer

BYTES = [bytes([byte]) for byte in range(256)]


def rank_file(path: Path, *more: bytes) -> Path:
    lines = (b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate([*BYTES, *more]))
    path.write_bytes(b"".join(lines))
    return path


def test_a_tokenizer_json_and_the_ends_that_its_configuration_names(tmp_path: Path) -> None:
    tokenizer = small_bases.pieces()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    file = read_tokenizer(tmp_path)
    assert (file.format, file.algorithm, file.path) == ("tokenizer.json", "BPE", tmp_path / "tokenizer.json")
    assert file.ends == (None, None)
    assert file.tokens[:5] == (None, None, None, None, b"\0")
    assert file.tokens[tokenizer.token_to_id("\u2581")] == b" "
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": {"content": "<s>"}, "eos_token": "</s>"}')
    assert read_tokenizer(tmp_path).ends == (1, 2)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"vocab": {"a": 0, "b": 10**9}}, r"the id 1000000000; ids"),
        ({"vocab": {"a": 0, "b": -1}}, r"the id -1; ids"),
        ({"vocab": {"a": 0, "b": None}}, r"the id None; ids"),
        ({"vocab": {"a": 1, "b": False}}, r"the id False; ids"),
        ({"vocab": {"a": 1, "b": 0.0}}, r"the id 0\.0; ids"),
        ({"vocab": {"a": 0, "b": ""}}, r"the id ''; ids"),
        ({"vocab": {"a": 0, "b": 3, "c": 3}}, r"the id 3 is that of 2 tokens"),
        ({"vocab": {"a": 0, "\u957f": 1}, "merges": [["a", "\u957f"]], "continuing_subword_prefix": "x"}, r"no contin"),
        ({"vocab": {"a": 0, "b": 1}, "merges": ["a b"], "continuing_subword_prefix": "xxx"}, r"the merge 'a b' has no"),
        ({"merges": [["a"]]}, r"."),
    ],
)
def test_what_would_take_gigabytes_or_end_the_process_in_the_library(
    tmp_path: Path, changed: dict, reason: str
) -> None:
    settings = json.loads(Tokenizer(models.BPE({"a": 0, "b": 1}, [])).to_str())
    settings["model"] |= changed
    (tmp_path / "tokenizer.json").write_text(json.dumps(settings))
    with pytest.raises(InputError, match=rf"tokenizer\.json: .*{reason}"):
        _ = read_tokenizer(tmp_path).tokenizer


def test_a_rank_file_has_tokens_but_no_engine_without_its_expression(tmp_path: Path) -> None:
    path = rank_file(tmp_path / "a.tiktoken", b"ab")
    file = read_tokenizer(tmp_path)
    assert (file.format, file.algorithm, file.tokens) == ("ranks", "BPE", (*BYTES, b"ab"))
    with pytest.raises(InputError, match=r"a\.tiktoken: .* regular expression"):
        _ = file.tokenizer
    known = read_tokenizer(path, RankSettings("toy", r"\S+|\s+", special=2, bos=257))
    assert known.ends == (257, None)
    assert known.library.tokens == (*BYTES, b"ab", None, None)
    assert known.tokenizer.encode("abab b").ids == [256, 256, 32, 98]


def test_one_of_several_rank_files_is_not_guessed(tmp_path: Path) -> None:
    rank_file(tmp_path / "a.tiktoken")
    rank_file(tmp_path / "b.tiktoken")
    with pytest.raises(InputError, match=r"rank files \(a.tiktoken, b.tiktoken\)"):
        read_tokenizer(tmp_path)
    assert read_tokenizer(tmp_path / "b.tiktoken").tokens == tuple(BYTES)
    for name in ("1000", "2000"):
        (tmp_path / "sizes" / name).mkdir(parents=True)
        (tmp_path / "sizes" / name / "tokenizer.json").touch()
    with pytest.raises(InputError, match=r"several tokenizers \(1000, 2000\)"):
        read_tokenizer(tmp_path / "sizes")


def test_a_pair_of_gpt2(tmp_path: Path) -> None:
    ids = {"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3, "\u0120": 4}
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    (tmp_path / "merges.txt").write_text("#version\na b\n")
    file = read_tokenizer(tmp_path)
    assert (file.format, file.path.name, file.tokens) == ("GPT-2", "vocab.json", (b"a", b"b", b"ab", None, b" "))
    assert file.tokenizer.encode("ab a").ids == [2, 4, 0]


def test_a_sentencepiece_model_that_is_normalised_has_tokens_but_no_engine(tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    path.write_bytes(small_bases.sentencepiece_model("bpe"))
    file = read_tokenizer(path)
    assert (file.format, file.algorithm, file.ends) == ("SentencePiece", "BPE", (1, 2))
    assert file.tokens == file.library.tokens
    text = small_bases.sentencepiece_model("bpe", normalization_rule_name="nmt_nfkc")
    path.write_bytes(text)
    assert read_tokenizer(path).tokens[0] is None
    with pytest.raises(InputError, match=r"normalisation \(nmt_nfkc\)"):
        _ = read_tokenizer(path).tokenizer


def test_what_a_normaliser_changes_and_puts_before_a_text() -> None:
    tokenizer = Tokenizer(
        models.BPE({"a": 0, "\u2581": 1, "\u2581a": 2, "[UNK]": 3}, [("\u2581", "a")], unk_token="[UNK]")
    )
    assert LibraryTokenizer(tokenizer).tokens == (b"a", "\u2581".encode(), "\u2581a".encode(), None)
    spaces = [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Sequence([*spaces, normalizers.Strip()])]
    )
    tokenizer.add_tokens([AddedToken("[X]", normalized=False)])
    tokenizer.enable_truncation(1)
    library = LibraryTokenizer(tokenizer)
    assert (library.prefix, library.spaces, library.changes) == (b" ", True, ("NFC", "Strip"))
    assert library.tokens == (b"a", b" ", b" a", None, b"[X]")
    assert (library.unknown, library.missing_bytes[:3], library.escaped) == (3, [0, 1, 2], None)
    assert [ids.tolist() for ids in library.encode_batch(["a a", "", "[X]a"])] == [[2, 2], [], [1, 4, 0]]
    assert len(tokenizer.encode("a a").ids) == 1, "the tokenizer itself stays as it is"


def test_added_tokens_are_looked_for_before_metaspace_replaces_spaces() -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0, "\u2581": 1}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.add_tokens([AddedToken("\u2581b", normalized=True)])
    assert tokenizer.encode("a\u2581b").ids == [0, 2]
    assert LibraryTokenizer(tokenizer).tokens == (b"a", b" ", "\u2581b".encode())


def test_metaspace_puts_a_space_before_a_text() -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0, "\u2581": 1, "\u2581a": 2}, [("\u2581", "a")]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(prepend_scheme="first")])
    library = LibraryTokenizer(tokenizer)
    assert (library.prefix, library.spaces, library.changes) == (b" ", True, ())
    assert library.encode_batch(["a a"])[0].tolist() == [2, 2]


def test_an_id_that_is_too_large_takes_no_memory() -> None:
    with pytest.raises(InputError, match="the id 4194304; at most 4194303"):
        LibraryTokenizer(Tokenizer(models.BPE({"a": 1 << 22}, [])))


def test_a_token_that_depends_on_its_place_is_refused() -> None:
    library = LibraryTokenizer(Tokenizer(models.BPE({"a</w>": 0}, [], end_of_word_suffix="</w>")))
    for marks in (None, ["end_of_word_suffix"]):
        with pytest.raises(InputError, match=r"it: .*end_of_word_suffix"):
            library.check_spelling("it", marks)


def test_chance_is_refused_in_memory_and_in_a_file(tmp_path) -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0}, [], dropout=0.1))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(InputError, match=r"it: .*dropout"):
        LibraryTokenizer(tokenizer).check_spelling("it")
    with pytest.raises(InputError, match=r"tokenizer\.json: .*dropout"):
        _ = read_tokenizer(tmp_path).tokenizer


@pytest.mark.parametrize(
    "dropping",
    [
        pre_tokenizers.Split(" ", "removed"),
        pre_tokenizers.Punctuation("removed"),
        pre_tokenizers.WhitespaceSplit(),
        pre_tokenizers.Whitespace(),
        pre_tokenizers.BertPreTokenizer(),
        pre_tokenizers.CharDelimiterSplit(","),
    ],
)
def test_a_pre_tokenizer_that_drops_characters_is_refused(dropping) -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([dropping, pre_tokenizers.ByteLevel(False)])
    assert "".join(piece for piece, _ in dropping.pre_tokenize_str("a, b")) != "a, b"
    with pytest.raises(InputError, match=r"it: .* drops characters"):
        LibraryTokenizer(tokenizer).check_spelling("it")


def test_spaces_at_the_end_have_no_engine(tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    path.write_bytes(small_bases.sentencepiece_model("bpe"))
    with pytest.raises(InputError, match=r"a\.model: its pieces have their spaces at the end"):
        of_pieces(replace(read_pieces(path), suffix_spaces=True), "a.model")
