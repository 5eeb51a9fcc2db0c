"""Mark flow runs as Crashed whose process was killed, so that Prefect does not show them as running for ever.

Each flow writes a note with its process to `.work/flow/runs/RUN-ID.json` and removes it when it ends. A note whose
process is gone belongs to a killed run; the next flow marks it. A run that waits for the workspace is alive and stays.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.exceptions import ObjectNotFound
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.states import Crashed, State

from flows.run.history import FOLDER, is_running, process_identity
from tokenlab.core.files import write_text


@contextmanager
def recorded(root: Path) -> Iterator[None]:
    """Mark killed runs as Crashed, and keep a note of the present flow run within the block."""
    notes = root / FOLDER / "runs"
    note = notes / f"{flow_run.id}.json"
    _mark_crashed(notes)
    write_text(note, json.dumps(process_identity()))
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def _mark_crashed(notes: Path) -> None:
    with get_client(sync_client=True) as client:
        for note in sorted(notes.glob("*.json")):
            try:
                identity = json.loads(note.read_bytes())
            except FileNotFoundError:  # its run ended just now
                continue
            except ValueError:  # the kill interrupted writing it
                identity = {}
            if not is_running(identity):
                _crash(client, UUID(note.stem))
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
