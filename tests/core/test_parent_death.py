"""Processes that follow their parent end with it; others outlive it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from killing import ROOT, wait_until

FOLLOWER = """
import time
from tokenlab.core.parent_death import die_with_parent
die_with_parent()
print("follows", flush=True)
time.sleep(600)
"""

LEADER = f"""
import os, subprocess, sys, time
environment = os.environ | ({{"TOKENLAB_PARENT": str(os.getpid())}} if sys.argv[1] == "named" else {{}})
child = subprocess.Popen([sys.executable, "-c", {FOLLOWER!r}], env=environment, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(600)
"""

POOL = """
import os, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from tokenlab.core.parent_death import die_with_parent

if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=get_context(sys.argv[1]), initializer=die_with_parent) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600).result()
"""


def _start(*command: str, **environment: str) -> subprocess.Popen[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TOKENLAB_")}
    return subprocess.Popen(
        [sys.executable, *command],
        env={**inherited, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def _child_after_kill(leader: subprocess.Popen[str]) -> psutil.Process:
    assert leader.stdout is not None
    child = psutil.Process(int(leader.stdout.readline()))
    leader.kill()
    leader.wait()
    return child


def _has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_child_ends_with_its_parent() -> None:
    child = _child_after_kill(_start("-c", LEADER, "named"))
    wait_until(lambda: _has_ended(child))


def test_command_started_by_hand_outlives_its_shell() -> None:
    child = _child_after_kill(_start("-c", LEADER, "unnamed"))
    try:
        time.sleep(0.5)
        assert not _has_ended(child)
    finally:
        child.kill()


def test_child_whose_parent_has_gone_already_ends_at_once() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    late = _start("-c", FOLLOWER, TOKENLAB_PARENT=str(gone.pid))
    assert late.communicate(timeout=300)[0] == ""
    assert late.returncode == -9


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pool_workers_end_with_their_pool(tmp_path: Path, method: str) -> None:
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    worker = _child_after_kill(_start(str(script), method))
    wait_until(lambda: _has_ended(worker))
