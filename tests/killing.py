"""Start a run of a pipeline, kill one of its processes, and see what is left.

    process = start(command, folder)
    kill(process, "stage", after=0.5)
    assert_ended(process)

The processes of a run stand in a line: make, runner, dvc, stage, worker. A command may begin with any of the first two.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

PROJECT = Path(__file__).resolve().parents[1]
RUNNER = [sys.executable, "-m", "flows.repro"]

_SECONDS_TO_APPEAR = 60.0
_SECONDS_TO_END = 1.0


class Run(NamedTuple):
    """A command at work in a folder, and the file that gets what it prints."""

    process: psutil.Popen
    folder: Path
    log: Path

    def output(self) -> str:
        """What it has printed so far, errors among it."""
        return self.log.read_text(errors="replace")

    def finish(self, seconds: float = 300.0) -> int:
        """Wait for the command and return its exit status."""
        return self.process.wait(timeout=seconds)


def environment(folder: Path) -> dict[str, str]:
    """For commands in a workspace `folder`: the project's modules, and nothing shared with another run."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TOKENLAB_", "DVC_", "COV_"))}
    return {
        **kept,
        "PYTHONPATH": str(PROJECT),
        "DVC_SITE_CACHE_DIR": str(folder / ".dvc" / "site-cache"),
        "DVC_NO_ANALYTICS": "1",
    }


def start(command: list[str], folder: Path) -> Run:
    """Start `command` in the workspace `folder`."""
    number = len(list(folder.parent.glob(f"{folder.name}-*.log")))
    log = folder.parent / f"{folder.name}-{number}.log"
    with log.open("wb") as output, _hangup_heard():
        process = psutil.Popen(command, cwd=folder, env=environment(folder), stdout=output, stderr=subprocess.STDOUT)
    return Run(process, folder, log)


@contextlib.contextmanager
def _hangup_heard() -> Iterator[None]:
    """Processes that begin in here end on SIGHUP even where the tests run under `nohup`, which children inherit."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def run(command: list[str], folder: Path) -> tuple[int, str]:
    """Run `command` to its end; return its exit status and what it printed."""
    started = start(command, folder)
    return started.finish(), started.output()


def kill(started: Run, whom: str, after: float = 0.0, number: int = signal.SIGKILL) -> bool:
    """Wait `after` seconds, then until the process `whom` is there, and kill it. False where the run ended before."""
    time.sleep(after)
    deadline = time.monotonic() + _SECONDS_TO_APPEAR
    while started.process.poll() is None:
        victim = find(started, whom)
        with contextlib.suppress(psutil.NoSuchProcess):
            if victim is not None:
                victim.send_signal(number)
                return True
        assert time.monotonic() < deadline, f"no {whom} within {_SECONDS_TO_APPEAR} s:\n{started.output()}"
        time.sleep(0.02)
    return False


def wait_until(condition: Callable[[], object], seconds: float = _SECONDS_TO_APPEAR) -> None:
    """Wait until `condition` holds; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not so within {seconds} s"
        time.sleep(0.02)


def find(started: Run, whom: str) -> psutil.Process | None:
    """The process `whom` of a run, if it is there now."""
    with contextlib.suppress(psutil.NoSuchProcess, IndexError):
        if whom == "make":
            return started.process
        family = [started.process, *started.process.children(recursive=True)]
        if whom == "runner":
            return _with_module(family, "flows.repro")[0]
        dvc = _with_module(family, "flows.dvc_child")[0]
        if whom == "dvc":
            return dvc
        stage = next((child for child in dvc.children() if "git" not in child.name()), None)
        return stage if stage is None or whom == "stage" else stage.children()[0]
    return None


def _with_module(processes: list[psutil.Process], module: str) -> list[psutil.Process]:
    return [process for process in processes if module in process.cmdline()]


def living(folder: Path) -> Iterator[psutil.Process]:
    """The processes that work in `folder`, by their current directory."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()) == folder:
                yield process


def assert_ended(started: Run, seconds: float = _SECONDS_TO_END) -> None:
    """Assert that within `seconds` none of the run's processes is left."""
    wait_until(lambda: not list(living(started.folder)), seconds)
    started.finish()
