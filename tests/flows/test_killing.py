"""Whichever process is killed, and whenever: nothing goes on, and the next run ends as if nothing had been."""

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

MAKE = ["make", f"RUN={sys.executable}"]


def test_killed_again_and_again(fresh: Path, assert_complete: Check) -> None:
    # The worker first: its stage is an early one, which a slow machine would find done the third time.
    for whom, after in (("worker", 0.0), ("dvc", 0.5), ("make", 0.5)):
        started = killing.start(MAKE, fresh)
        assert killing.kill(started, whom, after), started.output()
        killing.assert_ended(started)
        assert started.finish() != 0
    status, output = killing.run(MAKE, fresh)
    assert status == 0, output
    assert_complete(fresh)


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGINT, signal.SIGHUP))],
)
def test_asked_to_end(fresh: Path, number: signal.Signals) -> None:
    started = killing.start(RUNNER, fresh)
    assert killing.kill(started, "stage", number=signal.SIGCONT)  # it is there
    started.process.send_signal(number)
    assert started.finish() == 128 + number
    killing.assert_ended(started)
    assert started.output().endswith(f"repro: ended by {number.name}; `make repro` goes on from here\n")


@pytest.mark.slow
def test_interrupt_from_the_terminal_is_one_line(fresh: Path) -> None:
    """Control-C reaches the whole group of processes; only the runner speaks."""
    started = killing.start(["setsid", *RUNNER], fresh)
    assert killing.kill(started, "stage", number=signal.SIGCONT)
    os.killpg(started.process.pid, signal.SIGINT)
    assert started.finish() == 128 + signal.SIGINT
    killing.assert_ended(started)
    assert "Traceback" not in started.output()
    assert "KeyboardInterrupt" not in started.output()


def test_killed_dvc_is_reported(fresh: Path) -> None:
    started = killing.start(RUNNER, fresh)
    assert killing.kill(started, "dvc")
    assert started.finish() == 1
    assert started.output().endswith("repro: dvc was ended by SIGKILL; `make repro` goes on from there\n")


@pytest.mark.slow
def test_process_that_hid_from_its_parent_is_ended_by_the_next_run(fresh: Path, assert_complete: Check) -> None:
    """A child of a stage that is tied to nobody, as all are where the kernel offers no death signal."""
    stage = fresh / "stage.py"
    stray = "import subprocess; subprocess.Popen(['sleep', '300'])"
    stage.write_text(stage.read_text().replace("    die_with_parent()", f"    die_with_parent()\n    {stray}"))
    started = killing.start(RUNNER, fresh)
    killing.wait_until(lambda: _strays(fresh))
    assert killing.kill(started, "runner")
    killing.wait_until(lambda: list(killing.living(fresh)) == _strays(fresh))
    assert _strays(fresh)
    status, output = killing.run(RUNNER, fresh)
    assert status == 0, output
    assert "ended processes that an earlier run had left" in output
    assert not list(killing.living(fresh))
    assert_complete(fresh)


def _strays(folder: Path) -> list[psutil.Process]:
    return [process for process in killing.living(folder) if process.name() == "sleep"]


MOMENTS = [0.3 * step for step in range(1, 16)]


@pytest.mark.slow
@pytest.mark.parametrize("after", MOMENTS, ids="{:.1f}s".format)
@pytest.mark.parametrize("whom", ["make", "runner", "dvc", "stage", "worker"])
def test_killed_at_any_moment(fresh: Path, assert_complete: Check, whom: str, after: float) -> None:
    started = killing.start(MAKE, fresh)
    killing.kill(started, whom, after)
    killing.assert_ended(started)
    status, output = killing.run(MAKE, fresh)
    assert status == 0, output
    assert_complete(fresh)
