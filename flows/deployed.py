"""What every flow run does: it ends with its worker, is the only run of its deployment, and marks runs that were killed
as Crashed, so that Prefect does not show them as running for ever.

A run holds the lock of a file, which the kernel releases with its process: Prefect's own limit of concurrency holds the
place of a killed run for five minutes and longer.
"""

import contextlib
import os
import select
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.context import FlowRunContext
from prefect.exceptions import ObjectNotFound
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.states import Cancelled, Crashed, Failed, Running, State

from flows.run.history import FOLDER
from flows.run.workspace import locked, try_lock
from tokenlab.core.errors import TokenlabError
from tokenlab.core.parent_death import PARENT, die_with_parent


class StillRunning(TokenlabError):
    """The schedule starts a run while another run of its deployment is at work."""


def deployed(run: Callable[[Path], State]) -> State:
    """The state of a flow whose work is `run`, which gets the workspace; call it in the flow."""
    follow_worker()
    root = Path.cwd().resolve()
    try:
        with _recorded(root), one_at_a_time(root):
            return run(root)
    except StillRunning as error:
        return Cancelled(message=str(error))
    except TokenlabError as error:
        get_run_logger().error("%s", error)
        return Failed(message=str(error), data=error)


def follow_worker() -> None:
    """End with the worker that started this process; does nothing in a process that no worker started."""
    if "PREFECT__FLOW_RUN_ID" not in os.environ:
        return
    os.environ[PARENT] = str(os.getppid())
    die_with_parent()
    output = sys.__stdout__.fileno() if sys.__stdout__ else -1
    if output >= 0 and stat.S_ISFIFO(os.fstat(output).st_mode):
        pipe = select.poll()
        pipe.register(output, 0)
        if any(event & select.POLLERR for _, event in pipe.poll(0)):  # nobody reads it, as a worker does
            os.kill(os.getpid(), signal.SIGKILL)  # the worker was killed before the kernel watched it


@contextlib.contextmanager
def one_at_a_time(root: Path) -> Iterator[None]:
    """Within the block, this is the only run of its deployment: a requested run waits until the one before has ended, a
    run of the schedule raises StillRunning."""
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    if run is None or run.deployment_id is None:
        yield
        return

    def waiting(_: int) -> contextlib.AbstractContextManager[None]:
        if run.auto_scheduled:
            raise StillRunning("the last run of this deployment is still at work")
        return shown_waiting("waiting until the last run of this deployment has ended")

    place = root / FOLDER / "deployments" / f"{run.deployment_id}.lock"
    place.parent.mkdir(parents=True, exist_ok=True)
    with locked(place, waiting):
        yield


@contextlib.contextmanager
def shown_waiting(line: str) -> Iterator[None]:
    """Within the block, the log and the state of this run say that it waits for another one."""
    get_run_logger().info(line)
    _set_state(Running(name="Waiting", message=line))
    yield
    _set_state(Running())


def _set_state(state: State) -> None:
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(flow_run.id, state, force=True)


@contextlib.contextmanager
def _recorded(root: Path) -> Iterator[None]:
    """Mark killed runs as Crashed, and within the block hold a note of this run, `.work/flow/runs/RUN-ID`."""
    notes = root / FOLDER / "runs"
    notes.mkdir(parents=True, exist_ok=True)
    with get_client(sync_client=True) as client:
        for note in sorted(path for path in notes.iterdir() if not path.suffix):
            with contextlib.suppress(FileNotFoundError), note.open() as lock:
                if try_lock(lock.fileno()):  # otherwise its run is at work
                    _crash(client, UUID(note.name))
                    note.unlink()
    note = notes / str(flow_run.id)
    with locked(note.with_suffix(".new")):
        note.with_suffix(".new").rename(note)
        try:
            yield
        finally:
            note.unlink(missing_ok=True)


def _crash(client: SyncPrefectClient, run_id: UUID) -> None:
    state: State = Crashed(message="its process was killed")
    try:
        run = client.read_flow_run(run_id)
    except ObjectNotFound:  # it belongs to another server
        return
    if run.state is not None and run.state.is_final():
        return
    client.set_flow_run_state(run_id, state, force=True)
    for task_run in client.read_task_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run_id]))):
        if task_run.state is not None and not task_run.state.is_final():
            client.set_task_run_state(task_run.id, state, force=True)
    get_run_logger().warning("flow run %s was killed; it is now marked Crashed", run.name)
