"""The `tokenlab` command as a user runs it: a process, files, standard streams."""

import json
import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from command import tokenlab_here as tokenlab
from plain_segmentation import plain_segments, utility_table

from tokenlab.ngrams import StatisticsOptions, ngram_statistics
from tokenlab.segment import SegmentOptions

TEXT = "共同创造美好的新世纪，共同 努力\n\n美好的世纪abc　12％\n"


# Arguments, and what they say to SegmentOptions and to StatisticsOptions.
OPTIONS = [
    ("", {}, {}),
    ("--lambda 4 --decoder greedy --isolate none", {"weight": 4.0, "decoder": "greedy", "isolate": "none"}, {}),
    ("--entropy-only --single-character self", {"entropy_only": True, "single_character": "self"}, {}),
    ("--single-character 9 --tie long", {"single_character": 9.0, "tie": "long"}, {}),
    ("--single-character fallback --decoder greedy", {"single_character": "fallback", "decoder": "greedy"}, {}),
    ("--isolate punctuation --lambda 0", {"isolate": "punctuation", "weight": 0.0}, {}),
    ("--n-max 3 --min-frequency 2 --edge symbol", {}, {"n_max": 3, "min_frequency": 2, "edge": "symbol"}),
    ("--count-tokens unigram --single-character self", {"single_character": "self"}, {"count_tokens": "unigram"}),
    ("--count-tokens bigram", {}, {"count_tokens": "bigram"}),
    ("--variation 0.5 --lambda 1.25", {"vbe_weight": 0.5, "weight": 1.25}, {}),
    ("--log-base 2 --single-character 9", {"single_character": 9.0}, {"log_base": "2"}),
]


@pytest.mark.parametrize(("arguments", "how", "counted"), OPTIONS, ids=[row[0] for row in OPTIONS])
def test_segment_equals_plain_implementation(tmp_path, chinese_sentences, arguments, how, counted):
    sentences = chinese_sentences[:80]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(sentences) + "\n", encoding="utf-8")
    statistics = ngram_statistics(sentences, StatisticsOptions(**counted))
    options = SegmentOptions(**how)
    table = utility_table(statistics, options)
    expected = [" ".join(plain_segments(s, options, table, statistics.options.n_max)) for s in sentences]
    assert tokenlab("segment", path, *arguments.split()).splitlines() == expected


def test_segment_keeps_lines_and_offsets_keep_whitespace():
    lines = tokenlab("segment", "-", stdin=TEXT).split("\n")
    assert [line.replace(" ", "") for line in lines] == ["共同创造美好的新世纪，共同努力", "", "美好的世纪abc12％", ""]
    for record, sentence in zip(
        map(json.loads, tokenlab("segment", "-", "--format", "json", stdin=TEXT).splitlines()),
        TEXT.split("\n"),
        strict=False,
    ):
        assert record["text"] == sentence
        assert [sentence[a:b] for a, b in record["offsets"]] == lines.pop(0).split()


def test_windows_lines_and_bom_change_nothing():
    assert tokenlab("segment", "-", stdin="\ufeff" + TEXT.replace("\n", "\r\n")) == tokenlab("segment", "-", stdin=TEXT)


def test_statistics_from_text_and_from_parquet_agree(tmp_path):
    source, table = tmp_path / "source.txt", tmp_path / "source.parquet"
    source.write_text("新世纪的世纪\n美好的世纪\n", encoding="utf-8")
    assert tokenlab("statistics", source, "-o", table, "--n-max", "4") == ""
    both = [tokenlab("segment", "-", "--statistics-from", path, "--n-max", "4", stdin=TEXT) for path in (source, table)]
    assert both[0] == both[1] != tokenlab("segment", "-", "--n-max", "4", stdin=TEXT)
    for option in (["--n-max", "5"], ["--n-max", "4", "--edge", "symbol"], ["--n-max", "4", "--min-frequency", "2"]):
        assert "other options" in tokenlab("segment", "-", "--statistics-from", table, *option, stdin=TEXT, status=2)


def test_statistics_prints_the_most_frequent(tmp_path):
    lines = tokenlab("statistics", "-", "--top", "3", stdin="abab ab\nb\n").splitlines()
    assert lines[0].split("\t") == ["ngram", "n", "count", "min_pmi", "left_entropy", "right_entropy"]
    assert [line.split("\t")[:3] for line in lines[1:]] == [["b", "1", "4"], ["a", "1", "3"], ["ab", "2", "3"]]
    records = [json.loads(line) for line in tokenlab("statistics", "-", "--format", "json", stdin="ab").splitlines()]
    assert [record["min_pmi"] is None for record in records] == [True, True, False]
    tokenlab("statistics", "-", "-o", tmp_path / "s.parquet", stdin="ab")
    assert pq.read_table(tmp_path / "s.parquet").num_rows == 3


def test_score(tmp_path):
    gold, ours, words = tmp_path / "gold", tmp_path / "ours", tmp_path / "words"
    gold.write_text("共同  创造　美好\r\n的\r\n", encoding="utf-8")
    ours.write_text("共同 创 造 美好\n的\n", encoding="utf-8")
    words.write_text("共同\n美好\n", encoding="utf-8")
    figures = json.loads(tokenlab("score", gold, ours, "--words", words, "--format", "json"))
    assert figures["precision"] == pytest.approx(3 / 5) and figures["recall"] == pytest.approx(3 / 4)
    assert figures["oov_recall"] == pytest.approx(1 / 2) and figures["iv_recall"] == 1.0
    shown = tokenlab("score", gold, "-", stdin="共同 创 造 美好\n的\n")
    assert "60.00 %" in shown and "oov" not in shown


def test_bad_input_is_one_line_and_status_2(tmp_path):
    (tmp_path / "invalid").write_bytes("好好\n好".encode() + b"\xff\n")
    (tmp_path / "short").write_text("好\n", encoding="utf-8")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and then nothing")
    cases = [
        (["segment", tmp_path / "invalid"], "invalid:2: not UTF-8"),
        (["segment", tmp_path / "invalid", "--statistics-from", tmp_path / "short"], "invalid:2: not UTF-8"),
        (["statistics", tmp_path / "invalid", "-o", tmp_path / "out.parquet"], "invalid:2"),
        (["segment", "-"], "standard input"),
        (["segment", tmp_path / "nowhere"], "nowhere"),
        (["segment", tmp_path], "folder"),
        (["segment", tmp_path / "short", "--statistics-from", tmp_path / "cut.parquet"], "cut.parquet"),
        (["segment", tmp_path / "short", "--statistics-from", tmp_path / "nowhere"], "nowhere"),
        (["segment", tmp_path / "short", "--lambda", "-1"], "lambda"),
        (["segment", tmp_path / "short", "--lambda", "1", "--entropy-only"], "entropy-only"),
        (["segment", tmp_path / "short", "--single-character", "paper"], "--single-character"),
        (["segment", tmp_path / "short", "--lambda", "1e308"], "--lambda is 1e+308"),
        (["segment", tmp_path / "short", "--count-tokens", "bigram", "--single-character", "self"], "T is 0"),
        (["segment", tmp_path / "short", "--single-character", "fallback"], "greedy"),
        (["segment", tmp_path / "short", "--n-max", "0"], "--n-max is 0"),
        (["statistics", tmp_path / "short", "-o", "-"], "--output"),
        (["statistics", tmp_path / "short", "-o", ""], "--output"),
        (["statistics", tmp_path / "short", "-o", tmp_path / "new" / "s.parquet"], "no folder"),
        (["statistics", tmp_path / "short", "-o", tmp_path], "no regular file"),
        (["statistics", tmp_path / "short", "--top", "-1"], "--top"),
        (["statistics", tmp_path / "short", "--edge", "both"], "--edge"),
        (["score", tmp_path / "short", tmp_path / "invalid"], "not UTF-8"),
        (["score", "-", "-"], "standard input"),
        (["score", tmp_path / "short", "-"], "ends before line 1 of"),
        (["juggle"], "juggle"),
        ([], "COMMAND"),
    ]
    before = sorted(tmp_path.iterdir())
    for arguments, message in cases:
        assert message in tokenlab(*arguments, status=2), arguments
    assert sorted(tmp_path.iterdir()) == before


def test_a_pipe_is_read_once(tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("新世纪的世纪\n美好的世纪\n" * 20_000, encoding="utf-8")
    program = "import sys; from tokenlab.cli import main; sys.exit(main())"
    command = f"{sys.executable} -c '{program}' segment {source} --statistics-from"
    piped, named = (
        subprocess.run(["bash", "-c", f"{command} {given}"], capture_output=True, check=True).stdout
        for given in (f"<(cat {source})", source)
    )
    assert piped == named


def test_links_are_followed_and_devices_stay(tmp_path):
    target, link = tmp_path / "target.parquet", tmp_path / "link.parquet"
    link.symlink_to(target)
    tokenlab("statistics", "-", "-o", link, stdin="ab")
    assert link.is_symlink() and pq.read_table(target).num_rows == 3
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert "regular file" in tokenlab("statistics", "-", "-o", fifo, stdin="ab", status=2)
    assert fifo.is_fifo()


def test_closed_output_is_said():
    command = f"{sys.executable} -c 'import sys; from tokenlab.cli import main; sys.exit(main())' segment - >&-"
    done = subprocess.run(["bash", "-c", command], input=b"ab", capture_output=True)
    assert done.returncode == 2 and b"standard output is closed" in done.stderr
