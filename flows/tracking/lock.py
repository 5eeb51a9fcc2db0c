"""The stages of a preset as dvc.lock records them: hashes of dependencies and outputs, parameters, and the files.

The repository and DVC's cache are enough: an output need not be in the workspace.
"""

import hashlib
import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dvc.stage.utils import split_params_deps

from flows.run.plan import Dag, Selection, read_dag
from tokenlab.core.errors import InputError

_ADVICE = "`make repro PRESET={}` makes it, and where that was pushed, `dvc pull` fetches it"


def hash_json(content: Any) -> str:
    """A hash of what JSON can hold."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True)
class Entry:
    """A stage in dvc.lock. Paths are relative to the root of the project, hashes are DVC's md5."""

    address: str
    pipeline: str
    """The dvc.yaml of the stage, empty for the one in the root."""
    stage: str
    """Its name without the variant."""
    variant: str
    """Empty where it has none."""
    tags: list[str]
    command: str
    deps: dict[str, str]
    outs: dict[str, str]
    params: dict[str, dict[str, Any]]


class Pipeline:
    """The stages of a preset that have run, and the stages of the raw data. Stages that have never run are left out."""

    def __init__(self, root: Path, preset: str) -> None:
        """Read the pipeline of a preset. Raises InputError where DVC cannot read it."""
        with read_dag(root, preset) as dag:
            entries = [_entry(root, dag, address) for address in dag.select(Selection(preset))]
            self._needs = dag.needs
            self._cache = dag.cache
        self.root, self._advice = root, _ADVICE.format(preset)
        self._entries = {entry.address: entry for entry in entries if any(entry.outs.values())}
        recorded = [item for entry in self._entries.values() for item in entry.outs.items()]
        self._outs = {out: md5 for out, md5 in recorded if md5}  # a lock of older code may lack an output
        self._listings: dict[str, dict[str, str]] = {}

    def stages(self, name: str) -> list[Entry]:
        """The variants of a stage."""
        return [entry for entry in self._entries.values() if entry.stage == name]

    def ancestors(self, entry: Entry, without: Collection[str] = ()) -> list[Entry]:
        """The stages that this one depends on, the nearest first; `without` some, and what only they depend on."""
        found: list[Entry] = []
        todo = [entry]
        while todo:
            needs = self._needs[todo.pop(0).address]
            nearest = [other for address, other in self._entries.items() if address in needs and other not in found]
            nearest = [other for other in nearest if other.stage not in without]
            found += nearest
            todo += nearest
        return found

    def digest(self, entry: Entry) -> str:
        """A hash of the lock entries of a stage and of all stages that it depends on."""
        family = sorted([entry, *self.ancestors(entry)], key=lambda member: member.address)
        content = [[e.address, e.command, e.deps, e.outs, e.params] for e in family]
        return hash_json(content)

    def hash_of(self, path: str) -> str | None:
        """The md5 of an output in dvc.lock, or of a file in an output that is a folder; None where there is none."""
        if path in self._outs:
            return self._outs[path]
        folder = next((str(parent) for parent in Path(path).parents if str(parent) in self._outs), None)
        return self._listing(folder).get(os.path.relpath(path, folder)) if folder else None

    def find(self, path: str) -> tuple[Path, bool]:
        """A file with the content that dvc.lock records for an output, and whether it is an object of DVC's cache.

        Objects of the cache never change. Raises InputError where there is no such file.
        """
        md5 = self.hash_of(path)
        if md5 is None:
            raise InputError(f"{path}: not in dvc.lock as an output of a stage; {self._advice}")
        if (cached := self._object(md5)).exists():
            return cached, True
        file = self.root / path
        if file.is_file() and hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest() == md5:
            return file, False
        raise InputError(f"{path}: neither the cache nor the workspace has the content in dvc.lock; {self._advice}")

    def _object(self, md5: str) -> Path:
        return self._cache / md5[:2] / md5[2:]

    def _listing(self, out: str) -> dict[str, str]:
        """The md5 of each file in a folder, by its path there."""
        if out not in self._listings:
            listing = self._object(self._outs[out])
            if not listing.exists():
                raise InputError(f"{out}: not in the cache; {self._advice}")
            files = json.loads(listing.read_text(encoding="utf-8"))
            self._listings[out] = {file["relpath"]: file["md5"] for file in files}
        return self._listings[out]


def _entry(root: Path, dag: Dag, address: str) -> Entry:
    stage = dag.stages[address]

    def hashes(items: list[Any]) -> dict[str, str]:
        return {_relative(root, item): str(item.hash_info.value or "") for item in items}

    params, files = split_params_deps(stage)
    values = {_relative(root, dep): dep.hash_info.value or {} for dep in params}
    path, _, name = address.rpartition(":")
    loop, _, variant = name.partition("@")
    tags, command = dag.tags(address), str(stage.cmd)
    return Entry(address, path, loop, variant, tags, command, hashes(files), hashes(stage.outs), values)


def _relative(root: Path, item: Any) -> str:
    """The path relative to the root, with symbolic links unresolved; a path outside the root is returned unchanged."""
    path = Path(item.fs_path)
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
