"""prefect.yaml, deployed to a real server and run by a real worker."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import killing
import psutil
import pytest
import toy_pipeline
from killing import ROOT, Run
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.responses import DeploymentResponse
from prefect.states import Cancelling
from prefect_server import Server

PREFECT = [sys.executable, "-m", "prefect", "--no-prompt"]


class Deployed:
    """The toy pipeline in git with the project's flows beside it, deployed once for all tests, and its worker."""

    def __init__(self, server: Server, client: SyncPrefectClient, folder: Path) -> None:
        self._server = server
        self.folder = toy_pipeline.make(folder)
        for name in ("flows", "tasks", "tokenlab", "prefect.yaml"):
            (folder / name).symlink_to(ROOT / name)
        pipeline = folder / "dvc.yaml"
        pipeline.write_text(pipeline.read_text().replace(": {cache: false}", ""))  # DVC keeps the metrics
        with (folder / ".gitignore").open("a") as ignored:
            ignored.write("/flows\n/tasks\n/tokenlab\n/.mlflow/\n")
        toy_pipeline.commit(folder)
        subprocess.run(["git", "tag", "start"], cwd=folder, check=True)
        server.start([*PREFECT, "work-pool", "create", "local", "--type", "process"], folder).finish()
        deployed = server.start([*PREFECT, "deploy", "--all"], folder)
        assert deployed.finish() == 0, deployed.output()
        self.deployments: dict[str, DeploymentResponse] = {item.name: item for item in client.read_deployments()}
        remove_schedules(client)
        self._worker: Run | None = None

    def reset(self) -> None:
        """Back to a pipeline that has never run."""
        subprocess.run(["git", "reset", "--quiet", "--hard", "start"], cwd=self.folder, check=True)
        for name in ("data", ".work", ".dvc/tmp", ".dvc/cache"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        (self.folder / "dvc.lock").unlink(missing_ok=True)

    def worker(self) -> Run:
        """The worker; a new one where there is none or it was killed."""
        if self._worker is None or self._worker.process.poll() is not None:
            command = [*PREFECT, "worker", "start", "--pool", "local", "--limit", "2"]
            self._worker = self._server.start(command, self.folder, PREFECT_WORKER_PREFETCH_SECONDS="1")
        return self._worker

    def stop(self) -> None:
        """Ask the worker to end, and wait for it; kill it if it hangs."""
        if self._worker is None:
            return
        if self._worker.process.poll() is None:
            self._worker.process.send_signal(signal.SIGINT)
        try:
            self._worker.finish(seconds=60)
        except psutil.TimeoutExpired:
            self._worker.process.kill()
            self._worker.finish()


def remove_schedules(client: SyncPrefectClient) -> None:
    """Remove all schedules and their future flow runs, so that the worker runs only what a test creates."""
    for deployment in client.read_deployments():
        for schedule in client.read_deployment_schedules(deployment.id):
            client.delete_deployment_schedule(deployment.id, schedule.id)
    for run in client.read_flow_runs(limit=200):
        if run.state is None or run.state.is_scheduled():
            client.delete_flow_run(run.id)


@pytest.fixture(scope="module")
def deployed(server: Server, client: SyncPrefectClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    made = Deployed(server, client, tmp_path_factory.mktemp("deployed") / "workspace")
    yield made
    made.stop()


@pytest.fixture
def project(deployed: Deployed) -> Path:
    """The deployed pipeline, which has never run."""
    deployed.reset()
    return deployed.folder


def create_run(client: SyncPrefectClient, name: str) -> FlowRun:
    """Create a flow run of a deployment such as `tokenlab/on-demand`; the worker takes it."""
    deployment = client.read_deployment_by_name(name)
    return client.create_flow_run_from_deployment(deployment.id)


def finished_run(client: SyncPrefectClient, worker: Run, run: FlowRun) -> FlowRun:
    """The flow run once it has ended."""

    def ended() -> bool:
        assert worker.process.poll() is None, worker.output()
        state = client.read_flow_run(run.id).state
        return bool(state and state.is_final())

    try:
        killing.wait_until(ended)
    except AssertionError:
        raise AssertionError(worker.output()) from None
    return client.read_flow_run(run.id)


def wait_for_stage(folder: Path) -> None:
    killing.wait_until(lambda: killing.works(folder, "stage.py"), seconds=300)


@pytest.mark.slow
def test_prefect_yaml(deployed: Deployed) -> None:
    found = deployed.deployments
    assert set(found) == {"on-demand", "weekly-cpu", "nightly-rebuild"}
    schedules = {name: [one.schedule.cron for one in item.schedules] for name, item in found.items()}
    assert schedules == {"on-demand": [], "weekly-cpu": ["0 3 * * 0"], "nightly-rebuild": ["0 2 * * *"]}
    assert all(item.global_concurrency_limit is None for item in found.values())  # it would outlive a killed run
    workers = found["on-demand"].parameter_openapi_schema["properties"]["workers"]
    assert workers["anyOf"][0] == {"type": "integer", "minimum": 1}
    assert found["weekly-cpu"].parameters == {"preset": "cpu"}


@pytest.mark.slow
def test_cancelled_then_killed_worker(project: Path, deployed: Deployed, client: SyncPrefectClient) -> None:
    """A cancelled run ends its stage. A killed worker ends its run, and the next worker runs the deployment at once."""
    worker = deployed.worker()
    cancelled = create_run(client, "tokenlab/on-demand")
    wait_for_stage(project)
    client.set_flow_run_state(cancelled.id, Cancelling())
    assert finished_run(client, worker, cancelled).state_name == "Cancelled"
    killing.wait_until(lambda: not killing.works(project, "stage.py"))

    killed = create_run(client, "tokenlab/on-demand")
    wait_for_stage(project)
    worker.process.kill()
    killing.assert_ended(worker)  # engine, dvc and stage too
    assert client.read_flow_run(killed.id).state_name == "Running"
    worker = deployed.worker()
    run = finished_run(client, worker, create_run(client, "tokenlab/on-demand"))
    assert run.state_name == "Completed", worker.output()
    assert "AwaitingConcurrencySlot" not in [state.name for state in client.read_flow_run_states(run.id)]
    assert client.read_flow_run(killed.id).state_name == "Crashed"


@pytest.mark.slow
@pytest.mark.parametrize("broken", [pytest.param(False, marks=pytest.mark.nightly), True], ids=["same", "broken"])
def test_rebuild(project: Path, deployed: Deployed, client: SyncPrefectClient, broken: bool) -> None:
    """Results that can be reproduced, or one stage that gives other bytes; stages after a training are left out."""
    toy_pipeline.repro(project)
    if broken:
        (project / "fail").touch()  # the tests
        (project / "stage.py").write_text((project / "stage.py").read_text().replace("name * 1000", "name * 999"))
        toy_pipeline.change(project, "  fan:\n", "  fan:\n    meta: {tags: [training]}\n")
    toy_pipeline.commit(project)
    shutil.rmtree(project / ".dvc/cache")
    worker = deployed.worker()
    run = finished_run(client, worker, create_run(client, "tokenlab/nightly-rebuild"))
    assert run.state_name == ("Failed" if broken else "Completed"), worker.output()
    rebuilt, _, tests = run.state.message.partition("\nmake test-nightly: exit status 2")
    if broken:
        changed = [line.split(":")[0].strip() for line in rebuilt.splitlines()[1:]]
        assert tests and set(changed) == {"first"}, worker.output()
    else:
        assert rebuilt.startswith("5 stages reproduce")
    assert not (project / ".work/rebuild/clone").exists()
