"""The processes that a run starts: DVC, and in a flow tracking afterwards; each in its own session.

A process follows the thread that started it (`tasks.runtime.parent_death`): if the runner is killed, the kernel ends
the process and its stage. If the runner is only asked to end, `stop` kills the sessions, and no new process starts.
"""

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from flows.run.processes import environment
from flows.run.workspace import describe, other_dvc

Log = Callable[[str], None]
"""Receives each line that a process prints."""

_LINES_KEPT = 20
_SECONDS_TO_READ_ON = 5.0
_SECONDS_BETWEEN_POLLS = 1.0
_OF_BUSY = re.compile(
    r" is busy, it is being blocked by:$|^  \(PID \d+\): |"
    r"^If there are no processes with such PIDs, you can manually remove"
)
"""DVC's message when another DVC works on the same path; it gives up at once, whatever the flag for waiting. The runner
waits, so nobody need follow DVC's advice to remove a lock."""


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit status (negative: the signal that ended it), its last lines, the events of DVC."""

    status: int
    lines: tuple[str, ...]
    timed_out: bool = False
    events: tuple[dict[str, str | int | None], ...] = ()

    @property
    def event(self) -> str:
        """The last event of the stage: `unchanged`, `restored`, `running` or `failed`; empty where there is none."""
        return str(self.events[-1]["event"]) if self.events else ""

    @property
    def stage_status(self) -> int:
        """The exit status of the stage's own command where there is one, else DVC's."""
        own = self.events[-1].get("status") if self.events else None
        return own if isinstance(own, int) else self.status

    @property
    def busy(self) -> bool:
        """Whether DVC gave up because another DVC was working on the same paths."""
        return bool(self.events and self.events[-1].get("busy"))

    @property
    def killed(self) -> bool:
        """Whether somebody ended the stage or its DVC with a signal."""
        return not self.timed_out and (self.status < 0 or self.stage_status < 0)

    def describe(self) -> str:
        """In words: `exit status 3`, `SIGKILL`, `time limit`."""
        if self.timed_out:
            return "time limit"
        if self.killed:
            return signal.Signals(-min(self.status, self.stage_status)).name
        return f"exit status {self.stage_status}"


class Stopped(Exception):
    """No new process starts, because the run is ending."""


class DvcProcesses:
    """The processes of one run in the workspace `root`.

    As a context manager it stops them where the block ends with an exception.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def __enter__(self) -> "DvcProcesses":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            self.stop()

    def run_stage(self, address: str, log: Log, timeout: float | None = None) -> Ended:
        """Bring one stage up to date. Waits while another DVC works here, also where DVC gave up because of it."""

        def log_rest(line: str) -> None:
            if not _OF_BUSY.search(line):
                log(line)

        while True:
            self._wait_for_others(log)
            ended = self.dvc(["repro", "--single-item", address], log_rest, timeout)
            if not ended.busy:
                return ended
            self.pause(_SECONDS_BETWEEN_POLLS)

    def _wait_for_others(self, log: Log) -> None:
        """Wait until no DVC of somebody else works here."""
        told = False
        while found := other_dvc(self._root):
            if not told:
                log(f"{describe(found)} is working here; waiting until it ends")
                told = True
            self.pause(_SECONDS_BETWEEN_POLLS)

    def dvc(self, arguments: Sequence[str], log: Log, timeout: float | None = None) -> Ended:
        """Run `dvc --wait-for-lock ARGUMENTS`; as `run`, with the events of its stages."""
        reading, writing = os.pipe()
        with os.fdopen(reading, encoding="utf-8") as events:
            try:
                command = [sys.executable, "-m", "flows.run.dvc_child", str(writing), *arguments]
                ended = self.run(command, log, timeout, pass_fds=[writing])
            finally:
                os.close(writing)
            return Ended(ended.status, ended.lines, ended.timed_out, tuple(map(json.loads, events)))

    def run(
        self, command: Sequence[str], log: Log, timeout: float | None = None, pass_fds: Sequence[int] = ()
    ) -> Ended:
        """Run a command in the workspace and wait for it; after `timeout` seconds it is killed.

        Raises Stopped where the run is ending.
        """
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
                pass_fds=pass_fds,
                start_new_session=True,
            )
            self._running.add(process)
        lines: deque[str] = deque(maxlen=_LINES_KEPT)
        assert process.stdout is not None
        reader = threading.Thread(target=_read, args=(process.stdout, lines, log), daemon=True)
        reader.start()
        try:
            timed_out = not _ends(process, timeout)
        finally:
            _kill_session(process)
            process.wait()
            with self._lock:
                self._running.discard(process)
        reader.join(_SECONDS_TO_READ_ON)  # a descendant in another session may hold the pipe open
        return Ended(process.returncode, tuple(lines), timed_out)

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


def _ends(process: "subprocess.Popen[bytes]", timeout: float | None) -> bool:
    """Wait for a process, with a limit of seconds or without; return whether it ended.

    In short waits: polars, once imported, lets the system resume a longer one after SIGINT, unseen by Python.
    """
    deadline = math.inf if timeout is None else time.monotonic() + timeout
    while (left := deadline - time.monotonic()) > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(min(left, _SECONDS_BETWEEN_POLLS))
            return True
    return process.poll() is not None


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
