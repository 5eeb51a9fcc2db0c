"""No process outlives the one that started it.

make -> runner -> dvc -> stage -> pool worker: whichever of them is killed, even by SIGKILL, the kernel ends those
below it, so nothing goes on writing outputs that nobody waits for. Linux only (prctl); elsewhere the next run ends what
a killed one left (`flows.processes`).

A process knows whom it follows from the environment variable TOKENLAB_PARENT, a pool worker from `multiprocessing`.
A command started by hand follows nobody: it may outlive its terminal, as under nohup.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
from pathlib import Path

PARENT = "TOKENLAB_PARENT"
"""Environment variable: the pid of the process to follow. `die_with_parent` sets it to its own, for its children."""

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Tie this process to its parent: from now on it gets SIGKILL when the parent ends.

    The kernel watches the *thread* that started this process: start such processes from threads that last.
    Call it first thing in a process, or as the initializer of a pool that forks or spawns (the workers of a forkserver
    follow the server). Does nothing outside Linux.
    """
    if sys.platform == "linux":
        worker_of = multiprocessing.parent_process()
        if worker_of is not None:
            _ask_kernel()
            gone = not worker_of.is_alive()
        elif PARENT in os.environ:
            _ask_kernel()
            gone = not _is_alive(int(os.environ[PARENT]))
        else:
            gone = False
        if gone:  # before the kernel knew
            os.kill(os.getpid(), signal.SIGKILL)
    os.environ[PARENT] = str(os.getpid())


def _ask_kernel() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")


def _is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return False
    state = status.rpartition(b")")[2].split()[0]
    return state not in (b"Z", b"X")
