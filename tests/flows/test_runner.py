"""`make repro` on a real server: states, logs, failures, limits, runs at once, and everything that may end one."""

import contextlib
import fcntl
import json
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import killing
import polars as pl
import psutil
import pytest
import toy_pipeline
import yaml
from killing import RUNNER, Run
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId, LogFilter, LogFilterFlowRunId
from prefect.client.schemas.objects import FlowRun
from prefect.states import Cancelling

from tasks.views import SEGMENTATION

Check = Callable[[Path], None]

DVC = [sys.executable, "-m", "dvc", "repro"]
CONTINUES = "`python -m flows run`"

pytestmark = pytest.mark.usefixtures("reporting")


def last_run(client: SyncPrefectClient) -> FlowRun:
    """The flow run that started last."""
    return max(client.read_flow_runs(limit=200), key=lambda run: run.created)


def states(client: SyncPrefectClient, run: UUID) -> dict[str, str]:
    """Task run -> name of its state."""
    chosen = FlowRunFilter(id=FlowRunFilterId(any_=[run]))
    return {task.name: str(task.state_name) for task in client.read_task_runs(flow_run_filter=chosen)}


def log(client: SyncPrefectClient, run: UUID) -> str:
    """The log of a run and of its tasks."""
    chosen = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run]))
    killing.wait_until(lambda: client.read_logs(chosen))
    return "\n".join(line.message for line in client.read_logs(chosen, limit=200))


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


def completes(folder: Path, assert_complete: Check) -> str:
    """Assert that the next run completes the pipeline; its output."""
    status, output = killing.run(RUNNER, folder)
    assert status == 0, output
    assert_complete(folder)
    return output


def test_states_logs_and_times(fresh: Path, assert_complete: Check, client: SyncPrefectClient) -> None:
    lines = completes(fresh, assert_complete).splitlines()
    assert lines[0] == "stage 1 of 5: first (never run)"  # how long the rest takes is not known
    run = last_run(client)
    assert run.state_name == "Completed"
    assert states(client, run.id) == dict.fromkeys(["first", "fan", "leaf@a", "leaf@b", "last"], "Completed")
    assert "> exec python stage.py leaf-b data/sample/fan/text.txt" in log(client, run.id)
    record = json.loads((fresh / ".work/flow/sample.json").read_text())
    assert (record["run"]["state"], len(record["durations"])) == ("Completed", 5)


@pytest.mark.slow
def test_states_of_stages_that_need_not_run(copy_of_finished: Path, client: SyncPrefectClient) -> None:
    """And the time left: each stage counts with the time that its command took last."""
    (copy_of_finished / "params.yaml").write_text("letters: 4\n")  # `first` ignores it and gives the same bytes
    (copy_of_finished / "data/sample/leaf-a/text.txt").unlink()
    durations = dict.fromkeys(["first", "fan", "leaf@a"], 600.0)
    content = json.dumps({"run": {}, "durations": durations})
    toy_pipeline.write_files(copy_of_finished, {".work/flow/sample.json": content})
    status, output = killing.run([*RUNNER, "--only", "leaves"], copy_of_finished)
    assert status == 0, output
    found = states(client, last_run(client).id)
    assert found == {"first": "Completed", "fan": "Cached", "leaf@a": "Restored", "leaf@b": "Cached"}
    assert re.search(r"^stage 1 of 4: first \(changed parameter letters\), .*30 min .*\b1 stages", output, re.MULTILINE)
    assert "fan | already up to date\n" in output and "leaf@a | restored from" in output
    shown = killing.run([sys.executable, "-m", "flows", "status"], copy_of_finished)[1]
    assert dict(line.split()[:2] for line in shown.splitlines()[1:-1]) == found | {"last": "-"}


@pytest.mark.slow
def test_failing_stage(fresh: Path, assert_complete: Check, client: SyncPrefectClient) -> None:
    (fresh / "fail").write_text("leaf-a")
    status, output = killing.run(RUNNER, fresh)
    assert status == 2, output  # as the stage
    run = last_run(client)
    assert run.state_name == "Failed"
    found = states(client, run.id)
    assert found == dict.fromkeys(["first", "fan", "leaf@b"], "Completed") | {"leaf@a": "Failed", "last": "NotReady"}
    *_, failed, summary = output.splitlines()
    assert failed == "flows: stage leaf@a failed (exit status 2)"
    assert summary.startswith("flows: 1 of 5 stages failed: leaf@a; ") and CONTINUES in summary
    last_lines = r"stage leaf@a failed \(exit status 2\).*\n  Running stage 'leaf@a':"
    assert re.search(last_lines, log(client, run.id))

    (fresh / "fail").unlink()
    completes(fresh, assert_complete)
    assert states(client, last_run(client).id) == dict.fromkeys(["leaf@a", "last"], "Completed")


@pytest.mark.nightly
def test_retries(fresh: Path, assert_complete: Check, client: SyncPrefectClient) -> None:
    """A stage that fails is tried again, one that a signal ends is not; and a run can be ended between two tries."""
    stage = fresh / "stage.py"
    flaky = (
        '    if name == "first" and not Path("tried").exists():\n        Path("tried").touch()\n        sys.exit(3)\n'
    )
    stage.write_text(stage.read_text().replace("    text = ", f"{flaky}    text = ", 1))
    toy_pipeline.change(fresh, "{tags: [start]}", "{retries: 2, retry_delay: 0.1}")
    toy_pipeline.change(fresh, "  fan:\n", "  fan:\n    meta: {retries: 5, retry_delay: 300}\n")
    started = killing.start(RUNNER, fresh)
    wait_for_stage(started, "fan").kill()
    assert started.finish() == 1, started.output()
    assert "exited with 3" in started.output() and "stage fan failed (SIGKILL)" in started.output()
    run = last_run(client)
    assert log(client, run.id).count("Running stage 'fan'") == 2  # as it ran, and among the last lines
    assert (states(client, run.id)["first"], states(client, run.id)["fan"]) == ("Completed", "Failed")

    (fresh / "fail").write_text("fan")
    started = killing.start(RUNNER, fresh)
    killing.wait_until(lambda: "exited with 2" in started.output())
    run = last_run(client)
    killing.wait_until(lambda: states(client, run.id).get("fan") in ("AwaitingRetry", "Retrying"))
    started.process.send_signal(signal.SIGHUP)
    assert started.finish() == 128 + signal.SIGHUP
    killing.assert_ended(started)
    (fresh / "fail").unlink()
    completes(fresh, assert_complete)


@pytest.mark.slow
def test_killed_then_asked_to_end_then_cancelled_on_the_page(
    fresh: Path, assert_complete: Check, client: SyncPrefectClient
) -> None:
    started = killing.start(RUNNER, fresh)
    wait_for_stage(started)
    started.process.kill()  # the next run records it
    killing.assert_ended(started)
    killed = last_run(client)
    assert killed.state_name == "Running"

    started = killing.start(RUNNER, fresh)
    wait_for_stage(started)
    assert client.read_flow_run(killed.id).state_name == "Crashed"
    assert "Running" not in states(client, killed.id).values()
    started.process.terminate()
    assert started.finish() == 128 + signal.SIGTERM, started.output()
    killing.assert_ended(started)
    assert f"flows: ended by SIGTERM; {CONTINUES}" in started.output()
    assert last_run(client).state_name == "Crashed"

    started = killing.start(RUNNER, fresh)
    wait_for_stage(started)
    run = last_run(client)
    client.set_flow_run_state(run.id, Cancelling(), force=True)
    assert started.finish() == 1, started.output()
    killing.assert_ended(started)
    assert client.read_flow_run(run.id).state_name == "Cancelled"
    completes(fresh, assert_complete)


@pytest.mark.slow
@pytest.mark.parametrize("first", [RUNNER, DVC], ids=["make", "dvc"])
def test_two_at_once(fresh: Path, assert_complete: Check, first: list[str]) -> None:
    """A run waits for another run and for a plain `dvc repro`, and finds nothing to do."""
    at_work = killing.start(first, fresh)
    wait_for_stage(at_work)
    second = killing.start(RUNNER, fresh)
    for run in (at_work, second):
        assert run.finish() == 0, run.output()
    assert re.search(rf"\(pid {at_work.process.pid}\) .*waiting", second.output())
    assert "nothing to do" in second.output()
    assert_complete(fresh)
    assert not list(killing.living(fresh))


@pytest.mark.nightly
def test_plain_dvc_beside_a_run(fresh: Path, assert_complete: Check) -> None:
    """DVC itself gives up at a busy stage; it says what is at work there."""
    run = killing.start(RUNNER, fresh)
    wait_for_stage(run)
    plain = killing.start(DVC, fresh)
    assert run.finish() == 0, run.output()
    assert plain.finish() == 0 or "a run is at work" in plain.output()
    assert_complete(fresh)


@pytest.mark.nightly
def test_a_grid_of_parameters_by_dvc(fresh: Path) -> None:
    toy_pipeline.commit(fresh)
    dvc = ["env", f"PATH={Path(sys.executable).parent}:/usr/bin:/bin", "dvc", "exp"]
    for words in (["run", "--queue", "-S", "letters=3,5"], ["run", "--run-all"]):
        status, output = killing.run([*dvc, *words], fresh)
        assert status == 0, output
    status, names = killing.run([*dvc, "list", "--name-only"], fresh)
    assert status == 0 and len(names.split()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("cancelled", [False, True], ids=["SIGINT", "cancelled"])
def test_told_to_end_while_tracking(fresh: Path, client: SyncPrefectClient, cancelled: bool) -> None:
    """Tracking waits for somebody else who holds the store; the stages are done."""
    table = fresh / "table.parquet"
    pl.DataFrame({name: ["x"] for name in SEGMENTATION.columns()}).clear().write_parquet(table)
    target = SEGMENTATION.table.format(preset="sample", key="toy")
    command = f"mkdir -p {Path(target).parent} && cp {table.name} {target}"
    stage = {"cmd": command, "deps": [table.name], "outs": [target]}
    pipeline = {"stages": {SEGMENTATION.stage: {"foreach": ["toy"], "do": stage}}}
    (fresh / "dvc.yaml").write_text(yaml.safe_dump(pipeline))
    (fresh / ".mlflow").mkdir()
    with (fresh / ".mlflow/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        started = killing.start(RUNNER, fresh)
        killing.wait_until(
            lambda: (
                started.process.poll() is not None or lock.name in [file.path for file in started.process.open_files()]
            )
        )
        if cancelled:
            client.set_flow_run_state(last_run(client).id, Cancelling(), force=True)
        else:
            started.process.send_signal(signal.SIGINT)
            assert started.finish() == 128 + signal.SIGINT, started.output()
    assert not cancelled or started.finish() == 1, started.output()
    killing.assert_ended(started)
    assert last_run(client).state_name == ("Cancelled" if cancelled else "Crashed")
    assert cancelled or f"flows: ended by SIGINT; {CONTINUES}" in started.output()


@pytest.mark.nightly
def test_killed_run_ends_its_temporary_server(
    fresh: Path, assert_complete: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the server starts and while a stage runs; then a run with a server of its own completes the pipeline."""
    monkeypatch.setattr(killing, "CLIENT", {})
    started = killing.start(RUNNER, fresh)
    killing.wait_until(lambda: servers(fresh))
    started.process.kill()
    killing.assert_ended(started)
    started = killing.start(RUNNER, fresh)
    wait_for_stage(started)
    started.process.kill()
    killing.assert_ended(started)
    completes(fresh, assert_complete)
    assert not list(killing.living(fresh))


@pytest.mark.slow
def test_killed_temporary_server_ends_its_run(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(killing, "CLIENT", {})
    (fresh / "stage.py").write_text("import time; time.sleep(300)\n")
    started = killing.start(RUNNER, fresh)
    wait_for_stage(started)
    for process in servers(fresh):
        process.kill()
    assert started.finish() == 1
    killing.assert_ended(started)
    last = started.output().splitlines()[-1]
    assert last.startswith("flows: ") and "temporary Prefect server" in last and CONTINUES in last


def servers(folder: Path) -> list[psutil.Process]:
    return [process for process in killing.living(folder) if "flows.pages.applications" in process.cmdline()]


INDEPENDENT = """
vars: [{alone: mkdir alone && sleep 0.5 && rmdir alone, most: MOST}]
stages:
  one: {cmd: "touch one; until [ -e two ]; do sleep 0.05; done; echo > out-one", outs: [out-one]}
  two: {cmd: "touch two; until [ -e one ]; do sleep 0.05; done; echo > out-two", outs: [out-two]}
  big-1: {cmd: "${alone} && echo > out-3", outs: [out-3], meta: {resources: {memory_gb: "${most}"}}}
  big-2: {cmd: "${alone} && echo > out-4", outs: [out-4], meta: {resources: {memory_gb: "${most}"}}}
  crash: {cmd: "python -c 'raise ValueError'; exit 75", outs: [out-5]}
  seen: {cmd: "python -c 'import os, sys; print(sys.executable, os.environ[\\"SHELL\\"])' > out-6", outs: [out-6]}
"""


@pytest.mark.slow
def test_parallel_stages_and_limits(fresh: Path, client: SyncPrefectClient) -> None:
    """Two stages wait for each other, two need most of the memory and refuse to run together, one ends with the status
    that means that another DVC is at work, and one looks at its environment."""
    most = 0.6 * psutil.virtual_memory().total / 2**30
    (fresh / "dvc.yaml").write_text(INDEPENDENT.replace("MOST", str(most)))
    status, output = killing.run(["env", "SHELL=/bin/false", *RUNNER, "--workers", "4"], fresh)
    assert status == 1, output
    assert "stage crash failed (exit status 1)" in output
    found = states(client, last_run(client).id)
    well = dict.fromkeys(["one", "two", "big-1", "big-2", "seen"], "Completed")
    assert found == well | {"crash": "Failed"}
    assert (fresh / "out-6").read_text() == f"{Path(sys.executable).parent / 'python'} /bin/sh\n"
    assert not list(killing.living(fresh))


def test_server_that_takes_another_password(fresh: Path) -> None:
    status, output = killing.run(["env", "PREFECT_API_AUTH_STRING=tokenlab:other", *RUNNER], fresh)
    assert (status, output.count("\n")) == (2, 1)
    assert "does not take the password" in output


@pytest.mark.nightly
def test_full_disk(fresh: Path, assert_complete: Check) -> None:
    """A stage that cannot write fails; the next run completes the results."""
    limited = ["bash", "-c", 'ulimit -f 1; exec "$@"', "bash", *RUNNER]
    status, output = killing.run(limited, fresh)
    assert status not in (0, None), output
    completes(fresh, assert_complete)
