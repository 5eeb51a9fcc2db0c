"""Tokenizers trained from counts of pieces: against Hugging Face's trainer, and on any text."""

import collections
import gzip
import itertools
import json
import random
import re
import unicodedata
from dataclasses import replace
from functools import cache
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.formats.pieces import BYTE_PIECES
from tokenlab.generated import generate
from tokenlab.segment.words.model import WordModel
from tokenlab.text.readers import read_documents
from tokenlab.tokenizers import piece_counts, piece_kernels
from tokenlab.tokenizers.cuts import Cut, make_cut
from tokenlab.tokenizers.options import TrainOptions
from tokenlab.tokenizers.piece_counts import (
    PieceCounts,
    count_in_shards,
    count_pieces,
    merge_counts,
    read_counts,
    write_counts,
)
from tokenlab.tokenizers.trained import train_tokenizers, unreached_tokens, with_alphabet

SPECIAL = ("pad=<|pad|>", "eos=<|endoftext|>", "<|im_start|>")
TOKENS = ["<|pad|>", "<|endoftext|>", "<|im_start|>"]
BIBLES = {"English": 100, "Chinese": 200, "Japanese": 150, "Korean": 150}
THAI = ["ครับผมไปโรงเรียนทุกวัน", "วันนี้อากาศดีมาก ครับ 2567", "โรงเรียนดีมาก"]


@pytest.fixture(scope="module")
def corpora(mirror):
    """Lines of four Bibles and of Thai articles."""
    found = {}
    for name, lines in BIBLES.items():
        with gzip.open(mirror / f"bible/{name}.xml.gz", "rt", encoding="utf-8") as file:
            verses = (line.strip() for line in file if line.strip() and not line.lstrip().startswith("<"))
            found[name] = list(itertools.islice(verses, lines))
    with gzip.open(mirror / "segmentation/ud_th.utf8.gz", "rt", encoding="utf-8") as file:
        found["Thai"] = ["".join(line.split()) for line in itertools.islice(file, 60)]
    assert all(sum(map(len, lines)) > 5_000 for lines in found.values())
    return found


def of_hugging_face(texts, cut, size):
    """Byte-level BPE by its own trainer, which reads texts. Learned words are given to it as texts of their own."""
    tokenizer = Tokenizer(models.BPE())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    steps = pre_tokenizers.Sequence([cut.split(), byte_level]) if cut.pattern else byte_level
    tokenizer.pre_tokenizer = byte_level if cut.cutter else steps
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=TOKENS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(itertools.chain(*cut.pieces(texts)) if cut.cutter else texts, trainer)
    tokenizer.pre_tokenizer = steps
    return tokenizer.to_str()


def first_tokens(tokenizer, size):
    """The tokenizer that training ends with at a smaller size."""
    content = json.loads(tokenizer)
    model = content["model"]
    vocabulary = {token: number for token, number in model["vocab"].items() if number < size}
    merges = model["merges"][: len(model["merges"]) - len(model["vocab"]) + size]
    return content | {"model": model | {"vocab": vocabulary, "merges": merges}}


@pytest.mark.parametrize("cut", ["auto", "words", "statistics", "gpt2", "llama3", "whitespace", "none", r"[^\s,.]+"])
def test_the_file_is_that_of_hugging_face(tmp_path, corpora, cut):
    """From text, and from counts in a file, which are of two parts of the text."""
    for name, lines in corpora.items():
        made = make_cut(cut, lines)
        (counts,) = count_pieces(lines, [made])
        expected = of_hugging_face(lines, made, 1000)
        options = TrainOptions((500, 1000), byte_tokens="level", special_tokens=SPECIAL)
        small, large = train_tokenizers(counts, options)
        assert large.to_str() == expected, name
        assert json.loads(small.to_str()) == first_tokens(expected, 500)
        for number, part in enumerate((lines[:40], lines[40:])):
            write_counts(count_pieces(part, [made])[0], tmp_path / f"{number}.parquet")
        merged = merge_counts([read_counts(tmp_path / f"{number}.parquet") for number in range(2)])
        assert train_tokenizers(merged, options)[1].to_str() == expected


def test_merges_of_characters_are_those_of_hugging_face(corpora):
    for name, lines in corpora.items():
        cut = make_cut("auto", lines)
        (counts,) = count_pieces(lines, [cut])
        options = TrainOptions((3000,), byte_tokens="fallback", coverage=1.0, special_tokens=SPECIAL)
        model = json.loads(train_tokenizers(counts, options)[0].to_str())["model"]
        plain = Tokenizer(models.BPE())
        trainer = trainers.BpeTrainer(vocab_size=3000 - 256 - len(TOKENS), show_progress=False)
        plain.train_from_iterator(itertools.chain(*cut.pieces(lines)), trainer)
        expected = json.loads(plain.to_str())["model"]
        assert model["merges"] == expected["merges"], name
        reserved = [*TOKENS, *BYTE_PIECES]
        ids = {token: number + len(reserved) for token, number in expected["vocab"].items()}
        assert model["vocab"] == {token: number for number, token in enumerate(reserved)} | ids


@pytest.mark.nightly
@pytest.mark.parametrize(
    "options",
    [{"byte_tokens": "level"}, {"byte_tokens": "fallback"}, {"model": "unigram", "byte_tokens": "fallback"}],
)
def test_every_verse_of_every_bible_is_decoded_to_itself(mirror, options):
    for path in sorted((mirror / "bible").glob("*.gz")):
        verses = [document.text for document in read_documents(path, "ces")]
        (counts,) = count_pieces(verses[::20], [make_cut("words", verses[::200])])
        (tokenizer,) = train_tokenizers(counts, TrainOptions((3000,), **options))
        decoded = tokenizer.decode_batch([found.ids for found in tokenizer.encode_batch(verses)])
        assert decoded == verses, path.name


@pytest.mark.nightly
def test_a_million_random_strings_are_decoded_to_themselves():
    characters = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    drawn = random.Random(0)
    for _ in range(100):
        texts = ["".join(drawn.choices(characters, k=drawn.randrange(12))) for _ in range(10_000)]
        texts += ["".join(drawn.choices("ab \n\rก็ดี漢か。3<|pad>0x41", k=9)) for _ in range(100)]
        for tokenizer in built_in_tokenizers():
            tokenizer.encode_special_tokens = True
            decoded = tokenizer.decode_batch([found.ids for found in tokenizer.encode_batch(texts)])
            assert decoded == texts


HAN = "".join(map(chr, range(0x4E00, 0x4E00 + 100)))


@pytest.mark.parametrize(
    ("text", "cut", "size", "chosen"),
    [
        (f"{HAN} {'a' * 98}", "auto", 2 * (2 + 256 + 102), "fallback"),
        (f"{HAN} {'a' * 98}", "auto", 2 * (2 + 256 + 102) - 1, "level"),  # They would take more than half of it.
        (f"{HAN} {'a' * 99}", "auto", 5000, "level"),
        ("かな漢字です。and", "auto", 5000, "fallback"),
        ("ภาษาไทย and", "auto", 5000, "fallback"),
        ("မြန်မာ and", "auto", 5000, "fallback"),
        ("한국어", "auto", 5000, "level"),
        (HAN, "gpt2", 5000, "level"),
        (HAN, "none", 5000, "level"),
    ],
)
def test_characters_are_the_alphabet_where_most_of_the_text_has_no_spaces(text, cut, size, chosen):
    (counts,) = count_pieces([text], [make_cut(cut, [])])
    options = TrainOptions((size, 6000), coverage=1.0)
    assert with_alphabet(options, counts) == replace(options, byte_tokens=chosen)
    unigram = replace(options, model="unigram")
    assert with_alphabet(unigram, counts).byte_tokens == ("fallback" if cut == "auto" and size == 5000 else chosen)
    for named in ("level", "fallback"):
        asked = replace(options, byte_tokens=named)
        assert with_alphabet(asked, counts) == asked


def test_a_rare_character_is_bytes_and_ends_a_sequence():
    counts = PieceCounts(["aXb", "cab"], np.array([1, 999]), Cut("none", None))
    (tokenizer,) = train_tokenizers(counts, TrainOptions((270,), byte_tokens="fallback", coverage=0.999))
    assert tokenizer.encode("aXb").tokens == ["a", "<0x58>", "b"]
    assert tokenizer.encode("cab").tokens == ["cab"]
    assert tokenizer.decode(tokenizer.encode("cabXไ\n").ids) == "cabXไ\n"


@pytest.mark.parametrize("text", ["<0x4A>", "<0x4a>", "<0x+4>", "x<0xfF>"])
def test_no_token_is_learned_that_is_decoded_to_a_byte(text):
    counts = PieceCounts(sorted([text, *"<0xaAfF+4>"]), np.full(11, 100), Cut("none", None))
    (tokenizer,) = train_tokenizers(counts, TrainOptions((300,), byte_tokens="fallback"))
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_counts_beyond_int32_decide():
    """The pair ab occurs 3 x 2^31 times: negative as int32, and rarer than cd as uint32."""
    counts = PieceCounts(["ab", "abe", "cd"], np.array([2**32, 2**31, 2**31 + 1]), Cut("none", None))
    (tokenizer,) = train_tokenizers(counts, TrainOptions((3 + 256,), special_tokens=TOKENS[:2]))
    assert json.loads(tokenizer.to_str())["model"]["merges"] == [["a", "b"]]


def built_in(cut, **options):
    texts = [document.text for language in ("en", "zh") for document in generate(language, sentences=200, seed=2)]
    made = make_cut(cut, [*texts, *THAI])
    (counts,) = count_pieces([*texts, *THAI], [made])
    return train_tokenizers(counts, TrainOptions((1500,), special_tokens=SPECIAL, **options))[0]


@cache
def built_in_tokenizers():
    return [
        built_in("auto"),
        built_in("llama3"),
        built_in("none", byte_tokens="fallback"),
        built_in("auto", byte_tokens="fallback", coverage=0.9),
        built_in("x*|[a-d]", byte_tokens="level"),
        built_in("auto", model="unigram", byte_tokens="level"),
        built_in("whitespace", model="unigram", byte_tokens="fallback", coverage=0.9),
    ]


@settings(max_examples=300)
@given(st.text(max_size=40) | st.text(st.sampled_from("ab \n\r\tก็ดี漢か。3<|pad>0x41😀\u200d\u0301"), max_size=40))
def test_every_text_is_decoded_to_itself(text):
    for tokenizer in built_in_tokenizers():
        for as_text in (False, True):  # whether a special token in the text is text
            tokenizer.encode_special_tokens = as_text
            ids = tokenizer.encode(text).ids
            assert tokenizer.decode(ids, skip_special_tokens=False) == text
            assert not as_text or min(ids, default=3) >= 3


@cache
def words_of_thai():
    return make_cut("words", THAI)


@settings(max_examples=200)
@given(st.text(st.sampled_from("ab '’\n\tกดีๆ漢か。34๕<|pad>.,😀\u0301་༌།"), max_size=40))
def test_pieces_of_auto_and_words(text):
    """They spell the text; digits are in threes, stops stand apart, and only a space stands before a word."""
    cuts = make_cut("auto", THAI), words_of_thai()
    for cut in cuts:
        (pieces,) = cut.pieces([text])
        assert "".join(pieces) == text
        for piece in pieces:
            assert len(re.findall(r"\d", piece)) <= 3
            assert not re.search(r"[.,。།][^\W\d_]|[^\W\d_][.,。།]", piece)
            assert piece.isspace() or not re.search(r"\s", piece[1:])
    edges = [set(itertools.accumulate(map(len, cut.pieces([text])[0]))) for cut in cuts]
    assert edges[0] <= edges[1]


def test_learned_words_cut_scripts_without_spaces_only(monkeypatch):
    text = "ครับผมไปโรงเรียนทุกวัน Wednesday"
    assert make_cut("auto", THAI * 20).pieces([text]) == [["ครับผมไปโรงเรียนทุกวัน", " Wednesday"]]
    cut = make_cut("words", THAI * 20)
    (pieces,) = cut.pieces([text])
    assert len(pieces) > 2 and pieces[-1] == " Wednesday"
    monkeypatch.setattr("tokenlab.tokenizers.cuts._SAMPLE", 10_000)  # fewer characters than the other lines have
    among_others = make_cut("words", [*["“no such script”"] * 1000, *THAI * 20])
    assert among_others.pieces(THAI) == cut.pieces(THAI)
    assert make_cut("words", ["no such script", "한국어"]).cutter is None
    assert cut.pieces([]) == [] and cut.pieces([""]) == [[]]


def test_counts_are_kept(tmp_path):
    cut = make_cut("whitespace", [])
    (counts,) = count_pieces(["a b a", "b\ta\n\na"], [cut])
    expected = {"a": 3, " b": 1, " a": 1, "b": 1, "\t": 1, "\n": 2}
    assert dict(zip(counts.pieces, counts.counts.tolist(), strict=True)) == expected
    large = counts._replace(counts=counts.counts + 3 * 2**31)
    write_counts(large, tmp_path / "a.parquet")
    read = read_counts(tmp_path / "a.parquet")
    assert (read.pieces, read.counts.tolist(), read.cut) == (large.pieces, large.counts.tolist(), cut)
    assert merge_counts([read, read]).counts.tolist() == (2 * large.counts).tolist()
    with pytest.raises(InputError, match="has a line feed"):
        write_counts(large, tmp_path / "a.tsv")
    (lines,) = count_pieces(["a b\ta"], [cut])
    write_counts(lines, tmp_path / "b.tsv")
    assert (tmp_path / "b.tsv").read_text() == "\t\t1\n b\t1\na\t2\n"
    assert read_counts(tmp_path / "b.tsv").cut is None
    with pytest.raises(InputError, match="different cuts"):
        merge_counts([read, read_counts(tmp_path / "b.tsv")])
    with pytest.raises(InputError, match="no counts to add"):
        merge_counts([])


def test_words_are_learned_from_a_sample_of_a_long_text(monkeypatch):
    samples = []
    monkeypatch.setattr("tokenlab.tokenizers.cuts._SAMPLE", 100)
    monkeypatch.setattr(WordModel, "fit", lambda sample, progress: samples.append(sum(map(len, sample))))
    make_cut("words", ["\n".join(THAI * 20), *THAI])
    assert 100 <= samples[0] < 200


@pytest.mark.parametrize("memory", [5000, 10**9])
def test_counts_of_shards_are_those_of_the_text(corpora, tmp_path, monkeypatch, memory):
    """Many shards, whose runs are merged three at a time, and one."""
    monkeypatch.setattr("tokenlab.tokenizers.piece_counts._RUNS", 3)
    monkeypatch.setattr("tokenlab.tokenizers.piece_counts._CHARACTERS_AT_ONCE", 60)  # several runs of a shard
    for lines in corpora.values():
        cuts = [make_cut("statistics", lines), make_cut("gpt2", [])]
        found = count_in_shards(lines[:80], cuts, memory, tmp_path)
        for counts, expected in zip(found, count_pieces(lines[:80], cuts), strict=True):
            assert (counts.pieces, counts.counts.tolist()) == (expected.pieces, expected.counts.tolist())
            assert counts.cut == expected.cut
    assert not list(tmp_path.iterdir())
    assert count_in_shards([], [make_cut("gpt2", [])], 1)[0].pieces == []


@pytest.mark.parametrize(
    ("content", "message"),
    [("a\n", ":1: not a piece"), ("a\t1\nb\tx\n", ":2: not"), ("a\t0\n", ":1: the count 0"), ("", "no piece"),
     (f"a\t{'9' * 5000}\n", ":1: not a piece"),
     ("\t3\n", ":1: no piece"), (f"a\t{2**63}\n", "2\\^63"), (f"a\t{2**62}\na\t{2**62}\n", "divide")],
)  # fmt: skip
def test_wrong_tables(tmp_path, content, message):
    (tmp_path / "counts.tsv").write_text(content)
    with pytest.raises(InputError, match=message):
        read_counts(tmp_path / "counts.tsv")
    (tmp_path / "counts.parquet").write_text(content)
    with pytest.raises(InputError, match="no table of counts"):
        read_counts(tmp_path / "counts.parquet")


def test_what_cannot_be_trained():
    with pytest.raises(InputError, match=r"lone surrogate \(U\+D800\)"):
        count_pieces(["a", "b \ud800"], [make_cut("none", [])])
    counts = PieceCounts(["ab", "<|pad|>x"], np.array([2, 2]), Cut("none", None))
    with pytest.raises(ParameterError, match=r"vocabulary is 100, .* need 258"):
        train_tokenizers(counts, TrainOptions((100,)))
    with pytest.raises(ParameterError, match="'Ã©', which is read as other bytes"):
        train_tokenizers(counts._replace(pieces=["é", "é"]), TrainOptions(special_tokens=("Ã©",)))


EXPRESSIONS = ("auto", "gpt2", "llama3", "whitespace")


@cache
def cut_and_split(name):
    """A cut, and Oniguruma's with the same expression, which takes milliseconds to compile."""
    cut = make_cut(name, [])
    return cut, cut.split()


def matches(split, text):
    """The pieces of a text by Oniguruma."""
    spans = [span for _, span in split.pre_tokenize_str(text)]
    return [text[start:end] for start, end in spans if end > start]


SIGNS = " \0\n\r\t'’.,_1²5๕Ⅷ\xa0\u0301\u3000\x1c\x85\u200b\ufeff😀"
LETTERS = "abLlVvReEsSſTtMmDdK漢かーｰ○กดีᨠ་༌།།"


@settings(max_examples=150)
@given(st.lists(st.text(st.sampled_from(SIGNS + LETTERS), max_size=12) | st.text(max_size=12), max_size=5))
def test_kernels_cut_as_the_expressions_do(texts):
    cuts, splits = zip(*map(cut_and_split, EXPRESSIONS), strict=True)
    with mock.patch.multiple(piece_counts, _CHARACTERS_AT_ONCE=12):
        found = count_pieces(texts, cuts)
    for cut, split, counts in zip(cuts, splits, found, strict=True):
        expected = [matches(split, text) for text in texts]
        assert cut.pieces(texts) == expected
        total = collections.Counter(itertools.chain(*expected))
        assert dict(zip(counts.pieces, counts.counts.tolist(), strict=True)) == total


def test_kernels_know_every_character():
    """All of Unicode, each character between a letter and a space, and between a space and a digit."""
    characters = [chr(point) for point in range(0x110000) if unicodedata.category(chr(point)) not in ("Cn", "Co", "Cs")]
    random.Random(1).shuffle(characters)
    text = "".join(f"a{character} {character}1" for character in characters)
    for cut, split in map(cut_and_split, EXPRESSIONS):
        assert cut.pieces([text]) == [matches(split, text)]


def test_long_pieces_with_equal_hashes_are_counted_apart():
    encoded = np.frombuffer(b"one long piece, 1" + b"one long piece, 2" + b"one long piece, 1", np.uint8)
    keys = np.full((3, 2), [7, piece_kernels._HASHED], np.uint64)
    table = piece_kernels.no_pieces()
    assert piece_kernels._add(encoded, np.arange(0, 52, 17), keys, 0, table) == 3
    assert piece_kernels.counts_by_piece(table) == {"one long piece, 1": 2, "one long piece, 2": 1}


def test_a_token_is_reached_after_letters():
    (counts,) = count_pieces(["cat's"] * 9, [make_cut("auto", [])])
    (tokenizer,) = train_tokenizers(counts, TrainOptions((259,), special_tokens=()))
    assert unreached_tokens(tokenizer) == ["'s"] and not unreached_tokens(tokenizer, counts.pieces)


@pytest.mark.parametrize("byte_tokens", ["level", "fallback"])
def test_unigram_is_that_of_its_pieces(byte_tokens):
    """As good as Hugging Face's on the same words, and all sizes are met exactly."""
    texts = [document.text for document in generate("en", sentences=300, seed=2)]
    cut = make_cut("whitespace", [])
    (counts,) = count_pieces(texts, [cut])
    options = TrainOptions((600, 700), "unigram", byte_tokens, special_tokens=SPECIAL)
    trained = train_tokenizers(counts, options)
    assert [tokenizer.get_vocab_size() for tokenizer in trained] == [600, 700]
    assert [trained[0].token_to_id(token) for token in TOKENS] == [0, 1, 2]
    assert not unreached_tokens(trained[1])
    theirs = Tokenizer(models.Unigram())
    theirs.pre_tokenizer = cut.split()
    size = 700 - len(TOKENS) - (256 if byte_tokens == "fallback" else 0)
    trainer = trainers.UnigramTrainer(vocab_size=size, show_progress=False, unk_token="?", special_tokens=["?"])
    theirs.train_from_iterator(texts, trainer)
    ours, others = (sum(map(len, tokenizer.encode_batch(texts))) for tokenizer in (trained[1], theirs))
    assert ours < 1.05 * others
    with pytest.raises(ParameterError, match="vocabulary is 900000, but") as refused:
        train_tokenizers(counts, TrainOptions((600, 900_000), "unigram", byte_tokens))
    largest = int(re.search(r"pieces for (\d+)", str(refused.value))[1])
    (tokenizer,) = train_tokenizers(counts, TrainOptions((largest,), "unigram", byte_tokens))
    assert tokenizer.get_vocab_size() == largest
