"""Kill each process of a run in each of its phases: no process remains, and the next run completes the results."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import killing
import psutil
import pytest
from killing import RUNNER

Check = Callable[[Path], None]

pytestmark = pytest.mark.usefixtures("reporting")

MAKE = ["make", f"RUN={sys.executable}"]


def saving(folder: Path, stage: str) -> bool:
    """The stage has written everything, and DVC saves it: hashes, moves to the cache, dvc.lock."""
    return (folder / f"data/sample/{stage}.json").exists()


def recorded(folder: Path, stage: str) -> bool:
    """DVC writes, or has just written, the stage to dvc.lock."""
    lock = folder / "dvc.lock"
    return lock.exists() and f"stage.py {stage} " in lock.read_text()


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(
            [("worker", "fan", killing.works), ("make", "fan", saving), ("dvc", "leaf-a", recorded)],
            id="sample",
            marks=pytest.mark.slow,
        ),
        *(
            pytest.param(
                [(whom, "first", killing.works), (whom, "fan", saving), (whom, "leaf-a", recorded)],
                id=whom,
                marks=pytest.mark.nightly,
            )
            for whom in ("runner", "dvc", "stage")
        ),
    ],
)
def test_killed_in_each_phase(
    fresh: Path, assert_complete: Check, kills: list[tuple[str, str, Callable[[Path, str], bool]]]
) -> None:
    for whom, stage, phase in kills:
        started = killing.start(MAKE, fresh)
        killing.kill(started, whom, lambda phase=phase, stage=stage: phase(fresh, stage))
        killing.assert_ended(started)
        assert started.finish() != 0
    status, output = killing.run(MAKE, fresh)
    assert status == 0, output
    assert_complete(fresh)


@pytest.mark.slow
def test_control_c(fresh: Path) -> None:
    """It reaches the whole group of processes; only the runner prints a line.

    The shell starts it as a job in the background, where SIGINT is ignored.
    """
    started = killing.start(["setsid", "sh", "-c", 'trap "" INT; exec "$@"', "sh", *RUNNER], fresh)
    killing.kill(started, "stage", number=signal.SIGCONT)  # it exists
    os.killpg(started.process.pid, signal.SIGINT)
    assert started.finish() == 128 + signal.SIGINT
    killing.assert_ended(started)
    assert started.output().splitlines()[-1].startswith("flows: ended by SIGINT; `python -m flows run`")
    assert "Traceback" not in started.output()


@pytest.mark.slow
def test_orphans_are_ended_by_the_next_run(fresh: Path, assert_complete: Check) -> None:
    """A child of a stage that follows no parent, as all do where the kernel offers no death signal."""
    stage = fresh / "stage.py"
    orphan = "import subprocess; sys.argv[1] == 'first' and subprocess.Popen(['sleep', '300'])"
    stage.write_text(stage.read_text().replace("    die_with_parent()", f"    die_with_parent()\n    {orphan}"))
    started = killing.start(RUNNER, fresh)
    killing.kill(started, "runner", lambda: _orphans(fresh))
    killing.wait_until(lambda: list(killing.living(fresh)) == _orphans(fresh))
    assert _orphans(fresh)
    status, output = killing.run(RUNNER, fresh)
    assert status == 0, output
    assert "ended processes" in output
    assert not list(killing.living(fresh))
    assert_complete(fresh)


def _orphans(folder: Path) -> list[psutil.Process]:
    return [process for process in killing.living(folder) if process.name() == "sleep"]
