"""Deployments of prefect.yaml on a real server, a worker that runs them, and flow runs of these deployments."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import killing
import psutil
import yaml
from killing import PROJECT, Run
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import FlowRun
from prefect_server import Server

PREFECT = [sys.executable, "-m", "prefect", "--no-prompt"]


def deploy(server: Server, folder: Path, every: float | None = None) -> None:
    """Deploy all of prefect.yaml from `folder`; with `every`, only `on-demand` has a schedule, in seconds."""
    content = yaml.safe_load((PROJECT / "prefect.yaml").read_text())
    if every is not None:
        for deployment in content["deployments"]:
            deployment.pop("schedules", None)
            if deployment["name"] == "on-demand":
                deployment["schedules"] = [{"interval": every}]
    (folder / "deploy.yaml").write_text(yaml.safe_dump(content))
    server.start([*PREFECT, "work-pool", "create", "local", "--type", "process"], folder).finish()
    deployed = server.start([*PREFECT, "deploy", "--all", "--prefect-file", "deploy.yaml"], folder)
    assert deployed.finish() == 0, deployed.output()


def start_worker(server: Server, folder: Path) -> Run:
    """Start a worker of the pool `local`."""
    command = [*PREFECT, "worker", "start", "--pool", "local", "--limit", "2"]
    return server.start(command, folder, PREFECT_WORKER_PREFETCH_SECONDS="1")


def stop_worker(started: Run) -> None:
    """Ask a worker to end, and wait for it; kill it if it hangs."""
    if started.process.poll() is None:
        started.process.send_signal(signal.SIGINT)
    try:
        started.finish(seconds=60)
    except psutil.TimeoutExpired:
        started.process.kill()
        started.finish()


@contextmanager
def worker(server: Server, folder: Path) -> Iterator[Run]:
    """A worker that runs within the block."""
    started = start_worker(server, folder)
    try:
        yield started
    finally:
        stop_worker(started)


def create_run(client: SyncPrefectClient, name: str, **parameters: Any) -> FlowRun:
    """Create a flow run of a deployment such as `tokenlab/on-demand`; a worker takes it."""
    deployment = client.read_deployment_by_name(name)
    return client.create_flow_run_from_deployment(deployment.id, parameters=parameters)


def wait_for_run(client: SyncPrefectClient, started: Run, wanted: Callable[[FlowRun], bool]) -> FlowRun:
    """The first flow run that satisfies `wanted`, with `started` the worker."""
    found: list[FlowRun] = []

    def look() -> bool:
        assert started.process.poll() is None, started.output()
        found.extend(run for run in client.read_flow_runs(limit=200) if wanted(run))
        return bool(found)

    try:
        killing.wait_until(look, seconds=600)
    except AssertionError:
        raise AssertionError(started.output()) from None
    return found[0]


def finished_run(client: SyncPrefectClient, started: Run, run: FlowRun) -> FlowRun:
    """The flow run once it has ended."""
    return wait_for_run(
        client, started, lambda other: other.id == run.id and bool(other.state and other.state.is_final())
    )


def remove_schedules(client: SyncPrefectClient) -> None:
    """Remove all schedules and their future flow runs, so that a worker runs only what a test creates."""
    for deployment in client.read_deployments():
        for schedule in client.read_deployment_schedules(deployment.id):
            client.delete_deployment_schedule(deployment.id, schedule.id)
    for run in client.read_flow_runs(limit=200):
        if run.state is None or run.state.is_scheduled():
            client.delete_flow_run(run.id)
