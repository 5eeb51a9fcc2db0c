"""Do the results of this workspace have the bytes that the last commit records? `python -m flows reproduced`.

Run after `make repro` in a clean clone: the output names every stage whose results differ from the committed dvc.lock,
and every committed table that changed, and every file that no stage declares. CI ends with this check.
"""

import subprocess
from pathlib import Path
from typing import Any

import yaml

from tasks.report.readme import KEPT_TABLES, tables_to_keep
from tokenlab.core.errors import InputError

LOCKS = ("dvc.lock", "data/raw/dvc.lock")
"""The lock files of the preset `sample` and of the raw data."""

FOLDERS = ("data/sample", "models/sample", "reports/sample")
"""Where the stages of the preset `sample` write."""

MADE, KEPT = Path("reports/sample/tables"), KEPT_TABLES["sample"]
"""The tables of the last run, and those in git."""

Hashes = dict[str, dict[str, str]]
"""Address of a stage -> path of an output -> its hash."""


def recorded_hashes(lock: bytes, prefix: str = "") -> Hashes:
    """The hash of each output of each stage that a dvc.lock records; `prefix` goes before the names of the stages."""
    stages: dict[str, Any] = (yaml.safe_load(lock) or {}).get("stages", {})
    return {
        f"{prefix}{name}": {out["path"]: str(out.get("md5")) for out in stage.get("outs", [])}
        for name, stage in stages.items()
    }


def differences(address: str, before: Hashes, after: Hashes) -> list[str]:
    """A line for each output of a stage that has another hash than before."""
    if address not in before:
        return [f"{address}: not in the committed dvc.lock"]
    old, new = before[address], after.get(address, {})
    return [
        f"{address}: {path} has {new.get(path, 'no hash')}, dvc.lock says {old.get(path, 'nothing')}"
        for path in sorted(old | new)
        if old.get(path) != new.get(path)
    ]


def undeclared(root: Path, recorded: Hashes) -> list[str]:
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
        before, after = recorded_hashes(committed), recorded_hashes((root / name).read_bytes())
        found += [line for address in sorted(before | after) for line in differences(address, before, after)]
        if name == "dvc.lock":
            found += undeclared(root, after)
    changed = _git(root, "status", "--porcelain", "--", str(KEPT)).decode().splitlines()
    found += [f"{line[3:]}: not as committed" for line in changed]
    made, kept = tables_to_keep(root / MADE), tables_to_keep(root / KEPT)
    return found + [
        f"{MADE}/{name}: not as {KEPT}/{name}" for name in sorted(made | kept) if made.get(name) != kept.get(name)
    ]


def _git(root: Path, *arguments: str) -> bytes:
    ended = subprocess.run(["git", *arguments], cwd=root, capture_output=True)
    if ended.returncode != 0:
        raise InputError(f"git {' '.join(arguments)}: {ended.stderr.decode(errors='replace').strip()}; commit it first")
    return ended.stdout
