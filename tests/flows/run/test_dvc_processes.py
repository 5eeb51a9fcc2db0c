"""A stage is tried again where DVC gave up because of another DVC, and in no other case."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.run.dvc_processes import DvcProcesses

_FAILING = """
import json
from pathlib import Path

with open("tries", "a") as tries:
    tries.write("x")
print("'b' is busy, it is being blocked by:", flush=True)
path = Path(".dvc/tmp/rwlock")
lock = json.loads(path.read_text())
lock["write"]["elsewhere"] = {"pid": PID, "cmd": "dvc repro"}
path.write_text(json.dumps(lock))
raise SystemExit(3)
"""


@pytest.fixture
def another_dvc() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "input()", "dvc"], stdin=subprocess.PIPE)
    yield process
    process.communicate(b"\n")


def test_failed_stage_is_not_tried_again(fresh: Path, another_dvc: subprocess.Popen[bytes]) -> None:
    """Another DVC is at work by then, with other stages, and the stage prints what DVC would print."""
    (fresh / ".dvc/tmp").mkdir(exist_ok=True)
    (fresh / "stage.py").write_text(_FAILING.replace("PID", str(another_dvc.pid)))
    lines: list[str] = []

    def log(line: str) -> None:
        lines.append(line)
        assert "is working here" not in line

    ended = DvcProcesses(fresh).run_stage("first", log)
    assert (ended.status, ended.stage_status, ended.busy, ended.describe()) == (255, 3, False, "exit status 3")
    assert (fresh / "tries").read_text() == "x"
    assert str(another_dvc.pid) in (fresh / ".dvc/tmp/rwlock").read_text()


def test_stage_that_another_dvc_holds_is_busy(fresh: Path, another_dvc: subprocess.Popen[bytes]) -> None:
    (fresh / ".dvc/tmp").mkdir(exist_ok=True)
    held = {str(fresh / "data/sample/first"): {"pid": another_dvc.pid, "cmd": "dvc repro"}}
    (fresh / ".dvc/tmp/rwlock").write_text(json.dumps({"write": held, "read": {}}))
    ended = DvcProcesses(fresh).dvc(["repro", "--single-item", "first"], lambda line: None)
    assert (ended.status, ended.busy) == (255, True), ended.lines
    assert not (fresh / "data/sample/first").exists()
