"""Memory of `tokenlab segment` does not grow with the text, once the statistics are given."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import tokenlab_here

PROGRAM = [sys.executable, "-c", "import sys; from tokenlab.cli import main; sys.exit(main())"]


def peak(arguments):
    """MiB of a run of the command."""
    with Path(os.devnull).open("wb") as nowhere:
        process = subprocess.Popen([*PROGRAM, *map(str, arguments)], stdout=nowhere)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_maxrss / 1024


@pytest.mark.slow
@pytest.mark.parametrize("output", [[], ["--json"], ["--delimiter", "|"]], ids=["text", "json", "delimiter"])
def test_twenty_times_the_text_takes_as_much_memory(tmp_path, chinese_sentences, output):
    text = "\n".join(chinese_sentences) + "\n"
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    tokenlab_here("statistics", tmp_path / "text.txt", "-o", tmp_path / "s.parquet")
    peaks = []
    for size in (1_000_000, 20_000_000):
        (tmp_path / "long.txt").write_text(text * (size // len(text.encode()) + 1), encoding="utf-8")
        peaks.append(peak(["segment", tmp_path / "long.txt", "--statistics-from", tmp_path / "s.parquet", *output]))
    assert peaks[1] - peaks[0] < 25, peaks
