"""`tokenlab statistics`: what it prints, and files that other commands read."""

import json
import os
import shlex
import subprocess

import pyarrow.csv as pc
import pyarrow.parquet as pq
from command import PROGRAM
from command import tokenlab_here as tokenlab

TEXT = 'ab"ab,ab\nb\t☕ab\n'
CHINESE = "共同创造美好的新世纪，共同 努力\n\n美好的世纪abc　12％\n"


def test_the_most_frequent_are_printed():
    lines = tokenlab("statistics", "-", "--top", "3", stdin="abab ab\nb\n").splitlines()
    assert lines[0].split("\t") == ["ngram", "n", "count", "min_pmi", "left_entropy", "right_entropy"]
    assert [line.split("\t")[:3] for line in lines[1:]] == [["b", "1", "4"], ["a", "1", "3"], ["ab", "2", "3"]]
    records = [json.loads(line) for line in tokenlab("statistics", "-", "--json", stdin="ab").splitlines()]
    assert [record["min_pmi"] is None for record in records] == [True, True, False]


def test_every_ending_has_the_same_rows(tmp_path):
    for ending in ("parquet", "csv", "tsv", "jsonl", "CSV"):
        assert tokenlab("statistics", "-", "-o", tmp_path / f"s.{ending}", stdin=TEXT) == ""
    expected = pq.read_table(tmp_path / "s.parquet").to_pylist()
    assert len(expected) > 10
    for name, separator in (("s.csv", ","), ("s.tsv", "\t"), ("s.CSV", ",")):
        layout = pc.ParseOptions(delimiter=separator)
        assert pc.read_csv(tmp_path / name, parse_options=layout).to_pylist() == expected, name
    assert [json.loads(line) for line in (tmp_path / "s.jsonl").read_text(encoding="utf-8").splitlines()] == expected


def test_statistics_from_text_and_from_parquet_agree(tmp_path):
    source, table = tmp_path / "source.txt", tmp_path / "source.parquet"
    source.write_text("新世纪的世纪\n美好的世纪\n", encoding="utf-8")
    assert tokenlab("statistics", source, "-o", table, "--n-max", "4") == ""
    command = ["segment", "-", "--n-max", "4"]
    both = [tokenlab(*command, "--statistics-from", path, stdin=CHINESE) for path in (source, table)]
    assert both[0] == both[1] != tokenlab(*command, stdin=CHINESE)


def test_a_pipe_is_read_once(tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("新世纪的世纪\n美好的世纪\n" * 5_000, encoding="utf-8")
    piped = f"{shlex.join(PROGRAM)} segment {source} --statistics-from <(cat {source})"
    printed = subprocess.run(["bash", "-c", piped], capture_output=True, check=True).stdout
    assert printed.decode() == tokenlab("segment", source, "--statistics-from", source)


def test_links_are_followed_and_devices_stay(tmp_path):
    target, link = tmp_path / "target.parquet", tmp_path / "link.parquet"
    link.symlink_to(target)
    tokenlab("statistics", "-", "-o", link, stdin="ab")
    assert link.is_symlink() and pq.read_table(target).num_rows == 3
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert "regular file" in tokenlab("statistics", "-", "-o", fifo, stdin="ab", status=2)
    assert fifo.is_fifo()


def test_a_bounded_memory_changes_nothing(tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("新世纪的世纪\n美好的世纪\nกำลัง\n" * 500, encoding="utf-8")
    plain, bounded = (tmp_path / name for name in ("plain.parquet", "bounded.parquet"))
    tokenlab("statistics", source, "-o", plain, "--min-frequency", "2")
    printed = tokenlab("statistics", source, "-o", bounded, "--min-frequency", "2", "--memory", "1G", "--top", "4")
    assert bounded.read_bytes() == plain.read_bytes()
    shared = ["--min-frequency", "2", "--memory", "1G", "--workers", "2"]
    tokenlab("statistics", source, "-o", tmp_path / "shared.parquet", *shared)
    assert (tmp_path / "shared.parquet").read_bytes() == plain.read_bytes()
    assert printed == tokenlab("statistics", source, "--min-frequency", "2", "--top", "4")
    command = ["segment", "-", "--statistics-from", source]
    assert tokenlab(*command, "--memory", "1G", stdin=CHINESE) == tokenlab(*command, stdin=CHINESE)
