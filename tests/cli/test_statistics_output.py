"""`tokenlab statistics -o` writes what the name says, or refuses the name."""

import json

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from command import tokenlab_here

TEXT = 'ab"ab,ab\nb\t☕ab\n'


def test_every_ending_has_the_same_rows(tmp_path):
    for ending in ("parquet", "csv", "tsv", "jsonl", "CSV"):
        assert tokenlab_here("statistics", "-", "-o", tmp_path / f"s.{ending}", stdin=TEXT) == ""
    expected = pq.read_table(tmp_path / "s.parquet").to_pylist()
    assert len(expected) > 10
    for name, separator in (("s.csv", ","), ("s.tsv", "\t"), ("s.CSV", ",")):
        layout = pc.ParseOptions(delimiter=separator)
        assert pc.read_csv(tmp_path / name, parse_options=layout).to_pylist() == expected, name
    assert [json.loads(line) for line in (tmp_path / "s.jsonl").read_text(encoding="utf-8").splitlines()] == expected


@pytest.mark.parametrize("name", ["one", "one.txt", "one.json", "one.csv.gz", "one.xlsx"])
def test_other_names_are_refused(tmp_path, name):
    said = tokenlab_here("statistics", "-", "-o", tmp_path / name, stdin="ab", status=2)
    assert "must end in .parquet, .csv, .tsv or .jsonl" in said
    assert not list(tmp_path.iterdir())


def test_a_table_is_not_counted_as_text(tmp_path):
    for ending, message in (("csv", "a table of n-grams"), ("tsv", "a table of n-grams"), ("jsonl", "no key 'text'")):
        tokenlab_here("statistics", "-", "-o", tmp_path / f"s.{ending}", stdin=TEXT)
        command = ["segment", "-", "--statistics-from", tmp_path / f"s.{ending}"]
        assert message in tokenlab_here(*command, stdin=TEXT, status=2)


def test_other_commands_write_json_under_names_of_json_only(tmp_path):
    command = ["codes", "learn", "-", "--code", "byte", "-o", tmp_path / "code.csv"]
    assert "must end in .json" in tokenlab_here(*command, stdin="ab", status=2)
