"""`tokenlab export` as a user runs it."""

import json
import re

import pytest
from command import ended_here
from command import tokenlab_here as tokenlab

from tokenlab.ngrams import StatisticsOptions, ngram_statistics
from tokenlab.segment import Segmenter, SegmentOptions
from tokenlab.segment.words.model import WordModel
from tokenlab.segment.words.options import WordOptions
from tokenlab.tokenizers.export import ExportOptions, SentencePiece, export_tokenizer, word_tokenizer


@pytest.fixture
def text(tmp_path, chinese_sentences):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(chinese_sentences) + "\n", encoding="utf-8")
    return path


def assert_same_tokenizer(path, expected):
    """Equal but for the last digits of scores: other tests pin the numerics of the processes that they start."""
    found, wanted = (json.loads(file.read_text(encoding="utf-8")) for file in (path, expected))
    if found["model"]["type"] == "Unigram":
        pieces, scores = zip(*found["model"].pop("vocab"), strict=True)
        wanted_pieces, wanted_scores = zip(*wanted["model"].pop("vocab"), strict=True)
        assert pieces == wanted_pieces
        assert scores == pytest.approx(wanted_scores, rel=1e-12, abs=1e-12)
    assert found == wanted


HOW = {"weight": 1.25, "vbe_weight": 0.5, "isolate": "punctuation"}
FLAGS = ["--lambda", 1.25, "--variation", 0.5, "--isolate", "punctuation", "--n-max", 4]


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_equals_the_library(tmp_path, text, chinese_sentences, model):
    folder = tmp_path / "new" / "exported"
    special = ["pad=<pad>", "eos=<|im_end|>", "<|im_start|>"]
    more = ["--model", model, "--vocabulary-size", 3000, "--special-tokens", *special]
    assert tokenlab("export", text, "-o", folder, *FLAGS, *more) == ""
    statistics = ngram_statistics(chinese_sentences, StatisticsOptions(n_max=4))
    options = ExportOptions(model=model, vocabulary_size=3000, special_tokens=tuple(special))
    expected = export_tokenizer(chinese_sentences, statistics, SegmentOptions(**HOW), options)
    expected.save(str(tmp_path / "expected.json"))
    assert_same_tokenizer(folder / "tokenizer.json", tmp_path / "expected.json")
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert (config["pad_token"], config["eos_token"]) == ("<pad>", "<|im_end|>")
    assert config["additional_special_tokens"] == ["<|im_start|>"]
    assert (config["add_bos_token"], "bos_token" in config) == (False, False)


def test_check(tmp_path, text, chinese_sentences):
    gold = tmp_path / "gold.txt"
    segmenter = Segmenter(ngram_statistics(chinese_sentences), SegmentOptions())
    gold.write_text("".join(batch.text() for batch in segmenter.segment(chinese_sentences)), encoding="utf-8")
    arguments = ["export", text, "-o", tmp_path / "out"]
    figures = json.loads(tokenlab(*arguments, "--check", text, "--format", "json"))
    assert figures["lines"] == figures["lines_restored"] == len(chinese_sentences)
    assert figures["segments_equal_to_a_word"] > 0.97
    assert "f1_of_words" not in figures
    again = json.loads(tokenlab(*arguments, "--check-words", gold, "--format", "json"))
    assert {name: again[name] for name in figures if "second" not in name} == {
        name: figures[name] for name in figures if "second" not in name
    }
    assert again["f1_of_segments"] == 1.0  # the gold words are the segments
    assert again["f1_of_words"] > 0.97
    shown = tokenlab(*arguments, "--check-words", gold)
    assert f"f1 of words {100 * again['f1_of_words']:.2f} %" in " ".join(shown.split())


@pytest.mark.slow
def test_word_model(tmp_path, text, chinese_sentences):
    model = WordModel.fit(chinese_sentences, WordOptions(sweeps=4))
    model.save(tmp_path / "words.safetensors")
    how = ["export", text, "--word-model", tmp_path / "words.safetensors", "-o", tmp_path / "out"]
    figures = json.loads(tokenlab(*how, "--check", text, "--format", "json"))
    assert figures["lines"] == figures["lines_restored"] == len(chinese_sentences)
    assert figures["segments_equal_to_a_word"] > 0.95
    expected = word_tokenizer(model.segment(chinese_sentences), ExportOptions())
    expected.save(str(tmp_path / "expected.json"))
    assert_same_tokenizer(tmp_path / "out" / "tokenizer.json", tmp_path / "expected.json")
    for option, value in (("--lambda", 3), ("--lambda", 1.25), ("--isolate", "script"), ("--n-max", 6)):
        assert f"{option} has no meaning with --word-model" in tokenlab(*how, option, value, status=2)
    assert "--vocabulary-size is 400, but" in tokenlab(*how, "--vocabulary-size", 400, status=2)
    assert "standard input: the training text holds no" in tokenlab(how[0], "-", *how[2:], stdin=" \n", status=2)


@pytest.mark.parametrize("line", ["one word, 2.5", "中"])
def test_little_text(tmp_path, line):
    """Text without Han, and of one character."""
    (tmp_path / "text").write_text(f"{line}\n國, and more\n", encoding="utf-8")
    for how in (["--model", "unigram"], ["--model", "bpe"]):
        arguments = ["export", "-", "-o", tmp_path / "out", *how, "--check", tmp_path / "text", "--format", "json"]
        figures = json.loads(tokenlab(*arguments, stdin=line + "\n"))
        assert figures["lines"] == figures["lines_restored"] == 2
        assert figures["segments_equal_to_a_word"] == 1.0


@pytest.mark.parametrize("how", [[], ["--model", "bpe"], ["--to", "sentencepiece"]])
def test_few_entries_and_spaced_scripts_are_said(tmp_path, how):
    def said(text, *more):
        ended = ended_here("export", "-", "-o", tmp_path / "out", *how, *more, stdin=text)
        assert ended.status == 0, ended.said
        return ended.said

    chinese, english = "共同创造美好的新世纪abc\n" * 3, "a brown fox and a dog 日本\n" * 3
    assert said(chinese) == ""
    few = said(chinese, "--vocabulary-size", 29_000)
    assert few.count("\n") == 1 and "`tokenlab train`" in few
    (entries,) = re.findall(r"has (\d+) entries instead of 29,000:", few)
    assert said(chinese, "--vocabulary-size", entries) == ""
    if not how:
        assert len(json.loads((tmp_path / "out/tokenizer.json").read_text())["model"]["vocab"]) == int(entries)
    spaced = said(english)
    assert spaced.count("\n") == 1 and "scripts that are written with spaces" in spaced and "`tokenlab train`" in spaced
    assert said(english, "--vocabulary-size", 29_000).count("\n") == 2


def test_sentencepiece(tmp_path, text):
    pytest.importorskip("transformers")
    tokenlab("export", text, "-o", tmp_path / "out.model", "--to", "sentencepiece")
    assert (tmp_path / "out.model").stat().st_size > 10_000
    pytest.importorskip("sentencepiece")
    model = SentencePiece((tmp_path / "out.model").read_bytes())
    (encoded,) = model.encode(["中国  GPT-4\n"])
    assert model.decode([encoded.ids]) == ["中国  GPT-4\n"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--decoder greedy", "--decoder is 'greedy'; a tokenizer maximises a sum"),
        ("--vocabulary-size 300", "--vocabulary-size is 300, but"),
        ("--vocabulary-size 0", "--vocabulary-size is 0; it must be at least 1"),
        ("--to sentencepiece --model bpe", "--model is 'bpe'; only unigram"),
        ("--special-tokens pad=", "--special-tokens has 'pad='"),
        ("--entropies FILE", "--entropies has no meaning here: a tokenizer scores a piece without the text around it"),
        ("--method words", "--method has no meaning here; --variation 0 exports the method statistics, --word-model"),
        ("--json", "--json has no meaning without --check or --check-words; leave it out"),
        ("--check -", "standard input can only be INPUT"),
        ("--check missing.txt", "missing.txt: no such file"),
    ],
)
def test_one_line_about_what_is_wrong(tmp_path, text, arguments, message):
    error = tokenlab("export", text, "-o", tmp_path / "out", *arguments.split(), status=2)
    assert message in error
    assert not (tmp_path / "out").exists()


def test_places_that_are_refused(tmp_path, text):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    (tmp_path / "file").write_text("x")
    for place, message in (
        ("mine", "already holds thesis.tex"),
        ("file", "no folder"),
        ("text.txt/x", "may be written"),
    ):
        assert message in tokenlab("export", text, "-o", tmp_path / place, status=2)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "x"
    for _ in range(2):  # an export may be replaced
        tokenlab("export", text, "-o", tmp_path / "out")
    assert "no character" in tokenlab("export", "-", "-o", tmp_path / "none", stdin=" \n", status=2)
