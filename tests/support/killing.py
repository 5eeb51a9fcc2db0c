"""Start a run of a pipeline, kill one of its processes at a chosen moment, and check that nothing is left.

    process = start(command, folder)
    kill(process, "stage")
    assert_ended(process)

The processes of a run form a chain: make, runner, dvc, stage, worker. A command may start with any of the first two.
Time limits are watchdogs for processes that hang, not expectations of speed.
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

ROOT = Path(__file__).resolve().parents[2]
RUNNER = [sys.executable, "-m", "flows", "run"]
CLIENT: dict[str, str] = {}
"""The environment that makes runs report to a server that is there; else each starts one of its own."""

_WATCHDOG_SECONDS = 600.0
_SECONDS_BETWEEN_POLLS = 0.01


class Run(NamedTuple):
    """A running command, its folder, and the file with its output."""

    process: psutil.Popen
    folder: Path
    log: Path

    def output(self) -> str:
        """Its standard output and standard error so far."""
        return self.log.read_text(errors="replace")

    def finish(self, seconds: float = 300.0) -> int:
        """Wait for the command and return its exit status."""
        return self.process.wait(timeout=seconds)


def environment(folder: Path) -> dict[str, str]:
    """For commands in the workspace `folder`: the project's modules, and nothing that another run uses."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TOKENLAB_", "DVC_", "COV_"))}
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "DVC_SITE_CACHE_DIR": str(folder / ".dvc" / "site-cache"),
        "DVC_NO_ANALYTICS": "1",
        **CLIENT,
    }


def start(command: list[str], folder: Path) -> Run:
    """Start `command` in the workspace `folder`."""
    number = len(list(folder.parent.glob(f"{folder.name}-*.log")))
    log = folder.parent / f"{folder.name}-{number}.log"
    with log.open("wb") as output, _default_hangup():
        process = psutil.Popen(command, cwd=folder, env=environment(folder), stdout=output, stderr=subprocess.STDOUT)
    return Run(process, folder, log)


@contextlib.contextmanager
def _default_hangup() -> Iterator[None]:
    """Let processes that start in the block end on SIGHUP, even if the tests run under `nohup`, which they inherit."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def run(command: list[str], folder: Path) -> tuple[int, str]:
    """Run `command`; return its exit status and its output."""
    started = start(command, folder)
    return started.finish(), started.output()


def kill(started: Run, whom: str, when: Callable[[], object] = lambda: True, number: int = signal.SIGKILL) -> None:
    """Wait until `when` holds and the process `whom` exists, and send it a signal. Fails if the run ends before."""
    deadline = time.monotonic() + _WATCHDOG_SECONDS
    while True:
        assert started.process.poll() is None, f"ended before {whom} could be killed:\n{started.output()}"
        assert time.monotonic() < deadline, f"no moment to kill {whom} in {_WATCHDOG_SECONDS} s:\n{started.output()}"
        if when():
            with contextlib.suppress(psutil.NoSuchProcess):
                if (victim := find(started, whom)) is not None:
                    victim.send_signal(number)
                    return
        time.sleep(_SECONDS_BETWEEN_POLLS)


def wait_until(condition: Callable[[], object], seconds: float = _WATCHDOG_SECONDS) -> None:
    """Wait until `condition` holds; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"the condition does not hold after {seconds} s"
        time.sleep(_SECONDS_BETWEEN_POLLS)


def find(started: Run, whom: str) -> psutil.Process | None:
    """The process `whom` of a run, if it exists now."""
    with contextlib.suppress(psutil.NoSuchProcess, IndexError):
        if whom == "make":
            return started.process
        family = [started.process, *started.process.children(recursive=True)]
        if whom == "runner":
            return _with_module(family, "flows")[0]
        dvc = _with_module(family, "flows.run.dvc_child")[0]
        if whom == "dvc":
            return dvc
        stage = next((child for child in dvc.children() if "git" not in child.name()), None)
        return stage if stage is None or whom == "stage" else stage.children()[0]
    return None


def _with_module(processes: list[psutil.Process], module: str) -> list[psutil.Process]:
    return [process for process in processes if module in process.cmdline()]


def living(folder: Path) -> Iterator[psutil.Process]:
    """The processes whose current directory is `folder`."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()) == folder:
                yield process


def works(folder: Path, word: str) -> bool:
    """Whether a process with this argument works in `folder`."""
    for process in living(folder):
        with contextlib.suppress(psutil.Error):
            if word in process.cmdline():
                return True
    return False


def assert_ended(started: Run) -> None:
    """Assert that all processes of the run end."""
    wait_until(lambda: not list(living(started.folder)))
    started.finish()
