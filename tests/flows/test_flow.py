"""The flow on a real server: states, logs, failures, limits, and everything that may end or delay it."""

import contextlib
import fcntl
import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import killing
import polars as pl
import psutil
import pytest
import yaml
from killing import RUNNER, Run
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterId,
    LogFilter,
    LogFilterFlowRunId,
)
from prefect.client.schemas.objects import FlowRun
from prefect.states import Cancelling
from prefect_server import FLOW, Server

from flows.flow import require_gpu
from flows.run.plan import Policy, Step
from tasks.views import SEGMENTATION
from tokenlab.core.errors import ParameterError

Check = Callable[[Path], None]

DVC = [sys.executable, "-m", "dvc", "repro"]


@pytest.fixture
def client(server: Server) -> Iterator[SyncPrefectClient]:
    with server.client() as client:
        yield client


def last_run(client: SyncPrefectClient) -> FlowRun:
    """The flow run that started last."""
    return max(client.read_flow_runs(limit=200), key=lambda run: run.created)


def states(client: SyncPrefectClient, run: UUID) -> dict[str, str]:
    """Task run -> name of its state."""
    chosen = FlowRunFilter(id=FlowRunFilterId(any_=[run]))
    return {task.name: str(task.state_name) for task in client.read_task_runs(flow_run_filter=chosen)}


def log(client: SyncPrefectClient, run: UUID) -> str:
    """The log of a run and of its tasks."""
    killing.wait_until(lambda: client.read_logs(LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run]))))
    lines = client.read_logs(LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run])), limit=200)
    return "\n".join(line.message for line in lines)


def change_meta(folder: Path, stage: str, meta: str) -> None:
    """Put `meta` into a stage of the toy pipeline that has none."""
    path = folder / "dvc.yaml"
    head, name, tail = path.read_text().partition(f"  {stage}:\n")
    path.write_text(f"{head}{name}    meta: {meta}\n{tail}")


def wait_for_stage(started: Run, name: str = "") -> psutil.Process:
    """The process of a stage as soon as it exists; of the stage `name`, if given."""
    found: list[psutil.Process] = []

    def look() -> bool:
        assert started.process.poll() is None, started.output()
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in started.process.children(recursive=True):
                words = child.cmdline()[1:3]
                found.extend([child] if words[:1] == ["stage.py"] and name in ("", *words[1:]) else [])
        return bool(found)

    killing.wait_until(look)
    return found[0]


def completes(folder: Path, server: Server, assert_complete: Check) -> None:
    """Assert that the next run completes the pipeline."""
    status, output = server.run(FLOW, folder)
    assert status == 0, output
    assert_complete(folder)


def test_states_and_logs(fresh: Path, assert_complete: Check, server: Server, client: SyncPrefectClient) -> None:
    completes(fresh, server, assert_complete)
    run = last_run(client)
    assert run.state_name == "Completed"
    assert states(client, run.id) == dict.fromkeys(["first", "fan", "leaf@a", "leaf@b", "last"], "Completed")
    assert "> exec python stage.py leaf-b data/sample/fan/text.txt" in log(client, run.id)


@pytest.mark.slow
def test_states_of_stages_that_need_not_run(copy_of_finished: Path, server: Server, client: SyncPrefectClient) -> None:
    (copy_of_finished / "params.yaml").write_text("letters: 4\n")  # `first` ignores it and gives the same bytes
    (copy_of_finished / "data/sample/leaf-a/text.txt").unlink()
    status, output = server.run([*FLOW, "--only", "leaves"], copy_of_finished)
    assert status == 0, output
    found = states(client, last_run(client).id)
    assert found == {"first": "Completed", "fan": "Cached", "leaf@a": "Restored", "leaf@b": "Cached"}
    command = [sys.executable, "-m", "flows", "status"]
    shown = dict(line.split()[:2] for line in killing.run(command, copy_of_finished)[1].splitlines()[1:-1])
    assert shown == found | {"last": "-"}


@pytest.mark.slow
def test_failing_stage(
    fresh: Path, assert_complete: Check, server: Server, client: SyncPrefectClient, tmp_path: Path
) -> None:
    (fresh / "fail").write_text("leaf-a")
    notification = tmp_path / "notification.json"
    status, output = server.run(FLOW, fresh, TOKENLAB_ON_FAILURE=f"cat > {notification}")
    assert status == 2, output  # as the stage
    run = last_run(client)
    assert run.state_name == "Failed"
    found = states(client, run.id)
    assert found == dict.fromkeys(["first", "fan", "leaf@b"], "Completed") | {"leaf@a": "Failed", "last": "NotReady"}
    assert "stage leaf@a failed (exit status 2); its last lines:\n  Running stage 'leaf@a':" in output
    summary = "1 of 5 stages failed: leaf@a; `python -m flows run` continues from there"
    assert f"flows: {summary}\n" in output
    message = json.loads(notification.read_text())
    assert (message["state"], message["message"], message["id"]) == ("Failed", summary, str(run.id))
    assert message["parameters"]["preset"] == "sample"

    (fresh / "fail").unlink()
    completes(fresh, server, assert_complete)
    assert states(client, last_run(client).id) == dict.fromkeys(["leaf@a", "last"], "Completed")


@pytest.mark.slow
def test_retries(fresh: Path, assert_complete: Check, server: Server, client: SyncPrefectClient) -> None:
    """A stage that fails is tried again, one that a signal ends is not; and a flow can be ended between two tries."""
    pipeline = (fresh / "dvc.yaml").read_text()
    stage = fresh / "stage.py"
    flaky = (
        '    if name == "first" and not Path("tried").exists():\n        Path("tried").touch()\n        sys.exit(3)\n'
    )
    stage.write_text(stage.read_text().replace("    text = ", f"{flaky}    text = ", 1))
    (fresh / "dvc.yaml").write_text(pipeline.replace("{tags: [start]}", "{retries: 2, retry_delay: 0.1}"))
    change_meta(fresh, "fan", "{retries: 5, retry_delay: 300}")
    started = server.start(FLOW, fresh)
    wait_for_stage(started, "fan").kill()
    assert started.finish() == 1, started.output()
    assert "exited with 3" in started.output() and "stage fan failed (SIGKILL)" in started.output()
    assert started.output().count("Running stage 'fan'") == 2  # once in the log, once among the last lines
    run = last_run(client)
    assert (states(client, run.id)["first"], states(client, run.id)["fan"]) == ("Completed", "Failed")

    (fresh / "fail").write_text("fan")
    started = server.start(FLOW, fresh)
    killing.wait_until(lambda: "Retry 1/5" in started.output())
    started.process.send_signal(signal.SIGHUP)
    assert started.finish() == 128 + signal.SIGHUP
    killing.assert_ended(started)
    (fresh / "fail").unlink()
    completes(fresh, server, assert_complete)


@pytest.mark.slow
def test_killed_and_asked_to_end(
    fresh: Path, assert_complete: Check, server: Server, client: SyncPrefectClient
) -> None:
    started = server.start(FLOW, fresh)
    wait_for_stage(started)
    started.process.kill()  # the next run records it
    killing.assert_ended(started)
    killed = last_run(client)
    assert killed.state_name == "Running"

    started = server.start(FLOW, fresh)
    wait_for_stage(started)
    assert client.read_flow_run(killed.id).state_name == "Crashed"
    assert "Running" not in states(client, killed.id).values()
    started.process.terminate()
    assert started.finish() == 128 + signal.SIGTERM, started.output()
    killing.assert_ended(started)
    assert "flows: ended by SIGTERM; `python -m flows run` continues from here\n" in started.output()
    assert last_run(client).state_name == "Crashed"
    completes(fresh, server, assert_complete)


@pytest.mark.slow
def test_interrupted_and_cancelled(
    fresh: Path, assert_complete: Check, server: Server, client: SyncPrefectClient, tmp_path: Path
) -> None:
    notification = tmp_path / "notification.json"
    started = server.start(FLOW, fresh, TOKENLAB_ON_FAILURE=f"cat > {notification}")
    wait_for_stage(started)
    started.process.send_signal(signal.SIGINT)
    assert started.finish() == 128 + signal.SIGINT, started.output()
    killing.assert_ended(started)
    assert last_run(client).state_name == "Crashed"
    assert json.loads(notification.read_text())["state"] == "Crashed"

    started = server.start(FLOW, fresh)
    wait_for_stage(started)
    run = last_run(client)
    client.set_flow_run_state(run.id, Cancelling(), force=True)  # as the page does
    assert started.finish() == 1, started.output()
    killing.assert_ended(started)
    assert client.read_flow_run(run.id).state_name == "Cancelled"
    completes(fresh, server, assert_complete)


@pytest.mark.slow
def test_three_runs_at_once(fresh: Path, assert_complete: Check, server: Server) -> None:
    """A flow at work, a second flow and `make repro`, which wait for it and find nothing to do."""
    first = server.start(FLOW, fresh)
    wait_for_stage(first)
    others = [server.start(command, fresh) for command in (FLOW, RUNNER)]
    for run in (first, *others):
        assert run.finish() == 0, run.output()
    for other in others:
        assert "another run (pid " in other.output() and "Running stage" not in other.output()
    assert_complete(fresh)
    assert not list(killing.living(fresh))


@pytest.mark.slow
def test_plain_dvc_before_a_flow(fresh: Path, assert_complete: Check, server: Server) -> None:
    dvc = server.start(DVC, fresh)
    wait_for_stage(dvc)
    flow = server.start(FLOW, fresh)
    assert flow.finish() == 0, flow.output()
    assert dvc.finish() == 0, dvc.output()
    assert "another dvc (pid " in flow.output()
    assert_complete(fresh)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("whom", "number"), [("flow", signal.SIGTERM), ("flow", signal.SIGINT), ("tracker", signal.SIGTERM)]
)
def test_told_to_end_while_tracking(
    fresh: Path, server: Server, client: SyncPrefectClient, whom: str, number: signal.Signals
) -> None:
    """The tracker waits for somebody else who holds the store."""
    make_tracked(fresh)
    with (fresh / ".mlflow/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        started = server.start(FLOW, fresh)
        killing.wait_until(lambda: started.process.poll() is not None or trackers(fresh))
        assert started.process.poll() is None, started.output()
        (tracker,) = trackers(fresh)
        (started.process if whom == "flow" else tracker).send_signal(number)
        assert started.finish() == (128 + number if whom == "flow" else 1), started.output()
        killing.assert_ended(started)
    status = "Crashed" if whom == "flow" else "Failed"
    message = {
        "flow": f"ended by {number.name}; `python -m flows run` continues from here",
        "tracker": f"the stages completed; tracking was ended by {number.name}, `make track` continues",
    }
    assert f"flows: {message[whom]}\n" in started.output()
    assert last_run(client).state_name == status
    shown = killing.run([sys.executable, "-m", "flows", "status"], fresh)[1]
    assert shown.startswith(f"last run of sample: {status}")


def make_tracked(folder: Path) -> None:
    """Replace the stages by one that MLflow tracks; it has no rows."""
    table = folder / "table.parquet"
    pl.DataFrame({name: ["x"] for name in SEGMENTATION.columns()}).clear().write_parquet(table)
    target = SEGMENTATION.table.format(preset="sample", key="toy")
    command = f"mkdir -p {Path(target).parent} && cp {table.name} {target}"
    stage = {"cmd": command, "deps": [table.name], "outs": [target]}
    pipeline = {"stages": {SEGMENTATION.stage: {"foreach": ["toy"], "do": stage}}}
    (folder / "dvc.yaml").write_text(yaml.safe_dump(pipeline))
    (folder / ".mlflow").mkdir()


def trackers(folder: Path) -> list[psutil.Process]:
    """The trackers that wait for the store in the folder."""
    found = [process for process in killing.living(folder) if "flows.tracking" in process.cmdline()]
    return [process for process in found if str(folder / ".mlflow/lock") in files_of(process)]


def files_of(process: psutil.Process) -> list[str]:
    """The files that a process has open."""
    links = Path("/proc", str(process.pid), "fd").iterdir()
    with contextlib.suppress(OSError):
        return [str(link.readlink()) for link in links]
    return []


@pytest.mark.slow
def test_killed_flow_ends_its_temporary_server(fresh: Path, assert_complete: Check) -> None:
    """While the server starts and while a stage runs; then a flow with a server of its own completes the pipeline."""
    started = killing.start(FLOW, fresh)
    killing.wait_until(lambda: any("uvicorn" in process.cmdline() for process in killing.living(fresh)))
    started.process.kill()
    killing.assert_ended(started)
    started = killing.start(FLOW, fresh)
    wait_for_stage(started)
    started.process.kill()
    killing.assert_ended(started)
    status, output = killing.run(FLOW, fresh)
    assert status == 0, output
    assert_complete(fresh)
    assert not list(killing.living(fresh))


INDEPENDENT = """
vars: [{alone: mkdir alone && sleep 0.5 && rmdir alone, most: MOST}]
stages:
  one: {cmd: "touch one; until [ -e two ]; do sleep 0.05; done; echo > out-one", outs: [out-one]}
  two: {cmd: "touch two; until [ -e one ]; do sleep 0.05; done; echo > out-two", outs: [out-two]}
  big-1: {cmd: "${alone} && echo > out-3", outs: [out-3], meta: {resources: {memory_gb: "${most}"}}}
  big-2: {cmd: "${alone} && echo > out-4", outs: [out-4], meta: {resources: {memory_gb: "${most}"}}}
  endless: {cmd: sleep 1000, outs: [out-5], meta: {timeout: 1}}
"""


@pytest.mark.slow
def test_parallel_stages_and_limits(fresh: Path, server: Server, client: SyncPrefectClient) -> None:
    """Two stages wait for each other, two need most of the memory and refuse to run together, one never ends."""
    most = 0.6 * psutil.virtual_memory().total / 2**30
    (fresh / "dvc.yaml").write_text(INDEPENDENT.replace("MOST", str(most)))
    status, output = server.run([*FLOW, "--workers", "4"], fresh)
    assert status == 1, output
    assert "stage endless failed (time limit)" in output
    found = states(client, last_run(client).id)
    assert found == dict.fromkeys(["one", "two", "big-1", "big-2"], "Completed") | {"endless": "Failed"}
    assert not list(killing.living(fresh))


def test_missing_gpu_is_named() -> None:
    step = Step("train", (), (), Policy(resources={"gpu": 2}))
    require_gpu(step, {"gpu": 2})
    with pytest.raises(ParameterError, match="train asks for gpu: 2, and this machine has 1; leave the stage out"):
        require_gpu(step, {"gpu": 1})
