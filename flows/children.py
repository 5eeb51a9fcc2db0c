"""The commands that a flow runs: each in a session of its own, its lines handed on, none left when the flow ends.

A child follows the thread that started it (`tasks.lifeline`): should this process be killed, the kernel ends the child,
and that its stage. Should it only be told to end, `stop` kills whole sessions, and no new child starts.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from flows.repro import environment

Say = Callable[[str], None]

_LINES_KEPT = 20
_SECONDS_TO_READ_ON = 5.0
_BUSY = " is busy, it is being blocked by:"
"""What DVC says where another DVC works on the same path; it gives up at once, whatever the flag for waiting."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status (negative: by that signal), its last lines, the events of DVC."""

    status: int
    lines: tuple[str, ...]
    timed_out: bool = False
    events: tuple[dict[str, str | int | None], ...] = ()

    @property
    def event(self) -> str:
        """The last event of the stage: `unchanged`, `restored`, `running`, `failed`, or nothing."""
        return str(self.events[-1]["event"]) if self.events else ""

    @property
    def stage_status(self) -> int:
        """The exit status of the stage's own command where there is one, else DVC's."""
        own = self.events[-1].get("status") if self.events else None
        return own if isinstance(own, int) else self.status

    @property
    def busy(self) -> bool:
        """Whether DVC gave up because another DVC was at work on the same paths."""
        return self.status > 0 and any(_BUSY in line for line in self.lines)

    @property
    def killed(self) -> bool:
        """Whether a signal ended the command or its DVC: somebody wanted that."""
        return not self.timed_out and (self.status < 0 or self.stage_status < 0)

    def describe(self) -> str:
        """In words: `exit status 3`, `SIGKILL`, `time limit`."""
        if self.timed_out:
            return "time limit"
        if self.killed:
            return signal.Signals(-min(self.status, self.stage_status)).name
        return f"exit status {self.stage_status}"


class Stopped(Exception):
    """No new command starts, because the flow ends."""


class Children:
    """The commands at work in one folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._alive: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def dvc(self, arguments: Sequence[str], say: Say, timeout: float | None = None) -> Ended:
        """Run `dvc --wait-for-lock ARGUMENTS`; as `run`, with the events of its stages."""
        reading, writing = os.pipe()
        with os.fdopen(reading, encoding="utf-8") as events:
            try:
                command = [sys.executable, "-m", "flows.dvc_child", str(writing), *arguments]
                ended = self.run(command, say, timeout, pass_fds=[writing])
            finally:
                os.close(writing)
            return Ended(ended.status, ended.lines, ended.timed_out, tuple(map(json.loads, events)))

    def run(
        self, command: Sequence[str], say: Say, timeout: float | None = None, pass_fds: Sequence[int] = ()
    ) -> Ended:
        """Run a command to its end, in this thread; `say` gets each line. After `timeout` seconds it is killed.

        Raises Stopped where the flow is ending.
        """
        with self._lock:
            if self._stopping.is_set():
                raise Stopped
            child = subprocess.Popen(
                command,
                cwd=self._root,
                env=environment(self._root),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=pass_fds,
                start_new_session=True,
            )
            self._alive.add(child)
        lines: deque[str] = deque(maxlen=_LINES_KEPT)
        assert child.stdout is not None
        reader = threading.Thread(target=_read, args=(child.stdout, lines, say), daemon=True)
        reader.start()
        timed_out = False
        try:
            child.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            _kill_session(child)
            child.wait()
            with self._lock:
                self._alive.discard(child)
        reader.join(_SECONDS_TO_READ_ON)  # a stray in another session may hold the pipe
        return Ended(child.returncode, tuple(lines), timed_out)

    def pause(self, seconds: float) -> None:
        """Wait, unless the flow ends. Raises Stopped where it does."""
        if self._stopping.wait(seconds):
            raise Stopped

    def stop(self) -> None:
        """Kill all that runs; nothing starts any more."""
        with self._lock:
            self._stopping.set()
            for child in self._alive:
                _kill_session(child)


@contextmanager
def children_of(root: Path) -> Iterator[Children]:
    """The children that work in `root`; they are killed where the block ends early, whatever the reason."""
    children = Children(root)
    try:
        yield children
    except BaseException:
        children.stop()
        raise


def _kill_session(child: "subprocess.Popen[bytes]") -> None:
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def _read(pipe: IO[bytes], lines: "deque[str]", say: Say) -> None:
    for line in pipe:
        # Of a progress bar only the last state.
        if text := line.decode(errors="replace").rstrip().rpartition("\r")[2]:
            lines.append(text)
            say(text)
