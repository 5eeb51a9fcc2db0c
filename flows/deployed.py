"""Flow runs of deployments, which a worker starts: they end with their worker, and a deployment has one at a time.

Prefect's own limit of concurrency holds the place of a killed run for five minutes and longer. Here, it is the lock of
a file, which the kernel releases with its process.
"""

import contextlib
import fcntl
import os
import select
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from prefect.context import FlowRunContext
from prefect.logging import get_run_logger

from flows.run.history import FOLDER
from flows.run.workspace import wait_for_lock
from tasks.runtime.parent_death import PARENT, die_with_parent
from tokenlab.core.errors import TokenlabError


class StillRunning(TokenlabError):
    """The schedule starts a run while another run of its deployment is at work."""


def follow_worker() -> None:
    """End with the worker that started this process; does nothing in a process that no worker started.

    Call it first in a flow.
    """
    if "PREFECT__FLOW_RUN_ID" not in os.environ:
        return
    os.environ[PARENT] = str(os.getppid())
    die_with_parent()
    if _nobody_reads(sys.__stdout__.fileno() if sys.__stdout__ else -1):
        os.kill(os.getpid(), signal.SIGKILL)  # the worker was killed before the kernel watched it


def _nobody_reads(descriptor: int) -> bool:
    """Whether this is a pipe whose other end is closed. A worker reads the output of its runs."""
    if descriptor < 0 or not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


@contextlib.contextmanager
def one_at_a_time(root: Path) -> Iterator[None]:
    """Within the block, this is the only run of its deployment: a requested run waits until the one before has ended.

    Raises StillRunning in a run that the schedule started, where it would have to wait.
    """
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    if run is None or run.deployment_id is None:
        yield
        return
    place = root / FOLDER / "deployments" / f"{run.deployment_id}.lock"
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if run.auto_scheduled:
                raise StillRunning("the last run of this deployment is still at work") from None
            get_run_logger().info("waiting until the last run of this deployment has ended")
            wait_for_lock(lock.fileno())
        yield
