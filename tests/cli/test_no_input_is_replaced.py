"""An output that is an input is refused before anything is written."""

import os
import subprocess

import pytest
from command import PROGRAM
from command import tokenlab_here as tokenlab

TEXT = "共同创造美好的新世纪\n"


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "link.txt").symlink_to(tmp_path / "text.txt")
    os.link(tmp_path / "text.txt", tmp_path / "same.txt")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "tokenizer.json").write_text(TEXT, encoding="utf-8")
    return tmp_path / "text.txt"


@pytest.mark.parametrize("place", ["link.txt", "same.txt", "folder/../text.txt"])
def test_the_text_by_any_name(tmp_path, text, place):
    arguments = ["segment", "--method", "words", "--save-model", tmp_path / place, text]
    refused(tmp_path, arguments, f"--save-model is {tmp_path / place}, which is an input")


@pytest.mark.parametrize(
    "command",
    [
        "export",
        "export --to sentencepiece",
        "train",
        "count",
        "statistics",
        "entropy --model m",
        "codes learn --code random",
    ],
)
def test_the_text_by_each_command(tmp_path, text, command):
    refused(tmp_path, [*command.split(), "-o", text, text], f"--output is {text}, which is an input")


@pytest.mark.parametrize("option", ["--word-model", "--statistics-from", "--check", "--check-words"])
def test_every_input_of_the_export(tmp_path, text, option):
    other = tmp_path / "folder" / "tokenizer.json"
    common = ["export", text, option, other, "-o"]
    refused(tmp_path, [*common, other, "--to", "sentencepiece"], f"--output is {other}, which is an input")
    refused(tmp_path, [*common, other.parent], f"--output is {other.parent}, which holds the input {other}")


def test_standard_input_is_the_file_behind_it(tmp_path, text):
    for name in ("-", "/dev/stdin"):
        with text.open("rb") as given:
            done = subprocess.run(
                [*PROGRAM, "codes", "learn", "--code", "byte", "-o", text, name], stdin=given, capture_output=True
            )
        assert done.returncode == 2 and b"which is an input" in done.stderr
    assert text.read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize("command", ["segment", "bits decode"])
def test_standard_output_that_is_the_text(tmp_path, text, command):
    """`tokenlab segment text.txt >> text.txt` would read what it writes."""
    with text.open("ab") as appended:
        done = subprocess.run([*PROGRAM, *command.split(), text], stdout=appended, stderr=subprocess.PIPE)
    assert done.returncode == 2 and f"standard output goes to {text}, which is an input" in done.stderr.decode()
    assert text.read_text(encoding="utf-8") == TEXT


def test_tables_and_codes_given_by_options(tmp_path, text):
    tables = tmp_path / "folder"
    (tables / "ids.json").write_text("", encoding="utf-8")
    arguments = ["codes", "learn", "--code", "radical", "--tables", tables, text, "-o"]
    refused(tmp_path, [*arguments, tables / "ids.json"], f"a file of the input {tables}")
    code = tmp_path / "code.json"
    tokenlab("codes", "learn", "--code", "random", "-o", code, text)
    refused(tmp_path, ["codes", "show", code, "--html", code], f"--html is {code}, which is an input")
    tokenizer = tables / "tokenizer.json"
    refused(tmp_path, ["patches", "learn", "--tokenizer", tables, "-o", tokenizer], "which is an input")


def test_a_folder_of_texts(tmp_path, text):
    (tmp_path / "folder" / "a.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    arguments = ["statistics", tmp_path / "folder", "--format", "jsonl", "-o", tmp_path / "folder" / "a.jsonl"]
    refused(tmp_path, arguments, f"a file of the input {tmp_path / 'folder'}")


def refused(folder, arguments, message):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert message in tokenlab(*arguments, status=2)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
