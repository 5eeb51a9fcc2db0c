"""Flow runs that a worker starts: one run of a deployment at a time, and none without its worker."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import killing
import psutil
import pytest
from killing import ROOT

from flows import deployed
from flows.deployed import StillRunning, one_at_a_time


@pytest.fixture
def run_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let this process be a run of a deployment, for all its threads."""

    def become(deployment: UUID | None, scheduled: bool = False) -> None:
        run = SimpleNamespace(deployment_id=deployment, auto_scheduled=scheduled)
        monkeypatch.setattr(deployed, "FlowRunContext", SimpleNamespace(get=lambda: SimpleNamespace(flow_run=run)))
        monkeypatch.setattr(deployed, "get_run_logger", lambda: SimpleNamespace(info=lambda line: None))

    return become


def test_scheduled_run_beside_the_last_one_is_refused(tmp_path: Path, run_of: Callable[..., None]) -> None:
    run_of(UUID(int=1))
    with one_at_a_time(tmp_path):
        run_of(UUID(int=1), scheduled=True)
        with pytest.raises(StillRunning, match="still at work"), one_at_a_time(tmp_path):
            pass
        for other in (UUID(int=2), None):  # another deployment, or none
            run_of(other, scheduled=True)
            with one_at_a_time(tmp_path):
                pass
    run_of(UUID(int=1), scheduled=True)
    with one_at_a_time(tmp_path):
        pass


def test_requested_run_waits_for_the_last_one(
    tmp_path: Path, run_of: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state says so; it is Running again when it works."""
    run_of(UUID(int=1))
    entered = threading.Event()
    states: list[str | None] = []
    monkeypatch.setattr(deployed, "_set_state", lambda state: states.append(state.name))

    def second() -> None:
        with one_at_a_time(tmp_path):
            entered.set()

    thread = threading.Thread(target=second, daemon=True)
    with one_at_a_time(tmp_path):
        thread.start()
        assert not entered.wait(0.3)
        killing.wait_until(lambda: states == ["Waiting"])
    assert entered.wait(60)
    thread.join(60)
    assert states == ["Waiting", "Running"]


ENGINE = """
import sys
from flows.deployed import follow_worker
sys.stdin.readline()
follow_worker()
print("follows", flush=True)
sys.stdin.readline()
"""

WORKER = """
import os, subprocess, sys
pipe = {"stdin": sys.stdin, "stdout": subprocess.PIPE}
engine = subprocess.Popen([sys.executable, "-c", sys.argv[1]], env=os.environ | {"PREFECT__FLOW_RUN_ID": "1"}, **pipe)
print(engine.pid, flush=True)
for line in engine.stdout:
    print(line.decode(), end="", flush=True)
"""


@pytest.mark.slow
def test_engine_ends_with_a_worker_that_was_killed_before_it_follows() -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, ENGINE], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert worker.stdin and worker.stdout
    engine = psutil.Process(int(worker.stdout.readline()))
    worker.kill()
    worker.wait()
    os.kill(engine.pid, signal.SIGCONT)  # it is there still
    worker.stdin.write("go\n")
    worker.stdin.flush()
    _, alive = psutil.wait_procs([engine], timeout=120)  # a watchdog
    worker.stdin.close()
    worker.stdout.close()
    assert not alive
