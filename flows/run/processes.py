"""The processes of a run: DVC and its stages, each with the path of the workspace in its environment.

A process follows the thread that started it (`tokenlab.core.parent_death`): if the runner is killed, the kernel ends
the process and its stage. If the runner is only asked to end, `Processes.stop` kills the sessions, and no new process
starts. `end_processes` is used twice more: by the running pipeline to stop its children, and by the next run to stop
orphans.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO

import psutil

from flows.run.dvc_child import BUSY
from tokenlab.core.errors import TokenlabError
from tokenlab.core.parent_death import PARENT

Log = Callable[[str], None]
"""Receives each line that a process prints."""

PIPELINE = "TOKENLAB_PIPELINE"
"""Environment variable of every process of a run: the root of its workspace."""

_PROJECT = Path(__file__).resolve().parents[2]
_KEPT = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONUNBUFFERED")
"""Variables of Python that change no result."""

_NOT_RUN = {
    "Restored": re.compile("Stage '.*' is cached - skipping run"),
    "Cached": re.compile("Stage '.*' didn't change, skipping"),
}
"""State of a stage whose command did not run -> what DVC says then."""

_LINES_KEPT = 20
_SECONDS_TO_END = 20.0
_SECONDS_TO_READ_ON = 5.0
_SECONDS_BETWEEN_POLLS = 1.0


def environment(root: Path) -> dict[str, str]:
    """The environment of every process of a run in the workspace `root`. The variables of Python are not the user's, as
    in the Makefile: a PYTHONPATH or a user's site-packages would give other packages than those of .venv."""
    foreign = [name for name in os.environ if name.startswith("PYTHON") and name not in _KEPT]
    return {
        **{name: value for name, value in os.environ.items() if name not in foreign},
        "PYTHONPATH": str(_PROJECT),
        "PYTHONNOUSERSITE": "1",
        PARENT: str(os.getpid()),
        PIPELINE: str(root),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "SHELL": "/bin/sh",  # DVC would run commands in the user's own shell
        "DVC_NO_ANALYTICS": "1",
    }


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit status (128 + number: a signal ended it) and its last lines."""

    status: int
    lines: tuple[str, ...]

    @property
    def state(self) -> str:
        """Of a stage that succeeded: `Completed`; `Restored` from DVC's run cache; `Cached`, nothing had changed."""
        found = (state for state, words in _NOT_RUN.items() if any(map(words.match, self.lines)))
        return next(found, "Completed")

    @property
    def killed(self) -> bool:
        """Whether somebody ended the stage or its DVC with a signal."""
        return self.status - 128 in set(signal.Signals)

    def describe(self) -> str:
        """In words: `exit status 3`, `SIGKILL`."""
        return signal.Signals(self.status - 128).name if self.killed else f"exit status {self.status}"


class Stopped(Exception):
    """No new process starts, because the run is ending."""


class Processes:
    """The processes of one run in the workspace `root`.

    As a context manager it stops them where the block ends with an exception.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *exception: object) -> None:
        if exception[0] is not None:
            self.stop()

    def run_stage(self, address: str, log: Log) -> Ended:
        """Bring one stage up to date. Waits while another DVC works on the same paths."""
        told = False
        while (ended := self.dvc(["repro", "--single-item", address], log)).status == BUSY:
            if not told:
                log("another dvc is working on these paths; waiting until it ends")
            told = True
            self.pause(_SECONDS_BETWEEN_POLLS)
        return ended

    def dvc(self, arguments: Sequence[str], log: Log) -> Ended:
        """Run `dvc --wait-for-lock ARGUMENTS`; as `run`, with the status that `flows.run.dvc_child` gives."""
        return self.run([sys.executable, "-m", "flows.run.dvc_child", *arguments], log)

    def run(self, command: Sequence[str], log: Log) -> Ended:
        """Run a command in the workspace and wait for it. Raises Stopped."""
        with self._lock:
            if self._stopping.is_set():
                raise Stopped
            process = subprocess.Popen(
                command,
                cwd=self._root,
                env=environment(self._root),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._running.add(process)
        lines: deque[str] = deque(maxlen=_LINES_KEPT)
        assert process.stdout is not None
        reader = threading.Thread(target=_read, args=(process.stdout, lines, log), daemon=True)
        reader.start()
        try:
            _wait(process)
        finally:
            _kill_session(process)
            process.wait()
            with self._lock:
                self._running.discard(process)
        reader.join(_SECONDS_TO_READ_ON)  # a descendant in another session may hold the pipe open
        status = process.returncode
        return Ended(status if status >= 0 else 128 - status, tuple(lines))

    def pause(self, seconds: float) -> None:
        """Sleep. Raises Stopped as soon as the run is ending."""
        if self._stopping.wait(seconds):
            raise Stopped

    def stop(self) -> None:
        """Kill all running processes, and start no more."""
        with self._lock:
            self._stopping.set()
            for process in self._running:
                _kill_session(process)


def _wait(process: "subprocess.Popen[bytes]") -> None:
    """Wait until a process ends.

    In short waits: polars, once imported, lets the system resume a longer one after SIGINT, unseen by Python.
    """
    while process.returncode is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_SECONDS_BETWEEN_POLLS)


def _kill_session(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _read(pipe: IO[bytes], lines: "deque[str]", log: Log) -> None:
    for line in pipe:
        # Only the last state of a progress bar.
        if text := line.decode(errors="replace").rstrip().rpartition("\r")[2]:
            lines.append(text)
            log(text)


def end_processes(root: Path) -> int:
    """Kill every other process of a run in the workspace `root`, wait until none is left, and return their number.
    Only for the holder of the workspace. Raises TokenlabError for a process that hangs in the kernel."""
    ended: set[psutil.Process] = set()
    deadline = time.monotonic() + _SECONDS_TO_END
    while processes := [process for process in psutil.process_iter() if is_of_run(process, root)]:
        if time.monotonic() > deadline:
            raise TokenlabError(f"process {processes[0].pid} of an earlier run does not end; end it, then run again")
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        ended.update(processes)
        time.sleep(0.01)
    return len(ended)


def is_of_run(process: psutil.Process, root: Path) -> bool:
    """Whether another process belongs to a run in the workspace `root`; zombies have no environment and do not."""
    try:
        return process.pid != os.getpid() and process.environ().get(PIPELINE) == str(root)
    except (psutil.Error, OSError):  # it ended, or belongs to another user
        return False


class Interrupted(BaseException):
    """A signal asked the runner to end. A BaseException, so that no `except Exception` catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextlib.contextmanager
def signals_raise() -> Iterator[None]:
    """Within the block, the first request to end raises Interrupted.

    A hang-up that nohup ignores is none. SIGINT counts even where it is ignored: shells start jobs in the background
    that way. Further requests are ignored while the children end, and from 20 seconds on end the process at once.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    before = {one: old for one, old in before.items() if one == signal.SIGINT or old is not signal.SIG_IGN}

    first = 0.0

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal first
        if not first:
            first = time.monotonic()
            raise Interrupted(number)
        if time.monotonic() > first + _SECONDS_TO_END:
            os._exit(128 + number)

    for number in before:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
