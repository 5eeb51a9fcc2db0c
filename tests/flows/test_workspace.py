"""A workspace that is damaged, that another run holds, or that has outputs of stages that are gone."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import killing
import pytest
import toy_pipeline
from dvc.utils.serialize import dumps_yaml, parse_yaml
from killing import RUNNER
from workspace import ROOT

from flows.run.dvc_child import BUSY
from flows.run.plan import Selection, make_plan
from flows.run.processes import Processes
from flows.run.workspace import is_held, other_dvc, pipeline
from tokenlab.core.errors import InputError

Check = Callable[[Path], None]

pytestmark = pytest.mark.usefixtures("own_site_cache")


@pytest.mark.parametrize(
    ("lock", "damage"),
    [("dvc.lock", ""), ("dvc.lock", "schema: '2.0'\nstages:\n  first:\n    cmd"), ("dvc.lock", "\0" * 100),
     ("presets/big/dvc.lock", "[]\n")],
)  # fmt: skip
def test_damaged_lock_file_is_removed(copy_of_finished: Path, damage: str, lock: str) -> None:
    """DVC then restores the results from its run cache. It reads the files of all presets, whichever it runs."""
    toy_pipeline.write_files(copy_of_finished, {"presets/big/dvc.yaml": "stages: {}\n", lock: damage})
    (copy_of_finished / "seed.txt").write_text("other\n")
    assert len(make_plan(copy_of_finished, Selection()).steps) == 5
    assert not (copy_of_finished / lock).exists() or not damage


def test_committed_locks_have_nothing_that_the_quick_parser_of_runs_would_lose() -> None:
    locks = [*ROOT.glob("dvc.lock"), *ROOT.glob("*/*/dvc.lock")]
    assert len(locks) > 3
    for lock in locks:
        text = lock.read_text()
        assert dumps_yaml(parse_yaml(text, lock)) == text


def test_damaged_lock_file_becomes_the_committed_one(copy_of_finished: Path) -> None:
    lock = copy_of_finished / "dvc.lock"
    toy_pipeline.commit(copy_of_finished)
    content = lock.read_bytes()
    lock.write_bytes(content[:200] + b"\0")
    assert make_plan(copy_of_finished, Selection()).steps == ()
    assert lock.read_bytes() == content


def test_conflicts_of_a_merge_are_the_users(copy_of_finished: Path) -> None:
    lock = copy_of_finished / "dvc.lock"
    toy_pipeline.commit(copy_of_finished)
    lock.write_text("<<<<<<< HEAD\n" + lock.read_text() + "=======\n>>>>>>> theirs\n")
    content = lock.read_bytes()
    with pytest.raises(InputError, match="conflicts of a merge"):
        make_plan(copy_of_finished, Selection())
    assert lock.read_bytes() == content


@pytest.mark.nightly
@pytest.mark.usefixtures("reporting")
def test_lock_file_cut_at_any_line(copy_of_finished: Path, assert_complete: Check) -> None:
    """Each truncation is either repaired, or DVC can read the file; it restores the missing stages."""
    lock = copy_of_finished / "dvc.lock"
    lines = lock.read_bytes().splitlines(keepends=True)
    readable = []
    for number in range(len(lines)):
        lock.write_bytes(b"".join(lines[:number]))
        make_plan(copy_of_finished, Selection())
        readable += [lock.read_bytes()] if lock.exists() else []
    assert readable
    lock.write_bytes(readable[len(readable) // 2])
    status, output = killing.run(RUNNER, copy_of_finished)
    assert status == 0, output
    assert "restored from the cache" in output
    assert_complete(copy_of_finished)


@pytest.mark.parametrize("damage", ["", '{"write": {"a": {"pi', "[1, 2]", '{"write": {"a": {"pid": 1, "cmd": "x"}}}'])
def test_lock_of_paths_that_nobody_holds_is_removed(copy_of_finished: Path, damage: str) -> None:
    rwlock = copy_of_finished / ".dvc/tmp/rwlock"
    rwlock.write_text(damage)
    with pipeline(copy_of_finished):
        assert not rwlock.exists() and is_held(copy_of_finished)
    assert not is_held(copy_of_finished)


@pytest.mark.nightly
@pytest.mark.usefixtures("reporting")
@pytest.mark.parametrize("cut", [True, False], ids=["entry cut off", "no entry"])
def test_run_after_repairs(copy_of_finished: Path, assert_complete: Check, cut: bool) -> None:
    """Without repairs DVC reports that an output is busy, then restores one of two outputs from the run cache; or it
    stops with `join() argument must be str`."""
    path = str(copy_of_finished / "data/sample/last")
    owner = {"pid": os.getpid(), "cmd": "dvc repro"}  # this process exists and is not DVC
    (copy_of_finished / ".dvc/tmp/rwlock").write_text(json.dumps({"write": {path: owner}, "read": {path: [owner]}}))
    entries = (copy_of_finished / ".dvc/cache/runs").glob("*/*/*")
    entry = next(path for path in entries if "stage.py last" in path.read_text())
    text = entry.read_text()
    (entry.parent / ".abc.tmp").write_text(text[: text.index("- path: data/sample/last.json")])
    if not cut:
        entry.unlink()
    for path in ("data/sample/last/text.txt", "data/sample/last.json", "dvc.lock"):
        (copy_of_finished / path).unlink()
    status, output = killing.run(RUNNER, copy_of_finished)
    assert status == 0, output
    assert_complete(copy_of_finished)


@pytest.fixture
def another_dvc() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "dvc"])
    yield process
    process.kill()
    process.wait()


def test_who_holds_paths(copy_of_finished: Path, another_dvc: subprocess.Popen[bytes]) -> None:
    """Neither an ended process, nor one that is no DVC, nor a DVC younger than the lock."""
    rwlock = copy_of_finished / ".dvc/tmp/rwlock"
    living, dead, pytest_ = ({"pid": pid, "cmd": "dvc repro"} for pid in (another_dvc.pid, 2**30, os.getpid()))
    rwlock.write_text(json.dumps({"write": {"b": dead}, "read": {"c": [dead, living], "d": [pytest_]}}))
    assert other_dvc(copy_of_finished) == [another_dvc.pid]
    os.utime(rwlock, (time.time() - 60, time.time() - 60))
    assert other_dvc(copy_of_finished) == []


def test_stage_that_another_dvc_holds_is_busy(fresh: Path, another_dvc: subprocess.Popen[bytes]) -> None:
    held = {str(fresh / "data/sample/first"): {"pid": another_dvc.pid, "cmd": "dvc repro"}}
    toy_pipeline.write_files(fresh, {".dvc/tmp/rwlock": json.dumps({"write": held, "read": {}})})
    ended = Processes(fresh).dvc(["repro", "--single-item", "first"], lambda line: None)
    assert ended.status == BUSY, ended.lines
    assert not any("remove" in line for line in ended.lines)
    assert not (fresh / "data/sample/first").exists()


def test_unfinished_files_are_removed_after_a_run_that_did_not_succeed(
    copy_of_finished: Path, assert_complete: Check
) -> None:
    run_cache = next(path for path in (copy_of_finished / ".dvc/cache/runs").glob("*/*") if path.is_dir())
    unfinished = [
        copy_of_finished / "data/sample/.last.abc.tmp",
        copy_of_finished / "data/sample/last/.text.txt.abc.tmp",
        copy_of_finished / "data/sample/last/.tmpV1zmQE",
        copy_of_finished / ".dvc/cache/files/md5/.abc.tmp",
        copy_of_finished / ".dvc/cache/files/md5/00/abc.def.tmp",
        run_cache / ".abc.tmp",
    ]
    for path in unfinished:
        path.parent.mkdir(exist_ok=True)
        path.write_text("half")
    folder = copy_of_finished / "data/sample/.first.abc.tmp"
    folder.mkdir()
    (folder / "part").touch()
    with pytest.raises(InterruptedError), pipeline(copy_of_finished):
        # The run before succeeded: only files that can break this one are removed.
        assert [path.exists() for path in unfinished] == [True, True, True, True, True, False]
        assert run_cache.exists()
        raise InterruptedError
    with pipeline(copy_of_finished):
        assert not any(path.exists() for path in [*unfinished, folder])
        assert_complete(copy_of_finished)


def test_unfinished_records_are_removed(copy_of_finished: Path) -> None:
    """After a kill at any time, also of a process that held no lock; a young file may belong to such a process.

    A rebuild beside the run holds its clone, not this workspace.
    """
    places = ["", ".dvc/tmp/tokenlab-parameters", "presets/big", ".work/flow/runs", ".work/train/0123"]
    for place in [*places, ".work/rebuild/clone/data"]:
        (copy_of_finished / place).mkdir(parents=True, exist_ok=True)
        for name in (".record.json.a1_b2c3d.tmp", ".young.a1_b2c3d.tmp", ".own.tmp"):
            (copy_of_finished / place / name).write_text("half")
        os.utime(copy_of_finished / place / ".record.json.a1_b2c3d.tmp", (1e9, 1e9))
        os.utime(copy_of_finished / place / ".own.tmp", (1e9, 1e9))
        os.utime(copy_of_finished / place / ".young.a1_b2c3d.tmp", (4e9, 4e9))
    of_safetensors = copy_of_finished / ".work/train/0123/.tmpV1zmQE"
    of_safetensors.touch()
    os.utime(of_safetensors, (1e9, 1e9))
    with pipeline(copy_of_finished):
        for place in places:
            kept = {path.name for path in (copy_of_finished / place).glob(".*.tmp")}
            assert kept == {".young.a1_b2c3d.tmp", ".own.tmp"}, place
        assert not of_safetensors.exists()
        assert len(list((copy_of_finished / ".work/rebuild/clone/data").iterdir())) == 3


def test_abandoned_experiments_are_removed(copy_of_finished: Path) -> None:
    """Those in which nobody works, after a run that did not succeed; DVC may just be starting in a young one."""
    exps = copy_of_finished / ".dvc/tmp/exps/standalone"
    for name in ("tmpkilled1", "tmpat_work", "tmpyoung12", "run"):
        (exps / name / "data").mkdir(parents=True)
        os.utime(exps / name, (4e9, 4e9) if "young" in name else (1e9, 1e9))
    worker = subprocess.Popen([sys.executable, "-c", "input()"], cwd=exps / "tmpat_work/data", stdin=subprocess.PIPE)
    with pytest.raises(InterruptedError), pipeline(copy_of_finished):
        raise InterruptedError
    with pipeline(copy_of_finished):
        assert {path.name for path in exps.iterdir()} == {"tmpat_work", "tmpyoung12", "run"}
    worker.communicate(b"\n")


def without_leaf_b(folder: Path) -> None:
    toy_pipeline.change(folder, "foreach: [a, b]", "foreach: [a]")
    toy_pipeline.change(folder, ", data/sample/leaf-b/text.txt]", "]")
    toy_pipeline.change(folder, " data/sample/leaf-b/text.txt\n", "\n")


@pytest.mark.slow
@pytest.mark.usefixtures("reporting")
def test_a_run_removes_outputs_of_stages_that_are_gone(copy_of_finished: Path, assert_complete: Check) -> None:
    before = toy_pipeline.outputs(copy_of_finished).keys()
    without_leaf_b(copy_of_finished)
    status, output = killing.run(RUNNER, copy_of_finished)
    assert status == 0, output
    gone = before - toy_pipeline.outputs(copy_of_finished).keys()
    assert gone == {"sample/leaf-b/text.txt", "sample/leaf-b/name.txt", "sample/leaf-b.json"}
    for path in ("data/sample/leaf-b", "data/sample/leaf-b.json"):
        assert f"workspace: removed {path}," in output

    toy_pipeline.write_files(copy_of_finished, toy_pipeline.PIPELINE)  # the stage comes back
    status, output = killing.run(RUNNER, copy_of_finished)
    assert status == 0, output
    assert "removed" not in output and "leaf@b | restored from the cache" in output
    assert_complete(copy_of_finished)


def test_other_files_stay(copy_of_finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Files that never were outputs, files in git, raw data, and folders outside the preset's own."""
    kept = ["data/sample/notes.txt", "data/sample/leaf-b/name.txt", "data/raw/text.txt", "elsewhere/text.txt"]
    toy_pipeline.write_files(copy_of_finished, dict.fromkeys(kept, "kept"))
    subprocess.run(["git", "add", "--force", "data/sample/leaf-b/name.txt"], cwd=copy_of_finished, check=True)
    lock = copy_of_finished / "dvc.lock"
    lock.write_text(
        lock.read_text()
        + "  gone:\n    cmd: exec true\n    outs:\n"
        + "".join(f"    - path: {path}\n" for path in ("data/raw/text.txt", "elsewhere", "data/sample", "../workspace"))
    )
    without_leaf_b(copy_of_finished)
    make_plan(copy_of_finished, Selection(), clean=True)
    assert all((copy_of_finished / path).read_text() == "kept" for path in kept)
    removed = {line.split()[2].rstrip(",") for line in capfd.readouterr().err.splitlines()}
    assert removed == {"data/sample/leaf-b/text.txt", "data/sample/leaf-b.json"}


def test_output_inside_a_former_output(copy_of_finished: Path) -> None:
    toy_pipeline.change(copy_of_finished, "outs: [data/sample/first]", "outs: [data/sample/first/text.txt]")
    make_plan(copy_of_finished, Selection(), clean=True)
    assert [path.name for path in (copy_of_finished / "data/sample/first").iterdir()] == ["text.txt"]
