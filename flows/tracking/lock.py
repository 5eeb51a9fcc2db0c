"""The stages of a preset as dvc.lock records them: hashes of dependencies and outputs, parameters, and the files.

The repository and DVC's cache are enough: an output need not be in the workspace.
"""

import hashlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from tokenlab.core.errors import InputError, one_line

RAW = Path("data/raw/dvc.yaml")
"""The pipeline of the raw data, which every preset depends on."""


@dataclass(frozen=True)
class Entry:
    """A stage in dvc.lock. Paths are relative to the root of the project, hashes are DVC's md5."""

    address: str
    meta: dict[str, Any]
    command: str
    deps: dict[str, str]
    outs: dict[str, str]
    params: dict[str, dict[str, Any]]

    @property
    def stage(self) -> str:
        """The name of the stage without its variant."""
        return self._parts[0]

    @property
    def variant(self) -> str:
        """The variant of the stage, empty where it has none."""
        return self._parts[2]

    @property
    def _parts(self) -> tuple[str, str, str]:
        return self.address.rpartition(":")[2].partition("@")


class Pipeline:
    """The stages of a preset that have run, and the stages of the raw data. Stages that have never run are left out."""

    def __init__(self, root: Path, path: Path) -> None:
        """Read the pipeline `path` of the project in `root`. Raises InputError where DVC cannot read it."""
        from dvc.exceptions import DvcException
        from dvc.repo import Repo

        try:
            with Repo(str(root)) as repo:
                self._cache = repo.cache.local
                files = [file for file in (root / path, root / RAW) if file.exists()]
                self._entries = [entry for file in files for entry in _entries(repo, root, file)]
        except (DvcException, yaml.YAMLError) as error:
            raise InputError(f"{path}: {one_line(error)}; `dvc status` says more") from None
        self._root = root

    def stages(self, name: str) -> list[Entry]:
        """The variants of a stage."""
        return [entry for entry in self._entries if entry.stage == name]

    def ancestors(self, entry: Entry, without: Collection[str] = ()) -> list[Entry]:
        """The stages that this one depends on, the nearest first.

        without: names of stages to leave out, and with them what only they depend on.
        """
        found: list[Entry] = []
        todo = [entry]
        while todo:
            deps = todo.pop(0).deps
            for other in self._entries:
                if other in found or other.stage in without:
                    continue
                if any(overlap(dep, out) for dep in deps for out in other.outs):
                    found.append(other)
                    todo.append(other)
        return found

    def digest(self, entry: Entry) -> str:
        """A hash of the lock entries of a stage and of all stages that it depends on."""
        family = sorted([entry, *self.ancestors(entry)], key=lambda member: member.address)
        content = [[e.address, e.command, e.deps, e.outs, e.params] for e in family]
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def hash_of(self, path: str) -> str:
        """The md5 of an output in dvc.lock, or of a file in an output that is a folder.

        Raises InputError where dvc.lock has none.
        """
        for out, md5 in self._outs.items():
            if path == out:
                return md5
            if path.startswith(f"{out}/"):
                inside = path.removeprefix(f"{out}/")
                if inside in self._listing(out):
                    return self._listing(out)[inside]
        raise InputError(f"{path}: not in dvc.lock as an output of a stage; `make repro` makes it")

    def has(self, path: str) -> bool:
        """Whether an output, or a file in an output that is a folder, is in dvc.lock."""
        try:
            self.hash_of(path)
        except InputError:
            return False
        return True

    def find(self, path: str) -> tuple[Path, bool]:
        """A file with the content that dvc.lock records for an output, and whether it is an object of DVC's cache.

        Objects of the cache never change. Raises InputError where neither the cache nor the workspace has the content.
        """
        md5 = self.hash_of(path)
        cached = Path(self._cache.oid_to_path(md5))
        if cached.exists():
            return cached, True
        file = self._root / path
        if file.is_file() and hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest() == md5:
            return file, False
        raise InputError(
            f"{path}: neither the cache nor the workspace has the content in dvc.lock; "
            "`dvc pull` fetches it, `make repro` makes it"
        )

    @cached_property
    def _outs(self) -> dict[str, str]:
        return {out: md5 for entry in self._entries for out, md5 in entry.outs.items()}

    def _listing(self, out: str) -> dict[str, str]:
        """The md5 of each file in a folder, by its path there."""
        if out not in self._listings:
            listing = Path(self._cache.oid_to_path(self._outs[out]))
            if not listing.exists():
                raise InputError(f"{out}: not in the cache; `dvc pull` fetches it, `make repro` makes it")
            files = json.loads(listing.read_text(encoding="utf-8"))
            self._listings[out] = {file["relpath"]: file["md5"] for file in files}
        return self._listings[out]

    @cached_property
    def _listings(self) -> dict[str, dict[str, str]]:
        return {}


def _entries(repo: Any, root: Path, file: Path) -> Iterator[Entry]:
    """The stages of a dvc.yaml with loops and templates resolved by DVC, each with its entry in dvc.lock."""
    lock = file.with_suffix(".lock")
    locked = yaml.load(lock.read_bytes(), Loader=yaml.CSafeLoader).get("stages", {}) if lock.exists() else {}
    for stage in repo.stage.load_all(str(file)):
        if (entry := locked.get(stage.name)) is not None:
            base = Path(stage.wdir)

            def hashes(items: list[dict[str, Any]], base: Path = base) -> dict[str, str]:
                return {_relative(root, base / item["path"]): str(item.get("md5", "")) for item in items}

            # The address that DVC uses in the root; `stage.addressing` is relative to the current folder.
            folder = file.parent.relative_to(root)
            yield Entry(
                stage.name if folder == Path() else f"{folder / file.name}:{stage.name}",
                stage.meta or {},
                str(entry["cmd"]),
                hashes(entry.get("deps", [])),
                hashes(entry.get("outs", [])),
                {_relative(root, base / name): values for name, values in entry.get("params", {}).items()},
            )


def _relative(root: Path, path: Path) -> str:
    """The path relative to the root, with symbolic links unresolved; a path outside the root is returned unchanged."""
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def overlap(one: str, other: str) -> bool:
    """Whether two paths are the same or one contains the other."""
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
