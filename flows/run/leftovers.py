"""Remove outputs of stages that the pipeline no longer has.

A corpus or a model that leaves params.yaml would otherwise stay in the workspace, and stages that depend on a folder
would go on reading it. Only paths that once were outputs of a stage are removed: they are listed in the preset's
dvc.lock, or in the list of outputs that was written before an earlier run. DVC restores them from its cache when the
stage comes back.

The pipeline is resolved only if dvc.yaml or params.yaml changed since then, because that takes DVC about a second.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from flows.run.presets import find_targets
from tokenlab.core.files import write_text

_FOLDERS = ("data", "models", "reports")
"""The outputs of a preset are below its folder in each of these."""

_RAW = Path("data", "raw")
"""Raw data, which all presets share."""


def remove_leftovers(root: Path, preset: str) -> None:
    """Remove what stages of a preset once wrote and no stage writes any more, and print a line for each path.

    For the holder of the workspace. Files in git stay, and so does everything outside data/PRESET, models/PRESET and
    reports/PRESET. Does nothing where DVC cannot read the pipeline. Raises ParameterError for an unknown preset.
    """
    pipeline = Path(find_targets(root, preset, None)[0])
    record = root / ".dvc" / "tmp" / "tokenlab-outputs" / f"{preset}.json"
    state = _state(root, pipeline)
    recorded, former = _read(record)
    if recorded == state:
        return
    resolved = _resolve(root, pipeline)
    tracked = _tracked(root, preset)
    if resolved is None or tracked is None:
        return
    outputs, dependencies = resolved
    kept = outputs | dependencies | tracked
    places = [Path(folder, preset) for folder in _FOLDERS if Path(folder, preset) != _RAW]
    for output in sorted(former | _locked(root, pipeline)):
        if any(place in output.parents for place in places):
            for path in _leftovers(root, output, kept):
                _remove(root / path)
                print(f"workspace: removed {path}, no stage makes it any more", file=sys.stderr, flush=True)
    write_text(record, json.dumps({"state": state, "outputs": sorted(map(str, outputs))}, indent=1) + "\n")


def _state(root: Path, pipeline: Path) -> str:
    """A hash of the files that determine the outputs of a pipeline."""
    state = hashlib.sha256()
    for name in (pipeline, pipeline.with_name("params.yaml")):
        content = (root / name).read_bytes() if (root / name).exists() else b""
        state.update(f"{name} {len(content)}\n".encode() + content)
    return state.hexdigest()


def _read(record: Path) -> tuple[str, set[Path]]:
    """The state and the outputs of the last record; nothing where there is none or it is damaged."""
    try:
        content = json.loads(record.read_bytes())
        return str(content["state"]), {_normal(name) for name in content["outputs"]}
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return "", set()


def _resolve(root: Path, pipeline: Path) -> tuple[set[Path], set[Path]] | None:
    """The outputs and the dependencies of all stages, relative to the root; None where DVC cannot read the pipeline."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        with Repo(str(root)) as repo:
            stages = repo.stage.load_all(str(root / pipeline))
            outputs, dependencies = (
                {_normal(os.path.relpath(item.fs_path, root)) for stage in stages for item in getattr(stage, kind)}
                for kind in ("outs", "deps")
            )
            return outputs, dependencies
    except DvcException:  # DVC reports it when it runs
        return None


def _tracked(root: Path, preset: str) -> set[Path] | None:
    """The preset's files that are in git; None where git fails."""
    folders = [f"{folder}/{preset}" for folder in _FOLDERS]
    listed = subprocess.run(["git", "ls-files", "-z", "--", *folders], cwd=root, capture_output=True, text=True)
    return None if listed.returncode else {Path(name) for name in listed.stdout.split("\0") if name}


def _locked(root: Path, pipeline: Path) -> set[Path]:
    """The outputs in dvc.lock, where DVC keeps stages that have left dvc.yaml."""
    lock = root / pipeline.with_suffix(".lock")
    if not lock.exists():
        return set()
    stages = (yaml.load(lock.read_bytes(), Loader=yaml.CSafeLoader) or {}).get("stages", {})
    # Every stage has the root as its working directory, so its paths are relative to that.
    return {_normal(out["path"]) for stage in stages.values() for out in stage.get("outs", [])}


def _normal(name: str) -> Path:
    return Path(os.path.normpath(name))


def _leftovers(root: Path, path: Path, kept: set[Path]) -> Iterator[Path]:
    """The path itself, unless it is kept; of a folder that contains kept paths everything else."""
    if not os.path.lexists(root / path) or path in kept or not kept.isdisjoint(path.parents):
        return
    if not any(path in other.parents for other in kept):
        yield path
    elif not (root / path).is_symlink():
        for child in sorted((root / path).iterdir()):
            yield from _leftovers(root, path / child.name, kept)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
