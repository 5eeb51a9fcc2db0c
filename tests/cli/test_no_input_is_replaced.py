"""A file behind a standard stream that is input and output is refused; named ones are in test_bad_input.py."""

import subprocess

import pytest
from command import PROGRAM

TEXT = "共同创造美好的新世纪\n"


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_the_file_behind_it(text, name):
    command = [*PROGRAM, "codes", "learn", "--code", "byte", "-o", text, name]
    with text.open("rb") as given:
        done = subprocess.run(command, stdin=given, capture_output=True)
    assert done.returncode == 2 and b"which is an input" in done.stderr
    assert text.read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize("command", ["segment", "bits decode"])
def test_standard_output_that_is_the_text(text, command):
    """`tokenlab segment text.txt >> text.txt` would read what it writes."""
    with text.open("ab") as appended:
        done = subprocess.run([*PROGRAM, *command.split(), text], stdout=appended, stderr=subprocess.PIPE)
    assert done.returncode == 2 and f"standard output goes to {text}," in done.stderr.decode()
    assert text.read_text(encoding="utf-8") == TEXT
