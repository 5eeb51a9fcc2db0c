"""An output that is an input is refused before anything is written."""

import os

import pytest
from command import tokenlab

TEXT = "共同创造美好的新世纪\n"


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "link.txt").symlink_to(tmp_path / "text.txt")
    os.link(tmp_path / "text.txt", tmp_path / "same.txt")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "tokenizer.json").write_text(TEXT, encoding="utf-8")
    return tmp_path / "text.txt"


@pytest.mark.parametrize("place", ["text.txt", "link.txt", "same.txt", "folder/../text.txt"])
def test_the_text_by_any_name(tmp_path, text, place):
    arguments = ["segment", "--method", "words", "--save-model", tmp_path / place, text]
    refused(tmp_path, arguments, f"--save-model is {tmp_path / place}, which is an input")


@pytest.mark.parametrize(
    "command", ["export", "export --to sentencepiece", "statistics", "entropy --model m", "codes learn --code random"]
)
def test_the_text_by_each_command(tmp_path, text, command):
    refused(tmp_path, [*command.split(), "-o", text, text], f"--output is {text}, which is an input")


@pytest.mark.parametrize("option", ["--word-model", "--statistics-from", "--check", "--check-words"])
def test_every_input_of_the_export(tmp_path, text, option):
    other = tmp_path / "folder" / "tokenizer.json"
    common = ["export", text, option, other, "-o"]
    refused(tmp_path, [*common, other, "--to", "sentencepiece"], f"--output is {other}, which is an input")
    refused(tmp_path, [*common, other.parent], f"--output is {other.parent}, which holds the input {other}")


def test_segment_writes_to_standard_output_only(tmp_path, text):
    refused(tmp_path, ["segment", text, "-o", text], "unrecognized arguments: -o")


def refused(folder, arguments, message):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert message in tokenlab(*arguments, status=2)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
