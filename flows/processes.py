"""The processes of a run: all carry the workspace's name in their environment.

`tasks.lifeline` ends them when the runner dies. This is for the runner that is still there, and for the next one.
"""

import os
from pathlib import Path

import psutil

from tokenlab.errors import TokenlabError

PIPELINE = "TOKENLAB_PIPELINE"
"""Environment variable of every process of a run: the root of its workspace."""

_SECONDS_TO_END = 20.0


def end_processes(root: Path) -> int:
    """Kill every other process of a run in the workspace `root`, wait until none is left, and return their number.

    Only for the holder of the pipeline lock. Raises TokenlabError where one does not end (it hangs in the kernel).
    """
    ended = 0
    while processes := _processes(root):
        for process in processes:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        _, alive = psutil.wait_procs(processes, timeout=_SECONDS_TO_END)
        if alive:
            raise TokenlabError(f"process {alive[0].pid} of an earlier run does not end; end it, then start again")
        ended += len(processes)
    return ended


def _processes(root: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(PIPELINE) == str(root):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
            continue  # it ended, is a zombie, or is another user's
    return found
