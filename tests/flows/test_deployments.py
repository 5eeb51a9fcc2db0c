"""prefect.yaml, deployed to a real server, fired by its scheduler and run by a real worker."""

import contextlib
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import killing
import psutil
import pytest
import toy_pipeline
import workspace
import yaml
from killing import PROJECT, Run
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import FlowRun
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Cancelling
from prefect_server import FLOW, Server

from flows.sweep import Point, points_of
from tokenlab.errors import ParameterError

Check = Callable[[Path], None]

PREFECT = [sys.executable, "-m", "prefect", "--no-prompt"]
GIT = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]

_SECONDS_TO_COMPLETE = 240.0


@pytest.fixture
def client(server: Server) -> Iterator[SyncPrefectClient]:
    with temporary_settings({PREFECT_API_URL: server.url}), get_client(sync_client=True) as client:
        yield client


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The toy pipeline in git, with the flows of the project beside it, and metrics that DVC keeps."""
    folder = toy_pipeline.make(tmp_path / "workspace")
    for name in ("flows", "tasks", "tokenlab", "prefect.yaml", "prefect.toml"):
        (folder / name).symlink_to(PROJECT / name)
    pipeline = folder / "dvc.yaml"
    pipeline.write_text(pipeline.read_text().replace(": {cache: false}", ""))
    with (folder / ".gitignore").open("a") as ignored:
        ignored.write("/flows\n/tasks\n/tokenlab\n/.work/\n/.mlflow/\n/deploy.yaml\n")
    commit(folder)
    return folder


def commit(folder: Path) -> None:
    subprocess.run([*GIT, "add", "--all"], cwd=folder, check=True)
    subprocess.run([*GIT, "commit", "--quiet", "--message", "all"], cwd=folder, check=True)


def deploy(server: Server, folder: Path, fires_in: float | None = None) -> None:
    """Deploy all of prefect.yaml; its schedules give way to one that fires once in so many seconds."""
    content = yaml.safe_load((PROJECT / "prefect.yaml").read_text())
    for deployment in content["deployments"]:
        deployment.pop("schedules", None)
        if fires_in is not None and deployment["name"] == "on-demand":
            first = datetime.now(UTC) + timedelta(seconds=fires_in)
            deployment["schedules"] = [{"interval": 86400, "anchor_date": first.isoformat()}]
    (folder / "deploy.yaml").write_text(yaml.safe_dump(content))
    server.run([*PREFECT, "work-pool", "create", "local", "--type", "process"], folder)
    status, output = server.run([*PREFECT, "deploy", "--all", "--prefect-file", "deploy.yaml"], folder)
    assert status == 0, output


@contextmanager
def worker(server: Server, folder: Path) -> Iterator[Run]:
    """Within the block, a worker takes runs."""
    command = [*PREFECT, "worker", "start", "--pool", "local", "--limit", "2"]
    started = server.start(command, folder, PREFECT_WORKER_PREFETCH_SECONDS="1")
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.send_signal(signal.SIGINT)
            started.finish(60)


def ask(server: Server, folder: Path, name: str, *words: str) -> str:
    """Ask for a run of a deployment; return what was printed."""
    status, output = server.run([*PREFECT, "deployment", "run", name, *words], folder)
    assert status == 0, output
    return output


def wait_for_run(client: SyncPrefectClient, started: Run, wanted: Callable[[FlowRun], bool]) -> FlowRun:
    """The first run that is as wanted."""
    found: list[FlowRun] = []

    def look() -> bool:
        assert started.process.poll() is None, started.output()
        found.extend(run for run in client.read_flow_runs(limit=200) if wanted(run))
        return bool(found)

    try:
        killing.wait_until(look, _SECONDS_TO_COMPLETE)
    except AssertionError:
        raise AssertionError(started.output()) from None
    return found[0]


def newest(client: SyncPrefectClient) -> FlowRun:
    return max(client.read_flow_runs(limit=200), key=lambda run: run.created)


def finished_run(client: SyncPrefectClient, started: Run) -> FlowRun:
    """The run that was asked for last, when it has ended."""
    run = newest(client)
    return wait_for_run(
        client, started, lambda other: other.id == run.id and other.state is not None and other.state.is_final()
    )


def stop_schedules(client: SyncPrefectClient) -> None:
    """And what waits to be run, so that the next worker finds nothing."""
    for deployment in client.read_deployments():
        client.delete_deployment(deployment.id)
    for run in client.read_flow_runs(limit=200):
        if run.state is None or not run.state.is_final():
            client.delete_flow_run(run.id)


@pytest.mark.slow
def test_prefect_yaml_is_what_prefect_takes(server: Server, client: SyncPrefectClient, project: Path) -> None:
    server.run([*PREFECT, "work-pool", "create", "local", "--type", "process"], project)
    status, output = server.run([*PREFECT, "deploy", "--all"], project)
    assert status == 0, output
    deployed = {deployment.name: deployment for deployment in client.read_deployments()}
    assert set(deployed) == {"on-demand", "weekly-cpu", "nightly-rebuild", "sweep"}
    schedules = {name: [one.schedule.cron for one in item.schedules] for name, item in deployed.items()}
    assert schedules == {"on-demand": [], "weekly-cpu": ["0 3 * * 0"], "nightly-rebuild": ["0 2 * * *"], "sweep": []}
    assert all(item.global_concurrency_limit.limit == 1 for item in deployed.values())
    assert deployed["weekly-cpu"].parameters == {"preset": "cpu"}
    assert set(deployed["sweep"].parameter_openapi_schema["required"]) == {"grid"}
    stop_schedules(client)


@pytest.mark.slow
def test_schedule_fires(server: Server, client: SyncPrefectClient, tmp_path: Path) -> None:
    """The real pipeline, small: nobody asks, a worker runs it, and its results are in MLflow."""
    folder = workspace.make_workspace(
        tmp_path / "workspace",
        corpora={"zh": {"path": "data/raw/builtin/zh", "format": "parquet", "gold": "words"}},
        segmentation=workspace.SMALL,
    )
    with worker(server, folder) as started:
        deploy(server, folder, fires_in=20)
        run = wait_for_run(
            client, started, lambda run: run.auto_scheduled and run.state_name in ("Completed", "Failed")
        )
        stop_schedules(client)
    assert run.state_name == "Completed", started.output()
    assert (folder / "reports/sample/index.html").exists()
    with sqlite3.connect(folder / ".mlflow/mlruns.db") as store:
        (rows,) = store.execute("select count(*) from runs where lifecycle_stage = 'active'").fetchone()
    assert rows > 0


@pytest.mark.slow
def test_cancelled_run_of_a_worker(project: Path, server: Server, client: SyncPrefectClient) -> None:
    deploy(server, project)
    with worker(server, project) as started:
        ask(server, project, "tokenlab/on-demand")
        killing.wait_until(lambda: stages_at_work(project), _SECONDS_TO_COMPLETE)
        run = newest(client)
        client.set_flow_run_state(run.id, Cancelling())
        killing.wait_until(lambda: not stages_at_work(project), 20)
        assert finished_run(client, started).state_name == "Cancelled"
        ask(server, project, "tokenlab/on-demand")
        assert finished_run(client, started).state_name == "Completed", started.output()
        stop_schedules(client)
    assert killing.run([*FLOW, "--dry-run"], project)[1] == "nothing to do: all 5 stages are up to date\n"


@pytest.mark.slow
def test_killed_with_its_worker(project: Path, server: Server, client: SyncPrefectClient) -> None:
    """Nobody is left to tell of it: the next run marks it Crashed, and so frees its place in the deployment."""
    deploy(server, project)
    with worker(server, project) as started:
        ask(server, project, "tokenlab/on-demand")
        killing.wait_until(lambda: stages_at_work(project), _SECONDS_TO_COMPLETE)
        killed = newest(client)
        for process in [started.process, *started.process.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        killing.wait_until(lambda: not list(killing.living(project)), 5)
    assert client.read_flow_run(killed.id).state_name == "Running"
    status, output = server.run(FLOW, project)
    assert status == 0, output
    assert client.read_flow_run(killed.id).state_name == "Crashed"
    with worker(server, project) as started:
        ask(server, project, "tokenlab/on-demand")
        run = finished_run(client, started)
        assert (run.state_name, run.state.message) == ("Cached", "all 5 stages are up to date"), started.output()
        stop_schedules(client)


def stages_at_work(folder: Path) -> bool:
    return any("stage.py" in process.cmdline() for process in killing.living(folder))


@pytest.mark.slow
def test_rebuild(project: Path, server: Server, client: SyncPrefectClient) -> None:
    head, name, tail = (project / "dvc.yaml").read_text().partition("  fan:\n")
    assert killing.run(killing.RUNNER, project)[0] == 0
    commit(project)
    shutil.rmtree(project / ".dvc/cache")
    deploy(server, project)
    with worker(server, project) as started:
        ask(server, project, "tokenlab/nightly-rebuild")
        run = finished_run(client, started)
        assert run.state_name == "Completed", started.output()
        assert run.state.message == "5 stages give the bytes that dvc.lock says"

        (project / "stage.py").write_text((project / "stage.py").read_text().replace("name * 1000", "name * 999"))
        commit(project)
        ask(server, project, "tokenlab/nightly-rebuild")
        run = finished_run(client, started)
        assert run.state_name == "Failed", started.output()
        changed = [line.split(":")[0].strip() for line in run.state.message.splitlines()[1:]]
        assert sorted(set(changed)) == ["fan", "first", "last", "leaf@a", "leaf@b"]

        # Nobody repeats a training each night, nor what needs its model.
        (project / "dvc.yaml").write_text(f"{head}{name}    meta: {{tags: [training]}}\n{tail}")
        commit(project)
        ask(server, project, "tokenlab/nightly-rebuild")
        run = finished_run(client, started)
        changed = [line.split(":")[0].strip() for line in run.state.message.splitlines()[1:]]
        assert sorted(set(changed)) == ["first"], started.output()
        stop_schedules(client)
    assert not list((project / ".work/rebuild").iterdir())


@pytest.mark.slow
def test_sweep(project: Path, server: Server, client: SyncPrefectClient) -> None:
    stage = project / "stage.py"
    stage.write_text(
        stage.read_text().replace("% len(text))", '% (len(text) * int(Path("params.yaml").read_text()[9:])))')
    )
    assert killing.run(killing.RUNNER, project)[0] == 0
    commit(project)
    before = (project / "dvc.lock").read_bytes()
    deploy(server, project)
    with worker(server, project) as started:
        ask(server, project, "sweep/sweep", "--param", 'grid={"letters": [3, 4, 5]}', "--param", "only=start")
        run = finished_run(client, started)
        assert run.state_name == "Completed", started.output()
        ask(server, project, "sweep/sweep", "--param", 'grid={"letter": [3]}')
        failed = finished_run(client, started)
        assert (failed.state_name, failed.state.message) == ("Failed", "grid: no parameter 'letter' in the preset")
        stop_schedules(client)
    (artifact,) = [item for item in client.read_artifacts() if item.flow_run_id == run.id]
    rows = yaml.safe_load(str(artifact.data))
    assert [(row["letters"], row["data/sample/first.json:letters"]) for row in rows] == [(3, 15), (4, 20), (5, 25)]
    assert (project / "dvc.lock").read_bytes() == before
    shown = killing.run([sys.executable, "-m", "dvc", "exp", "list", "--name-only"], project)[1].split()
    assert sorted(shown) == sorted(row["experiment"] for row in rows)


def test_points_of_a_grid() -> None:
    parameters = {"a": {"b": 1, "c": "x"}, "d": [1]}
    assert points_of({"a.b": [1, 2], "d": [[1, 2], None]}, parameters, "p") == [
        Point("p-1", {"a.b": 1, "d": [1, 2]}),
        Point("p-2", {"a.b": 1, "d": None}),
        Point("p-3", {"a.b": 2, "d": [1, 2]}),
        Point("p-4", {"a.b": 2, "d": None}),
    ]


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({}, "grid: 0 points; there must be 1 to 200"),
        ({"a.b": list(range(201))}, "grid: 201 points; there must be 1 to 200"),
        ({"a.x": [1]}, "grid: no parameter 'a.x' in the preset"),
        ({"a.b.c": [1]}, "grid: no parameter 'a.b.c' in the preset"),
        ({"~a": [1]}, "grid: no parameter '~a' in the preset"),
        ({"a.b": 1}, "grid: a.b must have a list of values"),
        ({"a.b": [{"x": 1}]}, "grid: a.b: {'x': 1} must be a number, text, true, false, null or a list of such"),
    ],
)
def test_grid_without_meaning(grid: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        points_of(grid, {"a": {"b": 1}}, "p")
    assert str(raised.value) == message
