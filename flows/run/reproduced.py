"""Do results have the bytes that the last commit records?

CI ends with `python -m flows reproduced`, after `make repro` in a clean clone. The nightly deployment runs the stages
that neither train a model nor depend on a trained one again, and then `make test-nightly`.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from flows.run.plan import DEFAULT_PRESET, Selection, put_to_use, read_dag
from flows.run.processes import Log, Processes
from flows.run.workspace import OUTPUTS, RAW, locked, pipeline
from tasks.report.readme import KEPT_TABLES, tables_to_keep
from tokenlab.core.errors import InputError, TokenlabError

LOCKS = ("dvc.lock", str(RAW.with_suffix(".lock")))
"""The lock files of the preset `sample` and of the raw data."""

FOLDERS = tuple(Path(folder, DEFAULT_PRESET) for folder in OUTPUTS)
"""Where the stages of the preset `sample` write."""

MADE, KEPT = Path("reports", DEFAULT_PRESET, "tables"), KEPT_TABLES[DEFAULT_PRESET]
"""The tables of the last run, and those in git."""

_TRAINING = "training"
"""The tag of stages that train a model: too expensive to repeat each night."""

Hashes = dict[str, dict[str, str]]
"""Address of a stage -> path of an output -> its hash."""


def _recorded_hashes(lock: bytes, prefix: str = "") -> Hashes:
    """The hash of each output of each stage that a dvc.lock records; `prefix` goes before the names of the stages."""
    stages: dict[str, Any] = (yaml.safe_load(lock) or {}).get("stages", {})
    return {
        f"{prefix}{name}": {out["path"]: str(out.get("md5")) for out in stage.get("outs", [])}
        for name, stage in stages.items()
    }


def _differences(address: str, before: Hashes, after: Hashes) -> list[str]:
    """A line for each output of a stage that has another hash than before."""
    if address not in before:
        return [f"{address}: not in the committed dvc.lock"]
    old, new = before[address], after.get(address, {})
    return [
        f"{address}: {path} has {new.get(path, 'no hash')}, dvc.lock says {old.get(path, 'nothing')}"
        for path in sorted(old | new)
        if old.get(path) != new.get(path)
    ]


def _undeclared(root: Path, recorded: Hashes) -> list[str]:
    """A line for each file among the outputs that no stage declares: DVC would neither restore nor share it."""
    outputs = {root / path for hashes in recorded.values() for path in hashes}
    return [
        f"{path.relative_to(root)}: no stage has it as an output; name it in dvc.yaml"
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*"))
        if path.is_file() and path.name not in (".keep", ".gitignore") and outputs.isdisjoint([path, *path.parents])
    ]


def check(root: Path) -> list[str]:
    """A line for each difference between the workspace and its last commit: outputs of stages, committed tables.

    Raises InputError where there is no commit or no lock file to compare with.
    """
    found: list[str] = []
    for name in LOCKS:
        committed = _git(root, "show", f"HEAD:{name}")
        if not (root / name).exists():
            raise InputError(f"{name}: not there; run `make repro` first")
        before, after = _recorded_hashes(committed), _recorded_hashes((root / name).read_bytes())
        found += [line for address in sorted(before | after) for line in _differences(address, before, after)]
        if name == "dvc.lock":
            found += _undeclared(root, after)
    changed = _git(root, "status", "--porcelain", "--", str(KEPT)).decode().splitlines()
    found += [f"{line[3:]}: not as committed" for line in changed]
    if not (root / MADE).exists():
        raise InputError(f"{MADE}: not there; run `make repro` first")
    made, kept = tables_to_keep(root / MADE), tables_to_keep(root / KEPT)
    return found + [
        f"{MADE}/{name}: not as {KEPT}/{name}" for name in sorted(made | kept) if made.get(name) != kept.get(name)
    ]


def _git(root: Path, *arguments: str) -> bytes:
    ended = subprocess.run(["git", *arguments], cwd=root, capture_output=True)
    if ended.returncode != 0:
        raise InputError(f"git {' '.join(arguments)}: {ended.stderr.decode(errors='replace').strip()}; commit it first")
    return ended.stdout


def rebuild_and_compare(root: Path, selection: Selection, log: Log) -> str:
    """Run the stages of `selection` that train nothing in a temporary clone of the last commit, without DVC's cache;
    return a line with their number.

    Raises TokenlabError, with a line for each stage that fails or produces other bytes, and InputError where the last
    commit has no results.
    """
    with _clone(root) as clone:
        before = _hashes_of_all(clone)
        if not before:
            raise InputError(f"{root}: the last commit has no dvc.lock; commit it after a run")
        with read_dag(clone, selection.preset) as dag:
            selected = dag.select(selection)
            trained = dag.after(address for address in selected if _TRAINING in dag.tags(address))
            addresses = [address for address in selected if address not in trained]
        put_to_use(clone, selection.preset)
        with pipeline(clone), Processes(clone) as processes:
            ended = processes.dvc(["repro", "--single-item", *addresses], log)
        after = _hashes_of_all(clone)
    changed = [line for address in addresses for line in _differences(address, before, after)]
    if ended.status != 0 or changed:
        failed = [f"ended with {ended.describe()}", *ended.lines] if ended.status != 0 else []
        raise TokenlabError("\n  ".join(["not reproduced:", *failed, *changed]))
    return f"{len(addresses)} stages reproduce the bytes in dvc.lock"


def run_nightly_tests(root: Path, selection: Selection, log: Log) -> str:
    """Run `make test-nightly` beside whatever runs in the workspace `root`. Raises TokenlabError where it fails."""
    folder = _folder(root)
    with Processes(folder) as processes:  # a run in `root` ends the processes of `root` alone
        ended = processes.run(["make", "--no-print-directory", "-C", str(root), "test-nightly"], log)
    if ended.status != 0:
        raise TokenlabError("\n  ".join([f"make test-nightly: {ended.describe()}", *ended.lines]))
    return "the nightly tests pass"


def _folder(root: Path) -> Path:
    folder = root / ".work" / "rebuild"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def _clone(root: Path) -> Iterator[Path]:
    """A clone of the last commit, removed at the end; one that a killed process left is removed before."""
    folder = _folder(root)
    clone = folder / "clone"
    with locked(folder / "lock"):
        shutil.rmtree(clone, ignore_errors=True)
        if subprocess.run(["git", "clone", "--quiet", str(root), str(clone)]).returncode != 0:
            raise InputError(f"{root}: git cannot clone it; the check needs a commit")
        try:
            yield clone
        finally:
            shutil.rmtree(clone, ignore_errors=True)


def _hashes_of_all(clone: Path) -> Hashes:
    """The hashes in every dvc.lock."""
    found: Hashes = {}
    for path in clone.rglob("dvc.lock"):
        folder = path.parent.relative_to(clone).as_posix()
        found |= _recorded_hashes(path.read_bytes(), "" if folder == "." else f"{folder}/dvc.yaml:")
    return found
