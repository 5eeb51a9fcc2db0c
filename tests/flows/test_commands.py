"""`python -m flows` as a command among others."""

import fcntl
import signal
import subprocess
import sys
from pathlib import Path

import killing
import pytest


def test_status_ends_silently_when_nobody_reads_on(fresh: Path) -> None:
    """As in `python -m flows status | head -1`."""
    command = f"'{sys.executable}' -m flows status | true; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(
        ["bash", "-c", command], cwd=fresh, env=killing.environment(fresh), capture_output=True, text=True
    )
    assert (ended.stdout, ended.stderr) == ("141\n", "")


@pytest.mark.parametrize(("command", "advice"), [("run", "; `python -m flows run` continues from here"), ("clean", "")])
def test_only_an_interrupted_run_tells_how_to_continue(fresh: Path, command: str, advice: str) -> None:
    """Both wait for another run, which holds the workspace."""
    (fresh / ".dvc/tmp").mkdir(exist_ok=True)
    with (fresh / ".dvc/tmp/tokenlab-pipeline.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        started = killing.start([sys.executable, "-m", "flows", command], fresh)
        killing.wait_until(lambda: "is working here" in started.output() or started.process.poll() is not None)
        started.process.send_signal(signal.SIGTERM)
        assert started.finish() == 128 + signal.SIGTERM
    assert started.output().splitlines()[-1] == f"flows: ended by SIGTERM{advice}"
