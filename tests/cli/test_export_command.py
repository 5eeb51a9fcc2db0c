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
def test_equals_the_library(tmp_path, chinese_text, chinese_sentences, model):
    folder = tmp_path / "new" / "exported"
    special = ["pad=<pad>", "eos=<|im_end|>", "<|im_start|>"]
    more = ["--model", model, "--vocabulary-size", 3000, "--special-tokens", *special]
    assert tokenlab("export", chinese_text, "-o", folder, *FLAGS, *more) == ""
    statistics = ngram_statistics(chinese_sentences, StatisticsOptions(n_max=4))
    options = ExportOptions(model=model, vocabulary_size=3000, special_tokens=tuple(special))
    expected = export_tokenizer(chinese_sentences, statistics, SegmentOptions(**HOW), options)
    expected.save(str(tmp_path / "expected.json"))
    assert_same_tokenizer(folder / "tokenizer.json", tmp_path / "expected.json")
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert (config["pad_token"], config["eos_token"]) == ("<pad>", "<|im_end|>")
    assert config["additional_special_tokens"] == ["<|im_start|>"]
    assert (config["add_bos_token"], "bos_token" in config) == (False, False)


def test_check(tmp_path, chinese_text, chinese_sentences):
    gold = tmp_path / "gold.txt"
    segmenter = Segmenter(ngram_statistics(chinese_sentences), SegmentOptions())
    gold.write_text("".join(batch.text() for batch in segmenter.segment(chinese_sentences)), encoding="utf-8")
    arguments = ["export", chinese_text, "-o", tmp_path / "out"]
    figures = json.loads(tokenlab(*arguments, "--check", chinese_text, "--json"))
    assert figures["lines"] == figures["lines_restored"] == len(chinese_sentences)
    assert figures["segments_equal_to_a_word"] > 0.97
    assert "f1_of_words" not in figures
    again = json.loads(tokenlab(*arguments, "--check-words", gold, "--json"))
    assert {name: again[name] for name in figures if "second" not in name} == {
        name: figures[name] for name in figures if "second" not in name
    }
    assert again["f1_of_segments"] == 1.0  # the gold words are the segments
    assert again["f1_of_words"] > 0.97
    shown = tokenlab(*arguments, "--check-words", gold)
    assert f"f1 of words {100 * again['f1_of_words']:.2f} %" in " ".join(shown.split())


@pytest.mark.slow
def test_word_model(tmp_path, chinese_text, chinese_sentences):
    model = WordModel.fit(chinese_sentences, WordOptions(sweeps=4))
    model.save(tmp_path / "words.safetensors")
    how = ["export", chinese_text, "--word-model", tmp_path / "words.safetensors", "-o", tmp_path / "out"]
    figures = json.loads(tokenlab(*how, "--check", chinese_text, "--json"))
    assert figures["lines"] == figures["lines_restored"] == len(chinese_sentences)
    assert figures["segments_equal_to_a_word"] > 0.95
    expected = word_tokenizer(model.segment(chinese_sentences), ExportOptions())
    expected.save(str(tmp_path / "expected.json"))
    assert_same_tokenizer(tmp_path / "out" / "tokenizer.json", tmp_path / "expected.json")


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
    (entries,) = re.findall(r"(\d+) entries instead of 29,000", few)
    assert said(chinese, "--vocabulary-size", entries) == ""
    if not how:
        assert len(json.loads((tmp_path / "out/tokenizer.json").read_text())["model"]["vocab"]) == int(entries)
    spaced = said(english)
    assert spaced.count("\n") == 1 and "written with spaces" in spaced and "`tokenlab train`" in spaced
    assert said(english, "--vocabulary-size", 29_000).count("\n") == 2


def test_sentencepiece(tmp_path, chinese_text):
    pytest.importorskip("transformers")
    tokenlab("export", chinese_text, "-o", tmp_path / "out.model", "--to", "sentencepiece")
    assert (tmp_path / "out.model").stat().st_size > 10_000
    pytest.importorskip("sentencepiece")
    model = SentencePiece((tmp_path / "out.model").read_bytes())
    (encoded,) = model.encode(["中国  GPT-4\n"])
    assert model.decode([encoded.ids]) == ["中国  GPT-4\n"]
