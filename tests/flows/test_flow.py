"""The flow on a real server: states, logs, failures, and whatever may end it or stand in its way."""

import contextlib
import http.server
import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import killing
import psutil
import pytest
import toy_pipeline
from killing import RUNNER, Run
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterId,
    LogFilter,
    LogFilterFlowRunId,
)
from prefect.client.schemas.objects import FlowRun
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Cancelling
from prefect_server import FLOW, Server

Check = Callable[[Path], None]

DVC = [sys.executable, "-m", "dvc"]


@pytest.fixture
def client(server: Server) -> Iterator[SyncPrefectClient]:
    with temporary_settings({PREFECT_API_URL: server.url}), get_client(sync_client=True) as client:
        yield client


def last_run(client: SyncPrefectClient) -> FlowRun:
    """The flow run that started last."""
    return max(client.read_flow_runs(limit=200), key=lambda run: run.created)


def states(client: SyncPrefectClient, run: UUID) -> dict[str, str]:
    """The name of the state of each task run."""
    chosen = FlowRunFilter(id=FlowRunFilterId(any_=[run]))
    return {task.name: str(task.state_name) for task in client.read_task_runs(flow_run_filter=chosen)}


def log(client: SyncPrefectClient, run: UUID) -> str:
    """The run's log, its tasks' among it."""
    killing.wait_until(lambda: client.read_logs(LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run]))))
    lines = client.read_logs(LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run])), limit=200)
    return "\n".join(line.message for line in lines)


def change_meta(folder: Path, stage: str, meta: str) -> None:
    """Put `meta` into a stage of the toy pipeline that has none."""
    path = folder / "dvc.yaml"
    head, name, tail = path.read_text().partition(f"  {stage}:\n")
    path.write_text(f"{head}{name}    meta: {meta}\n{tail}")


def wait_for_stage(started: Run, name: str = "") -> psutil.Process:
    """The process of a stage, as soon as there is one; or of the stage of that name."""
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


def test_states_and_lines(fresh: Path, assert_complete: Check, server: Server, client: SyncPrefectClient) -> None:
    status, output = server.run(FLOW, fresh)
    assert status == 0, output
    assert_complete(fresh)
    run = last_run(client)
    assert run.state_name == "Completed"
    assert states(client, run.id) == dict.fromkeys(["first", "fan", "leaf@a", "leaf@b", "last"], "Completed")
    assert "> exec python stage.py leaf-b data/sample/fan/text.txt" in log(client, run.id)


@pytest.mark.slow
def test_states_of_what_need_not_run(copy_of_finished: Path, server: Server, client: SyncPrefectClient) -> None:
    (copy_of_finished / "params.yaml").write_text("letters: 4\n")  # `first` does not read it: the same bytes again
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
    told = tmp_path / "told.json"
    status, output = server.run(FLOW, fresh, TOKENLAB_ON_FAILURE=f"cat > {told}")
    assert status == 2, output  # as the stage
    run = last_run(client)
    assert run.state_name == "Failed"
    found = states(client, run.id)
    assert found == dict.fromkeys(["first", "fan", "leaf@b"], "Completed") | {"leaf@a": "Failed", "last": "NotReady"}
    assert "stage leaf@a failed (exit status 2); its last lines:\n  Running stage 'leaf@a':" in output
    summary = "1 of 5 stages failed: leaf@a; `python -m flows run` goes on from there"
    assert f"flows: {summary}\n" in output
    message = json.loads(told.read_text())
    assert (message["state"], message["message"], message["id"]) == ("Failed", summary, str(run.id))
    assert message["parameters"]["preset"] == "sample"

    (fresh / "fail").unlink()
    status, output = server.run(FLOW, fresh)
    assert status == 0, output
    assert states(client, last_run(client).id) == dict.fromkeys(["leaf@a", "last"], "Completed")
    assert_complete(fresh)


@pytest.mark.slow
def test_stage_that_fails_once(fresh: Path, assert_complete: Check, server: Server, client: SyncPrefectClient) -> None:
    change_meta(fresh, "fan", "{retries: 2, retry_delay: 0.1}")
    stage = fresh / "stage.py"
    flaky = '    if name == "fan" and not Path("tried").exists():\n        Path("tried").touch()\n        sys.exit(3)\n'
    stage.write_text(stage.read_text().replace("    text = ", f"{flaky}    text = ", 1))
    status, output = server.run(FLOW, fresh)
    assert status == 0, output
    assert "exited with 3" in output
    assert states(client, last_run(client).id)["fan"] == "Completed"
    assert_complete(fresh)


def test_killed_and_asked_to_end(
    fresh: Path, assert_complete: Check, server: Server, client: SyncPrefectClient
) -> None:
    started = server.start(FLOW, fresh)
    wait_for_stage(started)
    started.process.kill()  # it can tell nobody; the next run does
    killing.assert_ended(started)
    killed = last_run(client)
    assert killed.state_name == "Running"

    started = server.start(FLOW, fresh)
    wait_for_stage(started)
    assert client.read_flow_run(killed.id).state_name == "Crashed"
    assert "Running" not in states(client, killed.id).values()
    started.process.terminate()
    killing.wait_until(lambda: list(killing.living(fresh)) in ([], [started.process]), 1)
    assert started.finish(20) == 128 + signal.SIGTERM, started.output()
    assert "flows: ended by SIGTERM; `python -m flows run` goes on from here\n" in started.output()
    assert last_run(client).state_name == "Crashed"

    status, output = server.run(FLOW, fresh)
    assert status == 0, output
    assert_complete(fresh)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_asked_otherwise_to_end(
    fresh: Path, assert_complete: Check, server: Server, client: SyncPrefectClient, number: signal.Signals
) -> None:
    started = server.start(FLOW, fresh)
    wait_for_stage(started)
    started.process.send_signal(number)
    assert started.finish(20) == 128 + number, started.output()
    assert last_run(client).state_name == "Crashed"
    status, output = server.run(FLOW, fresh)
    assert status == 0, output
    assert_complete(fresh)


@pytest.mark.slow
def test_killed_stage_is_not_tried_again(
    fresh: Path, assert_complete: Check, server: Server, client: SyncPrefectClient
) -> None:
    change_meta(fresh, "fan", "{retries: 5}")
    started = server.start(FLOW, fresh)
    wait_for_stage(started, "fan").kill()
    assert started.finish() == 1, started.output()
    assert "stage fan failed (SIGKILL)" in started.output()
    assert started.output().count("Running stage 'fan'") == 2  # once in the log, once among the last lines
    assert states(client, last_run(client).id)["fan"] == "Failed"
    status, output = server.run(FLOW, fresh)
    assert status == 0, output
    assert_complete(fresh)


@pytest.mark.slow
def test_asked_to_end_between_two_tries(fresh: Path, server: Server) -> None:
    change_meta(fresh, "fan", "{retries: 5, retry_delay: 300}")
    (fresh / "fail").write_text("fan")
    started = server.start(FLOW, fresh)
    killing.wait_until(lambda: "Retry 1/5" in started.output())
    time.sleep(0.5)
    started.process.terminate()
    assert started.finish(20) == 128 + signal.SIGTERM
    killing.assert_ended(started)


@pytest.mark.slow
def test_cancelled_from_the_page(
    fresh: Path, assert_complete: Check, server: Server, client: SyncPrefectClient
) -> None:
    started = server.start(FLOW, fresh)
    wait_for_stage(started)
    run = last_run(client)
    client.set_flow_run_state(run.id, Cancelling(), force=True)
    assert started.finish(60) == 1, started.output()
    killing.assert_ended(started)
    assert client.read_flow_run(run.id).state_name == "Cancelled"
    status, output = server.run(FLOW, fresh)
    assert status == 0, output
    assert_complete(fresh)


@pytest.mark.slow
@pytest.mark.parametrize("other", [FLOW, RUNNER], ids=["flow", "make repro"])
def test_two_runs_at_once(
    fresh: Path, assert_complete: Check, server: Server, client: SyncPrefectClient, other: list[str]
) -> None:
    first = server.start(FLOW, fresh)
    wait_for_stage(first)
    second = server.start(other, fresh)
    assert first.finish() == 0, first.output()
    assert second.finish() == 0, second.output()
    assert f"another run (pid {first.process.pid}) is at work here" in second.output()
    assert "Running stage" not in second.output()
    assert_complete(fresh)
    assert not list(killing.living(fresh))


@pytest.mark.slow
def test_plain_dvc_beside_a_flow(fresh: Path, assert_complete: Check, server: Server) -> None:
    """DVC alone takes no part in the lock of runs: either waits for the other's stages, or says that they are busy."""
    flow = server.start(FLOW, fresh)
    wait_for_stage(flow)
    beside = killing.run([*DVC, "repro"], fresh)
    assert flow.finish() == 0, flow.output()
    assert beside[0] == 0 or "is busy" in beside[1]
    assert_complete(fresh)
    assert not list(killing.living(fresh))


@pytest.mark.slow
def test_flow_beside_a_plain_dvc(fresh: Path, assert_complete: Check, server: Server) -> None:
    beside = killing.start([*DVC, "repro"], fresh)
    wait_for_stage(beside)
    status, output = server.run(FLOW, fresh)
    assert status == 0, output
    beside.finish()
    assert killing.run(RUNNER, fresh)[0] == 0
    assert_complete(fresh)
    assert not list(killing.living(fresh))


def sleeping(folder: Path, stages: int, seconds: float, meta: str = "{}") -> None:
    """Make the pipeline one of independent stages that sleep, and note when they start and end."""
    command = "date +%s.%N >> began; sleep {}; date +%s.%N >> ended; echo > out-{}"
    content = {
        f"sleep-{number}": f"{{cmd: {json.dumps(command.format(seconds, number))}, outs: [out-{number}], meta: {meta}}}"
        for number in range(stages)
    }
    lines = [f"  {name}: {stage}" for name, stage in content.items()]
    (folder / "dvc.yaml").write_text("\n".join(["stages:", *lines]) + "\n")


def side_by_side(folder: Path) -> int:
    """How many of the stages of `sleeping` slept at the same time."""
    times = [(float(line), 1) for line in (folder / "began").read_text().split()]
    times += [(float(line), -1) for line in (folder / "ended").read_text().split()]
    now = most = 0
    for _, change in sorted(times):
        now += change
        most = max(most, now)
    return most


@pytest.mark.slow
def test_independent_stages_run_side_by_side(fresh: Path, tmp_path: Path, server: Server) -> None:
    sleeping(fresh, stages=6, seconds=8)
    other = toy_pipeline.make(tmp_path / "plain")
    sleeping(other, stages=6, seconds=8)
    began = time.monotonic()
    status, output = killing.run([*DVC, "repro"], other)
    plain = time.monotonic() - began
    assert status == 0, output
    began = time.monotonic()
    status, output = server.run([*FLOW, "--workers", "2"], fresh)
    flow = time.monotonic() - began
    assert status == 0, output
    assert side_by_side(fresh) == 2
    assert flow < 0.65 * plain, f"flow {flow:.1f} s, dvc repro {plain:.1f} s"


@pytest.mark.slow
def test_resources_are_shared(fresh: Path, server: Server) -> None:
    most = psutil.virtual_memory().total / 2**30
    sleeping(fresh, stages=3, seconds=2, meta=f"{{resources: {{memory_gb: {0.6 * most}}}}}")
    status, output = server.run([*FLOW, "--workers", "3"], fresh)
    assert status == 0, output
    assert side_by_side(fresh) == 1


@pytest.mark.slow
def test_time_limit(fresh: Path, server: Server) -> None:
    sleeping(fresh, stages=1, seconds=100, meta="{timeout: 1}")
    status, output = server.run(FLOW, fresh)
    assert status == 1
    assert "stage sleep-0 failed (time limit)" in output
    assert not list(killing.living(fresh))


@pytest.mark.slow
def test_no_card(fresh: Path, server: Server) -> None:
    sleeping(fresh, stages=1, seconds=0, meta="{resources: {gpu: 99}}")
    status, output = server.run(FLOW, fresh)
    assert status == 2
    assert "flows: sleep-0 asks for gpu: 99 and this machine has" in output


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[Any]]]:
    """The address of a server on loopback, and the JSON that it was sent."""
    received: list[Any] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listener.server_port}/", received
        listener.shutdown()


@pytest.mark.slow
def test_crash_is_told_to_a_webhook(fresh: Path, server: Server, webhook: tuple[str, list[Any]]) -> None:
    address, received = webhook
    started = server.start(FLOW, fresh, TOKENLAB_ON_FAILURE=address)
    wait_for_stage(started)
    started.process.terminate()
    started.finish(20)
    assert [message["state"] for message in received] == ["Crashed"]


@pytest.mark.slow
def test_hook_that_fails_changes_nothing(fresh: Path, server: Server) -> None:
    (fresh / "fail").write_text("first")
    status, output = server.run(FLOW, fresh, TOKENLAB_ON_FAILURE="http://127.0.0.1:9/")
    assert status == 2
    assert "TOKENLAB_ON_FAILURE: <urlopen error" in output
