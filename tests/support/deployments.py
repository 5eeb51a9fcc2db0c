"""Deployments of prefect.yaml on a real server, a worker that runs them, and flow runs of these deployments."""

import signal
import sys
from pathlib import Path
from typing import Any

import killing
import psutil
from killing import Run
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import FlowRun
from prefect_server import Server

PREFECT = [sys.executable, "-m", "prefect", "--no-prompt"]


def deploy(server: Server, folder: Path) -> None:
    """Deploy all of prefect.yaml from `folder`."""
    server.start([*PREFECT, "work-pool", "create", "local", "--type", "process"], folder).finish()
    deployed = server.start([*PREFECT, "deploy", "--all"], folder)
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


def create_run(client: SyncPrefectClient, name: str, **parameters: Any) -> FlowRun:
    """Create a flow run of a deployment such as `tokenlab/on-demand`; a worker takes it."""
    deployment = client.read_deployment_by_name(name)
    return client.create_flow_run_from_deployment(deployment.id, parameters=parameters)


def finished_run(client: SyncPrefectClient, started: Run, run: FlowRun) -> FlowRun:
    """The flow run once it has ended, with `started` the worker."""

    def ended() -> bool:
        assert started.process.poll() is None, started.output()
        state = client.read_flow_run(run.id).state
        return bool(state and state.is_final())

    try:
        killing.wait_until(ended)
    except AssertionError:
        raise AssertionError(started.output()) from None
    return client.read_flow_run(run.id)


def remove_schedules(client: SyncPrefectClient) -> None:
    """Remove all schedules and their future flow runs, so that a worker runs only what a test creates."""
    for deployment in client.read_deployments():
        for schedule in client.read_deployment_schedules(deployment.id):
            client.delete_deployment_schedule(deployment.id, schedule.id)
    for run in client.read_flow_runs(limit=200):
        if run.state is None or run.state.is_scheduled():
            client.delete_flow_run(run.id)
