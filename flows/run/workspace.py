"""One run at a time in a workspace, and repairs after a run that was killed.

A process may be killed at any moment, DVC in the middle of a write. Before a run, `pipeline` repairs what DVC 3.67
leaves then:

- A truncated `dvc.lock` (DVC writes it in place): replaced by the last good copy. Without a copy it is removed, and DVC
  finds its results again in its run cache.
- A truncated `.dvc/tmp/rwlock`, which makes every command fail: removed.
- Entries of the rwlock whose process is gone while another process has its pid: removed.
- A truncated temporary entry of the run cache, which DVC takes for the newest result of its stage, so that the stage
  fails each time for lack of an output; or an empty folder for an entry, at which DVC stops: removed.
- Other temporary files, of a killed stage or of DVC's copies: removed after a run that did not succeed; those of the
  run's own records, which are older than this process: always. `flows.tracking.store` removes those of MLflow.
- Folders of experiments that nobody works in: removed after a run that did not succeed.

A plain `dvc repro` does not take the lock of runs, so `pipeline` also waits until no other DVC works here.

The locks `.dvc/tmp/lock` and `rwlock.lock` are released with their process; objects of DVC's cache are renamed into
place; its databases are SQLite. These need no repair.
"""

import contextlib
import fcntl
import itertools
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml

from flows.run.processes import end_processes, is_of_run
from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_file, write_text

_OUTPUTS = ("data", "models", "reports")
"""The folders that stages write to."""

_EXPERIMENTS = Path(".dvc", "tmp", "exps", "standalone")
"""Where DVC runs experiments outside the workspace, each in a folder of its own."""

_SECONDS_BETWEEN_POLLS = 0.5
_SECONDS_BETWEEN_TRIES = 0.1
_SECONDS_TO_START_AN_EXPERIMENT = 600.0

_TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}\.tmp")
"""Names that `tokenlab.core.files` gives to a file until it is complete."""

_CLOCK_SLACK = 2.0
"""Seconds by which the start of a process, counted in ticks since boot, and the time of a file may disagree."""


@dataclass(frozen=True)
class Workspace:
    """A workspace that one run holds; `pipeline` makes it."""

    root: Path
    _lock: int

    def succeeded(self) -> None:
        """Record that the run succeeded, and keep copies of its dvc.lock files as good ones."""
        _keep_lock_files(self.root)
        os.ftruncate(self._lock, 0)


@contextlib.contextmanager
def pipeline(root: Path) -> Iterator[Workspace]:
    """Hold the workspace `root` for one run.

    Before the block: wait for another run, end the processes that a killed run left, repair the workspace. After it:
    end the processes that the block left. Raises InputError where `root` is not a workspace.
    """
    if not (root / ".dvc").is_dir() or not (root / "dvc.yaml").is_file():
        raise InputError(f"{root}: no dvc.yaml and .dvc here; run from the root of the project")
    temporary = root / ".dvc" / "tmp"
    temporary.mkdir(exist_ok=True)
    with _locked(temporary / "tokenlab-pipeline.lock", _log_holder) as lock:
        unfinished = os.fstat(lock).st_size > 0  # it contains the pid of a run until that succeeds
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        try:
            if end_processes(root):
                _log("ended processes that an earlier run had left")
            _wait_for_dvc(root)
            _repair_lock_files(root)
            _remove_unfinished(root, everywhere=unfinished)
            yield Workspace(root, lock)
        finally:
            end_processes(root)


def _log(line: str) -> None:
    print(f"workspace: {line}", file=sys.stderr, flush=True)


def _log_holder(lock: int) -> None:
    holder = os.pread(lock, 32, 0).decode(errors="replace") or "unknown"
    _log(f"another run (pid {holder}) is working here; waiting until it ends")


@contextlib.contextmanager
def _locked(path: Path, before_waiting: Callable[[int], None] = lambda lock: None) -> Iterator[int]:
    """Hold the flock of the file `path`, as DVC does with its lock files; child processes do not inherit it."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            before_waiting(lock)
            wait_for_lock(lock)
        yield lock
    finally:
        os.close(lock)


def wait_for_lock(lock: int) -> None:
    """Take the flock of an open file. In short waits, as in `flows.run.dvc_processes`: SIGINT must end them."""
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(_SECONDS_BETWEEN_TRIES)


def _lock_files(root: Path) -> list[Path]:
    """The dvc.lock of every pipeline in the workspace. DVC reads all of them, whichever pipeline it runs."""
    pipelines = [root / "dvc.yaml", root / "data" / "raw" / "dvc.yaml", *root.glob("presets/*/dvc.yaml")]
    return [path.with_suffix(".lock") for path in pipelines]


def _good_copy(root: Path, lock_file: Path) -> Path:
    return root / ".dvc" / "tmp" / "tokenlab-locks" / lock_file.relative_to(root)


def _keep_lock_files(root: Path) -> None:
    for path in _lock_files(root):
        if path.exists():
            content = path.read_bytes()
            copy = _good_copy(root, path)
            if not copy.exists() or copy.read_bytes() != content:
                with atomic_file(copy) as temporary:
                    temporary.write_bytes(content)


def _repair_lock_files(root: Path) -> None:
    for path in _lock_files(root):
        if not path.exists():
            continue
        content = path.read_bytes()
        copy = _good_copy(root, path)
        if (copy.exists() and copy.read_bytes() == content) or _is_complete(content):
            continue
        if copy.exists():
            with atomic_file(path) as temporary:
                shutil.copyfile(copy, temporary)
            _log(f"{path.relative_to(root)} was damaged; restored from the last good run")
        else:
            path.unlink()
            _log(f"{path.relative_to(root)} was damaged; removed, DVC restores what it can from its cache")


def _is_complete(content: bytes) -> bool:
    """Whether this is a complete dvc.lock. A file cut at the end of a line can pass: DVC reruns the missing stages."""
    if not content.endswith(b"\n"):
        return False
    try:
        lock = yaml.load(content, Loader=yaml.CBaseLoader)  # plain strings: the values do not matter here
    except (yaml.YAMLError, UnicodeDecodeError):
        return False
    return (
        isinstance(lock, dict)
        and lock.get("schema") == "2.0"
        and isinstance(stages := lock.get("stages", {}), dict)
        and all(map(_is_stage, stages.values()))
    )


def _is_stage(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("cmd"), str | list):
        return False
    paths = [entry.get("deps", []), entry.get("outs", [])]
    params = entry.get("params", {})
    return (
        all(isinstance(items, list) for items in paths)
        and all(isinstance(item, dict) and isinstance(item.get("path"), str) for items in paths for item in items)
        and isinstance(params, dict)
        and all(isinstance(values, dict) for values in params.values())
    )


def _wait_for_dvc(root: Path) -> None:
    """Return once no other DVC works here. Between two of its commands it holds the lock that it asks for first."""
    told = False
    while True:
        with _dvc_lock(root):
            others = other_dvc(root)
        if not others:
            return
        if not told:
            _log(f"{describe(others)} is working here; waiting until it ends")
            told = True
        time.sleep(_SECONDS_BETWEEN_POLLS)


def _dvc_lock(root: Path) -> contextlib.AbstractContextManager[int]:
    return _locked(
        root / ".dvc" / "tmp" / "lock", lambda lock: _log("another dvc is working here; waiting until it ends")
    )


def describe(others: list[int]) -> str:
    """Other processes of DVC, in words."""
    return f"another dvc (pid {', '.join(map(str, others))})"


def other_dvc(root: Path) -> list[int]:
    """The pids of processes that hold paths in DVC's lock of paths and belong to no run; ended ones are removed."""
    temporary = root / ".dvc" / "tmp"
    with _locked(temporary / "rwlock.lock"):
        path = temporary / "rwlock"
        if not path.exists():
            return []
        written = path.stat().st_mtime
        try:
            held = json.loads(path.read_bytes())
            write = {name: entry for name, entry in held.get("write", {}).items() if _holds(entry, written)}
            read = {
                name: alive
                for name, entries in held.get("read", {}).items()
                if (alive := [entry for entry in entries if _holds(entry, written)])
            }
        except (ValueError, TypeError, AttributeError, KeyError):  # not JSON, or not in DVC's format
            path.unlink()
            _log(".dvc/tmp/rwlock was damaged; removed")
            return []
        repaired = {"write": write, "read": read}
        if repaired != {"write": held.get("write", {}), "read": held.get("read", {})}:
            write_text(path, json.dumps(repaired))
        pids = {entry["pid"] for entries in (*read.values(), list(write.values())) for entry in entries}
        return sorted(pid for pid in pids if not is_of_run(pid, root))


def _holds(entry: dict[str, Any], written: float) -> bool:
    """Whether the pid of `entry` is a DVC that started before the lock was `written` (seconds since 1970)."""
    try:
        process = psutil.Process(entry["pid"])
        names_dvc = any("dvc" in word for word in process.cmdline())
        return names_dvc and process.create_time() < written + _CLOCK_SLACK
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False
    except psutil.AccessDenied:
        return True


def _remove_unfinished(root: Path, everywhere: bool) -> None:
    """Remove temporary files of the run cache and of records; `everywhere`: of all folders that a run writes to."""
    with _dvc_lock(root):
        cache = root / ".dvc" / "cache"
        unfinished = [*cache.glob("runs/*/*/*.tmp"), *_unfinished_records(root)]
        if everywhere:
            unfinished += [*cache.glob("files/md5/*.tmp"), *cache.glob("files/md5/*/*.tmp")]
            unfinished += [path for folder in _OUTPUTS for path in (root / folder).rglob(".*.tmp")]
            unfinished += _abandoned_experiments(root)
        for path in unfinished:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        for entry in cache.glob("runs/*/*"):
            with contextlib.suppress(OSError):  # It is not empty.
                entry.rmdir()


def _unfinished_records(root: Path) -> Iterator[Path]:
    """Temporary files beside lock files, records and checkpoints, older than this process.

    Records are written without the lock, for instance by a run that waits, so a young one may be at work.
    """
    started = psutil.Process().create_time() - _CLOCK_SLACK
    places = [
        root.glob(".*.tmp"),
        root.glob("presets/*/.*.tmp"),
        (root / ".dvc" / "tmp").glob(".*.tmp"),
        *((root / ".dvc" / "tmp" / name).rglob(".*.tmp") for name in ("tokenlab-locks", "tokenlab-outputs")),
        (root / ".work").glob(".*.tmp"),
        # Not in a rebuild, which may be at work beside a run; `flows.rebuild` removes what a killed one left.
        *(folder.rglob(".*.tmp") for folder in (root / ".work").glob("*/") if folder.name != "rebuild"),
    ]
    for path in itertools.chain.from_iterable(places):
        with contextlib.suppress(FileNotFoundError):
            if _TEMPORARY.fullmatch(path.name) and path.stat().st_mtime < started:
                yield path


def _abandoned_experiments(root: Path) -> list[Path]:
    """The folders of experiments in which no process works: of a killed sweep, or a killed `dvc exp run --temp`.

    DVC needs a moment before it works in a new one.
    """
    young = time.time() - _SECONDS_TO_START_AN_EXPERIMENT
    folders = [path for path in (root / _EXPERIMENTS).glob("tmp*") if path.stat().st_mtime < young]
    if not folders:
        return []
    at_work = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            folder = Path(process.cwd())
            at_work |= {folder, *folder.parents}
    return [path for path in folders if path not in at_work]
