"""A workspace that is damaged, or that another run holds."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import killing
import pytest
from killing import RUNNER

from flows.run.workspace import other_dvc, pipeline

Check = Callable[[Path], None]


@pytest.mark.parametrize("damage", [b"", b"schema: '2.0'\nstages:\n  first:\n    cmd: exec", b"\x00" * 100, b"[]\n"])
def test_damaged_lock_file_is_restored(copy_of_finished: Path, assert_complete: Check, damage: bytes) -> None:
    (copy_of_finished / "dvc.lock").write_bytes(damage)
    with pipeline(copy_of_finished):
        assert_complete(copy_of_finished)


@pytest.mark.slow
def test_damaged_lock_file_without_a_copy_is_rebuilt_from_the_cache(
    copy_of_finished: Path, assert_complete: Check
) -> None:
    (copy_of_finished / ".dvc/tmp/tokenlab-locks/dvc.lock").unlink()
    (copy_of_finished / "dvc.lock").write_bytes((copy_of_finished / "dvc.lock").read_bytes()[:700])
    status, output = killing.run(RUNNER, copy_of_finished)
    assert status == 0, output
    assert "dvc.lock was damaged; removed" in output
    assert output.count("restored from the cache") == 5
    assert_complete(copy_of_finished)


def test_lock_file_of_another_preset_is_repaired_too(copy_of_finished: Path) -> None:
    preset = copy_of_finished / "presets" / "big"
    preset.mkdir(parents=True)
    (preset / "dvc.yaml").write_text("stages: {}\n")
    (preset / "dvc.lock").write_text("schema: '2.0")
    with pipeline(copy_of_finished):
        assert not (preset / "dvc.lock").exists()


@pytest.mark.slow
def test_lock_file_cut_at_any_line(copy_of_finished: Path, assert_complete: Check) -> None:
    """Each truncation is either repaired, or DVC can read the file and reruns the missing stages."""
    lock, copy = copy_of_finished / "dvc.lock", copy_of_finished / ".dvc/tmp/tokenlab-locks/dvc.lock"
    lines = lock.read_bytes().splitlines(keepends=True)
    copy.unlink()
    readable = []
    for number in range(len(lines)):
        lock.write_bytes(b"".join(lines[:number]))
        with pipeline(copy_of_finished):
            readable += [lock.read_bytes()] if lock.exists() else []
    assert readable
    lock.write_bytes(readable[len(readable) // 2])
    status, output = killing.run(RUNNER, copy_of_finished)
    assert status == 0, output
    assert_complete(copy_of_finished)


@pytest.mark.parametrize(
    "damage", ["", '{"write": {"a": {"pi', "[1, 2]", '{"write": {"a": 1}}', '{"write": {"a": {}}}']
)
def test_damaged_rwlock_is_removed(copy_of_finished: Path, damage: str) -> None:
    rwlock = copy_of_finished / ".dvc/tmp/rwlock"
    rwlock.write_text(damage)
    with pipeline(copy_of_finished):
        assert not rwlock.exists()


@pytest.mark.slow
def test_run_after_repairs(copy_of_finished: Path, assert_complete: Check) -> None:
    """Without repairs DVC reports that an output is busy, then restores only one of two outputs from the run cache."""
    path = str(copy_of_finished / "data/sample/last")
    owner = {"pid": os.getpid(), "cmd": "dvc repro"}  # this process exists and is not DVC
    (copy_of_finished / ".dvc/tmp/rwlock").write_text(json.dumps({"write": {path: owner}, "read": {path: [owner]}}))
    entry = _run_cache_entry(copy_of_finished, "last")
    text = entry.read_text()
    (entry.parent / ".abc.tmp").write_text(text[: text.index("- path: data/sample/last.json")])
    for path in ("data/sample/last/text.txt", "data/sample/last.json", "dvc.lock"):
        (copy_of_finished / path).unlink()
    status, output = killing.run(RUNNER, copy_of_finished)
    assert status == 0, output
    assert_complete(copy_of_finished)


@pytest.mark.slow
def test_folder_of_the_run_cache_without_an_entry(copy_of_finished: Path, assert_complete: Check) -> None:
    """The kill came before the entry was complete; DVC stops with `join() argument must be str`."""
    entry = _run_cache_entry(copy_of_finished, "last")
    entry.rename(entry.parent / ".abc.tmp")
    (copy_of_finished / "dvc.lock").unlink()
    status, output = killing.run(RUNNER, copy_of_finished)
    assert status == 0, output
    assert_complete(copy_of_finished)


def _run_cache_entry(folder: Path, stage: str) -> Path:
    entries = (folder / ".dvc/cache/runs").glob("*/*/*")
    return next(path for path in entries if f"stage.py {stage}" in path.read_text())


@pytest.fixture
def another_dvc() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "dvc"])
    yield process
    process.kill()
    process.wait()


def test_rwlock_keeps_what_a_living_dvc_holds(copy_of_finished: Path, another_dvc: subprocess.Popen[bytes]) -> None:
    rwlock = copy_of_finished / ".dvc/tmp/rwlock"
    living, dead, pytest_ = ({"pid": pid, "cmd": "dvc repro"} for pid in (another_dvc.pid, 2**30, os.getpid()))
    rwlock.write_text(json.dumps({"write": {"a": living, "b": dead}, "read": {"c": [dead, living], "d": [pytest_]}}))
    assert other_dvc(copy_of_finished) == [another_dvc.pid]
    assert json.loads(rwlock.read_text()) == {"write": {"a": living}, "read": {"c": [living]}}


@pytest.mark.slow
@pytest.mark.parametrize("earlier", ["dvc", "runner"])
def test_plain_dvc_beside_a_run(fresh: Path, assert_complete: Check, earlier: str) -> None:
    """A run waits for `dvc repro`. DVC itself gives up at a busy stage; it says what is at work there."""
    commands = {"dvc": [sys.executable, "-m", "dvc", "repro"], "runner": RUNNER}
    first = killing.start(commands.pop(earlier), fresh)
    killing.wait_until(lambda: any("stage.py" in process.cmdline() for process in killing.living(fresh)))
    ((later, command),) = commands.items()
    runs = {earlier: first, later: killing.start(command, fresh)}
    assert runs["runner"].finish() == 0, runs["runner"].output()
    refused = runs["dvc"].finish()
    if earlier == "dvc":
        assert refused == 0, runs["dvc"].output()
        assert f"another dvc (pid {first.process.pid}) is working here; waiting" in runs["runner"].output()
    else:
        assert refused == 0 or "a run is at work in this folder" in runs["dvc"].output()
    assert "manually remove" not in runs["runner"].output()
    assert_complete(fresh)


def test_rwlock_older_than_the_dvc_that_has_its_pid(
    copy_of_finished: Path, another_dvc: subprocess.Popen[bytes]
) -> None:
    rwlock = copy_of_finished / ".dvc/tmp/rwlock"
    rwlock.write_text(json.dumps({"write": {"a": {"pid": another_dvc.pid, "cmd": "dvc repro"}}, "read": {}}))
    os.utime(rwlock, (time.time() - 60, time.time() - 60))
    with pipeline(copy_of_finished):
        assert json.loads(rwlock.read_text()) == {"write": {}, "read": {}}


def test_unfinished_files_are_removed_after_a_run_that_did_not_succeed(
    copy_of_finished: Path, assert_complete: Check
) -> None:
    run_cache = next(path for path in (copy_of_finished / ".dvc/cache/runs").glob("*/*") if path.is_dir())
    unfinished = [
        copy_of_finished / "data/sample/.last.abc.tmp",
        copy_of_finished / "data/sample/last/.text.txt.abc.tmp",
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
    with pipeline(copy_of_finished):  # the run before succeeded: only files that can break this one are removed
        assert [path.exists() for path in unfinished] == [True, True, True, True, False]
        assert run_cache.exists()
    with pipeline(copy_of_finished):
        assert not any(path.exists() for path in [*unfinished, folder])
        assert_complete(copy_of_finished)


def test_unfinished_records_are_removed(copy_of_finished: Path) -> None:
    """After a kill at any time, also of a process that held no lock; a young file may belong to such a process."""
    places = ["", ".dvc/tmp", ".dvc/tmp/tokenlab-locks", "presets/big", ".work/flow/runs", ".work/train/0123"]
    for place in places:
        (copy_of_finished / place).mkdir(parents=True, exist_ok=True)
        for name in (".record.json.a1_b2c3d.tmp", ".young.a1_b2c3d.tmp", ".own.tmp"):
            (copy_of_finished / place / name).write_text("half")
        os.utime(copy_of_finished / place / ".record.json.a1_b2c3d.tmp", (1e9, 1e9))
        os.utime(copy_of_finished / place / ".own.tmp", (1e9, 1e9))
        os.utime(copy_of_finished / place / ".young.a1_b2c3d.tmp", (4e9, 4e9))
    with pipeline(copy_of_finished):
        for place in places:
            kept = {path.name for path in (copy_of_finished / place).glob(".*.tmp")}
            assert kept == {".young.a1_b2c3d.tmp", ".own.tmp"}, place


def test_a_rebuild_beside_a_run_keeps_its_files(copy_of_finished: Path) -> None:
    """It holds its clone, not this workspace. A file that it copies with its time is older than this process."""
    writing = copy_of_finished / ".work/rebuild/tmp12345678/clone/data/.table.parquet.a1_b2c3d.tmp"
    writing.parent.mkdir(parents=True)
    writing.write_text("half")
    os.utime(writing, (1e9, 1e9))
    with pipeline(copy_of_finished):
        assert writing.exists()


def test_abandoned_experiments_are_removed(copy_of_finished: Path) -> None:
    """Those in which nobody works, after a run that did not succeed; DVC may just be starting in a young one."""
    names = ["tmpkilled1", "tmpat_work", "tmpyoung12", "run"]
    for name in names:
        folder = copy_of_finished / ".dvc/tmp/exps/standalone" / name / "data"
        folder.mkdir(parents=True)
        os.utime(folder.parent, (4e9, 4e9) if "young" in name else (1e9, 1e9))
    exps = copy_of_finished / ".dvc/tmp/exps/standalone"
    worker = subprocess.Popen([sys.executable, "-c", "input()"], cwd=exps / "tmpat_work/data", stdin=subprocess.PIPE)
    with pipeline(copy_of_finished):
        pass
    with pipeline(copy_of_finished):
        assert {path.name for path in exps.iterdir()} == {"tmpat_work", "tmpyoung12", "run"}
    worker.communicate(b"\n")


def test_two_runs_at_once(copy_of_finished: Path, assert_complete: Check) -> None:
    (copy_of_finished / "data/sample/last/text.txt").unlink()
    first = killing.start(RUNNER, copy_of_finished)
    killing.wait_until(lambda: (copy_of_finished / ".dvc/tmp/tokenlab-pipeline.lock").stat().st_size > 0)
    second = killing.start(RUNNER, copy_of_finished)
    assert first.finish() == 0, first.output()
    assert second.finish() == 0, second.output()
    assert f"another run (pid {first.process.pid}) is working here" in second.output()
    assert "last | restored from the cache" in first.output()
    assert "are up to date" in second.output()
    assert_complete(copy_of_finished)


def test_good_copies_follow_successful_runs_only(copy_of_finished: Path) -> None:
    lock, copy = copy_of_finished / "dvc.lock", copy_of_finished / ".dvc/tmp/tokenlab-locks/dvc.lock"
    assert copy.read_bytes() == lock.read_bytes()
    emptied = b"schema: '2.0'\nstages: {}\n"
    lock.write_bytes(emptied)
    with pipeline(copy_of_finished):
        assert lock.read_bytes() == emptied  # complete: nothing to repair
    assert copy.read_bytes() != emptied
    with pipeline(copy_of_finished) as workspace:
        workspace.succeeded()
    assert copy.read_bytes() == emptied
