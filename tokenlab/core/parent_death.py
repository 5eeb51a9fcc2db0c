"""No process outlives the one that started it.

make -> runner -> dvc -> stage -> pool worker: when any of them is killed, even by SIGKILL, the kernel kills those below
it, so that no orphan keeps writing outputs. Linux only (prctl); elsewhere the next run kills the orphans of an earlier
one (`flows.run.processes`).

The environment variable TOKENLAB_PARENT names the parent of a process, `multiprocessing` that of a pool worker. A
command started by hand has no such parent: it may outlive its terminal, as under nohup.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
from pathlib import Path

PARENT = "TOKENLAB_PARENT"
"""Environment variable: the pid of the parent. `die_with_parent` sets it to this process, for its children."""

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """From now on, this process gets SIGKILL when its parent ends.

    The kernel watches the *thread* that started this process, so start such processes from threads that last. Call this
    first in a process, or as the initializer of a pool that forks or spawns (workers of a forkserver are children of
    the server). Does nothing outside Linux.
    """
    if sys.platform == "linux":
        worker_of = multiprocessing.parent_process()
        if worker_of is not None or PARENT in os.environ:
            _ask_kernel()
            alive = worker_of.is_alive() if worker_of is not None else _is_alive(int(os.environ[PARENT]))
            if not alive:  # it ended before the kernel watched it
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
