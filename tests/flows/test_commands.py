"""`python -m flows` as a command among others."""

import subprocess
import sys
from pathlib import Path

import killing


def test_status_ends_silently_when_nobody_reads_on(fresh: Path) -> None:
    """As in `python -m flows status | head -1`."""
    command = f"'{sys.executable}' -m flows status | true; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(
        ["bash", "-c", command], cwd=fresh, env=killing.environment(fresh), capture_output=True, text=True
    )
    assert (ended.stdout, ended.stderr) == ("141\n", "")
