"""`tokenlab segment` by each method, as a user runs it."""

import json
import subprocess

import memory
import pytest
from command import ended_here
from command import tokenlab_here as tokenlab

from tokenlab.ngrams import StatisticsOptions, ngram_statistics
from tokenlab.segment import Segmenter, SegmentOptions, by_statistics
from tokenlab.segment.words import WordModel, WordOptions
from tokenlab.segment.words import model as model_module
from tokenlab.text.sample import sample_lines

TEXT = "共同创造美好的新世纪，共同 努力\n\n美好的世纪abc　12％\n"
WORDS = ["--method", "words", "--sweeps", 4, "--classes", 9, "--seed", 3]

# Arguments, and what they are in SegmentOptions and in StatisticsOptions.
OPTIONS = [
    ("", {}, {}),
    ("--lambda 4 --decoder greedy --isolate none", {"weight": 4.0, "decoder": "greedy", "isolate": "none"}, {}),
    ("--entropy-only --single-character self", {"entropy_only": True, "single_character": "self"}, {}),
    ("--single-character 9 --tie long", {"single_character": 9.0, "tie": "long"}, {}),
    ("--isolate punctuation --lambda 0", {"isolate": "punctuation", "weight": 0.0}, {}),
    ("--n-max 3 --min-frequency 2 --edge symbol", {}, {"n_max": 3, "min_frequency": 2, "edge": "symbol"}),
    ("--count-tokens unigram --single-character self", {"single_character": "self"}, {"count_tokens": "unigram"}),
    ("--method statistics", {"vbe_weight": 0.0}, {}),
    ("--method statistics --variation 0.5 --lambda 1.25", {"vbe_weight": 0.5, "weight": 1.25}, {}),
    ("--log-base 2 --single-character 9", {"single_character": 9.0}, {"log_base": "2"}),
]


def test_options_are_those_of_the_library(chinese_text, chinese_sentences):
    for arguments, how, counted in OPTIONS:
        segmenter = Segmenter(ngram_statistics(chinese_sentences, StatisticsOptions(**counted)), SegmentOptions(**how))
        expected = "".join(batch.text() for batch in segmenter.segment(chinese_sentences))
        assert tokenlab("segment", chinese_text, *arguments.split()) == expected, arguments


def test_segment_keeps_lines_and_offsets_keep_whitespace():
    lines = tokenlab("segment", "-", stdin=TEXT).split("\n")
    assert [line.replace(" ", "") for line in lines] == ["共同创造美好的新世纪，共同努力", "", "美好的世纪abc12％", ""]
    records = map(json.loads, tokenlab("segment", "-", "--json", stdin=TEXT).splitlines())
    for record, sentence, line in zip(records, TEXT.split("\n"), lines, strict=False):
        assert record["text"] == sentence
        assert [sentence[a:b] for a, b in record["offsets"]] == line.split()


def test_a_word_model_is_fitted_kept_and_used_again(tmp_path, chinese_text, chinese_sentences):
    model = WordModel.fit(chinese_sentences, WordOptions(sweeps=4, classes=9, seed=3))
    kept = tmp_path / "model"
    assert tokenlab("segment", chinese_text, *WORDS, "--save-model", kept) == model.training.text()
    (expected,) = model.segment(chinese_sentences[:20])
    stdin = "\n".join(chinese_sentences[:20]) + "\n"
    assert tokenlab("segment", "-", "--model", kept, stdin=stdin) == expected.text()
    lines = tokenlab("segment", "-", "--model", kept, "--json", stdin=stdin).splitlines()
    assert [json.loads(line)["text"] for line in lines] == chinese_sentences[:20]


def test_a_word_model_of_a_sample_segments_all_of_the_text(tmp_path, chinese_text, chinese_sentences):
    sample = sample_lines(chinese_sentences, 2000)
    model = WordModel.fit(sample, WordOptions(sweeps=4, classes=9, seed=3))
    model.save(tmp_path / "expected")
    expected = "".join(batch.text() for batch in model.segment(chinese_sentences))
    assert tokenlab("segment", chinese_text, *WORDS, "--sample", "2K", "--save-model", tmp_path / "kept") == expected
    assert (tmp_path / "kept").read_bytes() == (tmp_path / "expected").read_bytes()


@pytest.mark.parametrize("place", ["--workers 2", pytest.param("--cluster local", marks=pytest.mark.slow)])
def test_segments_do_not_depend_on_where_they_are_found(tmp_path, chinese_sentences, monkeypatch, place):
    sentences = chinese_sentences * (50_000 // sum(map(len, chinese_sentences)))
    for module in (by_statistics, model_module):
        monkeypatch.setattr(module, "_CHARACTERS_PER_BATCH", 10_000)  # several batches
    (tmp_path / "text").write_text("\n".join(sentences), encoding="utf-8")
    model = WordModel.fit(chinese_sentences, WordOptions(sweeps=2, classes=0))
    model.save(tmp_path / "model")
    expected = "".join(batch.text() for batch in model.segment(sentences))
    assert tokenlab("segment", tmp_path / "text", "--model", tmp_path / "model", *place.split()) == expected
    without_model = ("segment", tmp_path / "text", "--n-max", 3)
    assert tokenlab(*without_model, *place.split()) == tokenlab(*without_model)


def test_delimiter_leaves_the_spaces_of_the_text():
    line = "共同 创造美好\u3000的abc，世纪"
    plain = tokenlab("segment", "-", stdin=line + "\n")
    marked = tokenlab("segment", "-", "--delimiter", "|", stdin=line + "\n")
    assert marked.replace("|", "") == line + "\n"
    assert marked.replace("|", " ").split() == plain.split()
    assert "||" not in marked and "| " not in marked and " |" not in marked


@pytest.mark.parametrize("method", ["variation", "words"])
def test_a_text_of_one_character(method):
    assert tokenlab("segment", "-", "--method", method, stdin="中\n") == "中\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("In the beginning God created.\n", True),
        ("في البدء خلق الله 😀\n", True),
        ("នៅដើមដំបូង ព្រះបានបង្កើត\n", False),
        ("abc 共同\n", False),
    ],
    ids=["Latin", "Arabic", "Khmer", "mixed"],
)
def test_a_text_without_scripts_to_segment_is_said(text, said):
    for command, words in (
        (["segment", "-"], "standard input: no character of a script"),
        (["bits", "measure", "-"], "change nothing here"),
    ):
        ended = ended_here(*command, stdin=text)
        assert ended.status == 0 and (words in ended.said if said else not ended.said)
    assert ended_here("segment", "-", "--isolate", "punctuation", stdin=text).said == ""


def test_a_word_model_of_another_language_is_said(tmp_path, chinese_sentences):
    chinese = "\n".join(chinese_sentences[:200])
    tokenlab("segment", "-", *WORDS, "--save-model", tmp_path / "zh.words", stdin=chinese)
    for text, said in ((chinese, ""), ("สวัสดีครับ\n", "standard input: the model knows 0% of its characters")):
        ended = ended_here("segment", "-", "--model", tmp_path / "zh.words", stdin=text)
        assert (
            ended.status == 0
            and ended.said.removeprefix("tokenlab: ").startswith(said)
            and bool(said) == bool(ended.said)
        )


@pytest.mark.slow
def test_three_times_the_text_takes_as_much_memory(tmp_path, chinese_sentences):
    """Once the statistics are given; the least of three runs, since the allocator makes a difference of 30 MiB."""
    text = "\n".join(chinese_sentences) + "\n"
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    tokenlab("statistics", tmp_path / "text.txt", "-o", tmp_path / "s.parquet")
    segment = ["segment", str(tmp_path / "long.txt"), "--statistics-from", str(tmp_path / "s.parquet")]
    peaks = []
    for size in (20_000_000, 60_000_000):
        (tmp_path / "long.txt").write_text(text * (size // len(text.encode()) + 1), encoding="utf-8")
        runs = [subprocess.run([*memory.COMMAND, *segment], capture_output=True, check=True) for _ in range(3)]
        peaks.append(min(int(run.stderr.split()[-1]) for run in runs))
    assert peaks[1] - peaks[0] < 25, peaks
