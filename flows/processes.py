"""The processes of a run: all carry the workspace's name in their environment.

`tasks.lifeline` ends them when the runner dies. This is for the runner that is still there, and for the next one.
"""

import contextlib
import os
import time
from pathlib import Path

import psutil

from tokenlab.errors import TokenlabError

PIPELINE = "TOKENLAB_PIPELINE"
"""Environment variable of every process of a run: the root of its workspace."""

_SECONDS_TO_END = 20.0
_SECONDS_BETWEEN_LOOKS = 0.01


def end_processes(root: Path) -> int:
    """Kill every other process of a run in the workspace `root`, wait until none is left, and return their number.

    Only for the holder of the pipeline lock. Raises TokenlabError where one does not end (it hangs in the kernel).
    """
    ended: set[psutil.Process] = set()
    deadline = time.monotonic() + _SECONDS_TO_END
    while processes := _processes(root):
        if time.monotonic() > deadline:
            raise TokenlabError(f"process {processes[0].pid} of an earlier run does not end; end it, then start again")
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        ended.update(processes)
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    return len(ended)


def _processes(root: Path) -> list[psutil.Process]:
    """Those that run. A zombie has ended, even where nobody asks after it, as in containers without a proper init."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, OSError):  # it ended, or is another user's
            if process.pid != os.getpid() and process.environ().get(PIPELINE) == str(root):
                found.append(process)
    return found
