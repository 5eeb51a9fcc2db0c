"""Memory of `tokenlab segment` does not grow with the text, once the statistics are given."""

import subprocess
import sys

import pytest
from command import tokenlab_here

# The kernel's count of the process itself: what `wait4` counts begins with the memory of the process that starts it.
PROGRAM = """
import sys
from tokenlab.cli import main
status = main(sys.argv[1:])
with open("/proc/self/status") as lines:
    print(*(line.split()[1] for line in lines if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(status)
"""


def peak(arguments):
    """MiB of a run of the command."""
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    return int(done.stderr.split()[-1]) / 1024


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
