"""One run at a time in a workspace, and repairs after a run that was killed.

A process may be killed at any moment, DVC in the middle of a write. `pipeline` holds the workspace for one run; before
that it waits until no other DVC works here (a plain `dvc repro` does not take the lock of runs), and removes what a
kill leaves:

- DVC's lock of paths `.dvc/tmp/rwlock`: cut off, it makes every command fail; a process of today may have the pid of an
  ended one that it names. Nobody else is at work by then, so it goes.
- A temporary entry of the run cache, which DVC takes for the newest result of its stage, so that the stage fails each
  time for lack of an output; or an empty folder for an entry, at which DVC stops.
- Other temporary files, of a killed stage or of DVC's copies, and folders of experiments: after a run that did not
  succeed; those of the run's own records: always. `flows.tracking.store` removes those of MLflow.

`repair_lock_files` replaces a `dvc.lock` that was cut off (DVC writes it in place) by the committed one; DVC finds
newer results in its run cache. `remove_leftovers` removes outputs of stages that the pipeline no longer has.

The locks `.dvc/tmp/lock` and `rwlock.lock` are released with their process; objects of DVC's cache are renamed into
place; its databases are SQLite. These need no repair.
"""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import psutil
import yaml

from flows.run.processes import end_processes, is_of_run
from tokenlab.core.errors import InputError
from tokenlab.core.files import write_text

OUTPUTS = ("data", "models", "reports")
"""The folders that stages write to, each with a folder for every preset."""

RAW = Path("data/raw/dvc.yaml")
"""The pipeline of the raw data, which every preset depends on."""

_LOCK = Path(".dvc", "tmp", "tokenlab-pipeline.lock")
_EXPERIMENTS = Path(".dvc", "tmp", "exps", "standalone")
"""Where DVC runs experiments outside the workspace, each in a folder of its own."""

_SECONDS_BETWEEN_POLLS = 0.5
_SECONDS_BETWEEN_TRIES = 0.1
_SECONDS_TO_START_AN_EXPERIMENT = 600.0

_UNFINISHED = (".*.tmp", ".tmp??????")
_TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}\.tmp|\.tmp[A-Za-z0-9]{6}")
"""Names that `tokenlab.core.files`, and within its files safetensors, give to a file until it is complete."""

_OTHER = "another dvc{} is working here; waiting until it ends"

_CLOCK_SLACK = 2.0
"""Seconds by which the start of a process, counted in ticks since boot, and the time of a file may disagree."""


Waiting = Callable[[str], contextlib.AbstractContextManager[None]]
"""Tells a line, and that the wait that the line announces is over."""


@contextlib.contextmanager
def _logged(line: str) -> Iterator[None]:
    _log(line)
    yield


@contextlib.contextmanager
def pipeline(root: Path, waiting: Waiting = _logged) -> Iterator[None]:
    """Hold the workspace `root` for one run, which succeeds unless the block ends with an exception.

    Before the block: wait for another run, end the processes that a killed run left, repair the workspace. After it:
    end the processes that the block left. waiting: is told for whom this run waits. Raises InputError where `root` is
    not a workspace.
    """
    if not (root / ".dvc").is_dir() or not (root / "dvc.yaml").is_file():
        raise InputError(f"{root}: no dvc.yaml and .dvc here; run from the root of the project")
    (root / _LOCK).parent.mkdir(exist_ok=True)

    def held(lock: int) -> contextlib.AbstractContextManager[None]:
        holder = os.pread(lock, 32, 0).decode(errors="replace") or "unknown"
        return waiting(f"another run (pid {holder}) is working here; waiting until it ends")

    with locked(root / _LOCK, held) as lock:
        unfinished = os.fstat(lock).st_size > 0  # it contains the pid of a run until that succeeds
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        try:
            if end_processes(root):
                _log("ended processes that an earlier run had left")
            _repair(root, unfinished, waiting)
            yield
            os.ftruncate(lock, 0)
        finally:
            end_processes(root)


def is_held(root: Path) -> bool:
    """Whether a run holds the workspace now."""
    with contextlib.suppress(FileNotFoundError), (root / _LOCK).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two that ask do not take each other for a run
        except BlockingIOError:
            return True
    return False


def _log(line: str) -> None:
    print(f"workspace: {line}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def locked(
    path: Path,
    waiting: Callable[[int], contextlib.AbstractContextManager[None]] = lambda lock: contextlib.nullcontext(),
) -> Iterator[int]:
    """Hold the flock of the file `path`, as DVC does with its lock files; child processes do not inherit it.

    waiting: gets the open file where another process holds it; the wait is inside of its context.
    """
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not try_lock(lock):
            with waiting(lock):
                while not try_lock(lock):  # in short waits, as in `flows.run.processes`: SIGINT must end them
                    time.sleep(_SECONDS_BETWEEN_TRIES)
        yield lock
    finally:
        os.close(lock)


def try_lock(lock: int) -> bool:
    """Take the flock of an open file unless another process holds it; return whether it was taken."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _repair(root: Path, unfinished: bool, waiting: Waiting) -> None:
    """Wait until no other DVC works here; then, under the lock that it asks for first, remove what is unfinished."""
    with contextlib.ExitStack() as wait:
        told = False
        while True:
            with locked(root / ".dvc/tmp/lock", lambda lock: waiting(_OTHER.format(""))):
                if not (others := other_dvc(root)):
                    (root / ".dvc/tmp/rwlock").unlink(missing_ok=True)
                    _remove_unfinished(root, everywhere=unfinished)
                    return
            if not told:
                wait.enter_context(waiting(_OTHER.format(f" (pid {', '.join(map(str, others))})")))
            told = True
            time.sleep(_SECONDS_BETWEEN_POLLS)


def other_dvc(root: Path) -> list[int]:
    """The pids of the processes that hold paths in DVC's lock of paths and belong to no run."""
    path = root / ".dvc/tmp/rwlock"
    with locked(path.with_name("rwlock.lock")):
        if not path.exists():
            return []
        content, written = path.read_text(encoding="utf-8", errors="replace"), path.stat().st_mtime
    found = []
    for pid in {int(number) for number in re.findall(r'"pid": (\d+)', content)}:
        try:
            process = psutil.Process(pid)
            is_dvc = any("dvc" in word for word in process.cmdline())
            if is_dvc and process.create_time() < written + _CLOCK_SLACK and not is_of_run(process, root):
                found.append(pid)
        except psutil.AccessDenied:
            found.append(pid)
        except psutil.NoSuchProcess:
            pass
    return sorted(found)


def _remove_unfinished(root: Path, everywhere: bool) -> None:
    """Remove temporary files of the run cache and of records; `everywhere`: of all folders that a run writes to."""
    cache = root / ".dvc" / "cache"
    unfinished = [*cache.glob("runs/*/*/*.tmp"), *_unfinished_records(root)]
    if everywhere:
        unfinished += [*cache.glob("files/md5/*.tmp"), *cache.glob("files/md5/*/*.tmp"), *_abandoned_experiments(root)]
        unfinished += [path for folder in OUTPUTS for of in _UNFINISHED for path in (root / folder).rglob(of)]
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

    Records are written without the lock, for instance by a run that waits, so a young one may be at work. A rebuild may
    be at work beside a run; `flows.run.reproduced` removes what a killed one left.
    """
    started = psutil.Process().create_time() - _CLOCK_SLACK
    work = [path for path in (root / ".work").glob("*/") if path.name != "rebuild"]
    places = [root.glob(".*.tmp"), root.glob("presets/*/.*.tmp"), (root / ".work").glob(".*.tmp")]
    places += [folder.rglob(of) for folder in (*work, root / ".dvc/tmp/tokenlab-parameters") for of in _UNFINISHED]
    for path in (path for place in places for path in place):
        with contextlib.suppress(FileNotFoundError):
            if _TEMPORARY.fullmatch(path.name) and path.stat().st_mtime < started:
                yield path


def _abandoned_experiments(root: Path) -> list[Path]:
    """The folders of experiments in which no process works: of a killed `dvc exp run` with `--temp` or `--run-all`.

    DVC needs a moment before it works in a new one.
    """
    young = time.time() - _SECONDS_TO_START_AN_EXPERIMENT
    folders = [path for path in (root / _EXPERIMENTS).glob("tmp*") if path.stat().st_mtime < young]
    at_work = set()
    for process in psutil.process_iter() if folders else ():
        with contextlib.suppress(psutil.Error, OSError):
            folder = Path(process.cwd())
            at_work |= {folder, *folder.parents}
    return [path for path in folders if path not in at_work]


def repair_lock_files(root: Path) -> bool:
    """Replace each damaged dvc.lock of the workspace by the committed one, or remove it; return whether there was any.
    Raises InputError for conflicts of a merge, which are the user's to resolve.
    A file that was cut off between two stages passes; DVC then restores or reruns the missing ones."""
    paths = (root / "dvc.lock", root / RAW.with_suffix(".lock"), *root.glob("presets/*/dvc.lock"))
    damaged = [path for path in paths if path.exists() and not _is_lock_file(path)]
    for path in damaged:
        name = path.relative_to(root)
        if b"<<<<<<< " in path.read_bytes():
            raise InputError(f"{name}: has conflicts of a merge; take one side, as `git checkout --ours {name}` does")
        committed = subprocess.run(["git", "show", f"HEAD:./{name}"], cwd=root, capture_output=True, text=True)
        if committed.returncode == 0:
            write_text(path, committed.stdout)
        else:
            path.unlink()
        _log(f"{name} was damaged; DVC restores what it can from its cache")
    return bool(damaged)


def _is_lock_file(path: Path) -> bool:
    from dvc.schema import COMPILED_LOCKFILE_SCHEMA
    from voluptuous import Invalid

    try:
        COMPILED_LOCKFILE_SCHEMA(yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader) or {})
    except (yaml.YAMLError, UnicodeDecodeError, Invalid):
        return False
    return True


def remove_leftovers(root: Path, preset: str, lock_file: Path, kept: Collection[Path]) -> None:
    """Remove what stages of a preset once wrote and no stage writes any more, and print a line for each path.

    Stages that depend on a folder would go on reading it. Only outputs that dvc.lock records are removed: DVC keeps
    stages there that have left dvc.yaml, and restores their outputs when they come back. Files in git stay, and so does
    everything outside the preset's folders. kept: outputs and dependencies of all stages, relative to the root.
    """
    if not lock_file.exists():
        return
    stages = (yaml.load(lock_file.read_bytes(), Loader=yaml.CSafeLoader) or {}).get("stages", {})
    former = {Path(os.path.normpath(out["path"])) for stage in stages.values() for out in stage.get("outs", [])}
    places = [Path(folder, preset) for folder in OUTPUTS]
    gone = sorted(path for path in former - {*kept} if any(place in path.parents for place in places))
    if not any(os.path.lexists(root / path) for path in gone):
        return
    command = ["git", "ls-files", "-z", "--", *map(str, places)]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if listed.returncode != 0:
        return
    staying = {*kept, *map(Path, filter(None, listed.stdout.split("\0")))}
    for path in [left for one in gone for left in _leftovers(root, one, staying)]:
        if (root / path).is_dir() and not (root / path).is_symlink():
            shutil.rmtree(root / path)
        else:
            (root / path).unlink()
        _log(f"removed {path}, no stage makes it any more")


def _leftovers(root: Path, path: Path, kept: set[Path]) -> Iterator[Path]:
    """The path itself, unless it is kept; of a folder that contains kept paths everything else."""
    if not os.path.lexists(root / path) or path in kept or not kept.isdisjoint(path.parents):
        return
    if not any(path in other.parents for other in kept):
        yield path
    elif not (root / path).is_symlink():
        for child in sorted((root / path).iterdir()):
            yield from _leftovers(root, path / child.name, kept)
