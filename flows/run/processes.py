"""The processes of a run: each has the path of the workspace in its environment.

`tasks.runtime.parent_death` ends them when the runner dies. `end_processes` is used twice more: by the running pipeline
to stop its children, and by the next run to stop orphans.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

import psutil

from tasks.runtime.parent_death import PARENT
from tokenlab.core.errors import TokenlabError

PIPELINE = "TOKENLAB_PIPELINE"
"""Environment variable of every process of a run: the root of its workspace."""

_PROJECT = Path(__file__).resolve().parents[2]
_KEPT = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONUNBUFFERED")
"""Variables of Python that change no result."""

_SECONDS_TO_END = 20.0
_SECONDS_BETWEEN_POLLS = 0.01


def environment(root: Path) -> dict[str, str]:
    """The environment of every process of a run in the workspace `root`.

    The variables of Python are not the user's, as in the Makefile: a PYTHONPATH or a user's site-packages would give
    the stages other packages than those of .venv.
    """
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


def end_processes(root: Path) -> int:
    """Kill every other process of a run in the workspace `root`, wait until none is left, and return their number.

    Only for the holder of the pipeline lock. Raises TokenlabError for a process that does not end because it hangs in
    the kernel.
    """
    ended: set[psutil.Process] = set()
    deadline = time.monotonic() + _SECONDS_TO_END
    while processes := _processes(root):
        if time.monotonic() > deadline:
            raise TokenlabError(f"process {processes[0].pid} of an earlier run does not end; end it, then run again")
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        ended.update(processes)
        time.sleep(_SECONDS_BETWEEN_POLLS)
    return len(ended)


def is_of_run(pid: int, root: Path) -> bool:
    """Whether a process belongs to a run in the workspace `root`."""
    try:
        return psutil.Process(pid).environ().get(PIPELINE) == str(root)
    except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):  # it ended, or belongs to another user
        return False


def _processes(root: Path) -> list[psutil.Process]:
    """The other processes of the workspace; zombies have no environment and do not count."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(
            psutil.NoSuchProcess, psutil.AccessDenied, OSError
        ):  # it ended, or belongs to another user
            if process.pid != os.getpid() and process.environ().get(PIPELINE) == str(root):
                found.append(process)
    return found


def requests_to_end() -> list[signal.Signals]:
    """The signals by which this process is asked to end; a hang-up that nohup ignores is none.

    SIGINT counts even where it is ignored: shells start jobs in the background that way.
    """
    asking = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [one for one in asking if one == signal.SIGINT or signal.getsignal(one) is not signal.SIG_IGN]


class Interrupted(BaseException):
    """A signal asked the runner to end. A BaseException, so that no `except Exception` catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextlib.contextmanager
def signals_raise() -> Iterator[None]:
    """Within the block, the first request to end raises Interrupted."""
    before = {number: signal.getsignal(number) for number in requests_to_end()}

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        for other in before:
            signal.signal(other, signal.SIG_IGN)  # nothing may interrupt the end of the children
        raise Interrupted(number)

    for number in before:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
