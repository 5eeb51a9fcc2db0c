"""A copy of the project in its own git repository, with small parameters, to run the real pipeline in."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from killing import ROOT
from toy_pipeline import commit

CODE = ("flows/", "tasks/", "tests/", "tokenlab/")
"""Where a file that git does not know yet is a new module rather than somebody's own file."""
OF_USERS = ("params.yaml", "dvc.lock")
"""Tracked files that users edit, or whose runs do."""


def make_workspace(folder: Path, **sections: Any) -> Path:
    """A copy of the project that has never run; `sections` replace sections of params.yaml.

    Of the families whose section is not given the workspace has nothing; see NOTHING.
    """
    copy_project(folder)
    for compiled in ROOT.glob("tokenlab/**/__pycache__/*.nb?"):  # numba's, valid for files of the same time and size
        target = folder / compiled.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(compiled, target)
    for lock in ("dvc.lock", "data/raw/dvc.lock"):
        (folder / lock).unlink(missing_ok=True)
    set_parameters(folder, "params.yaml", NOTHING | sections)
    set_parameters(folder, "data/raw/params.yaml", {"builtin": {"sentences": 400, "questions": 2, "seed": 0}})
    commit(folder)
    return folder


def copy_project(folder: Path) -> Path:
    """Copy the project as it is shipped, with the code as it is now.

    Edited files of code count, new ones too. What users put into their clone does not: own texts, notebooks, results.
    Parameters and locks are those of git's index, so that tests of the shipped ones pass beside own corpora in
    params.yaml; `git add params.yaml` has the tests use an edited one.
    """
    tracked, untracked = _listed("--cached"), _listed("--others", "--exclude-standard")
    for name in tracked + [name for name in untracked if name.startswith(CODE)]:
        source, target = ROOT / name, folder / name
        if name in tracked and Path(name).name in OF_USERS:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(as_shipped(name))
        elif source.is_symlink() or source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def as_shipped(name: str) -> bytes:
    """A file as git's index has it."""
    return _git("show", f":{name}")


def _listed(*which: str) -> list[str]:
    return [name for name in _git("ls-files", "-z", *which).decode().split("\0") if name]


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout


def set_parameters(folder: Path, name: str, sections: dict[str, Any]) -> None:
    """Replace top-level sections of a parameter file of the workspace."""
    path = folder / name
    parameters = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump(parameters | sections, allow_unicode=True), encoding="utf-8")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS` in the workspace, as one stage or command."""
    environment = os.environ | {"DVC_NO_ANALYTICS": "1", "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    environment.pop("TOKENLAB_PARENT", None)
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


_SECTIONS = yaml.safe_load(Path(__file__).with_name("small_params.yaml").read_text(encoding="utf-8"))
SMALL, SMALL_CODES, SMALL_EXACT, SMALL_LENGTHS, SMALL_TRANSLATION, SMALL_PATCHES, SMALL_COMPARED, SMALL_DOWNSTREAM = (
    _SECTIONS[name]
    for name in ("segmentation", "codes", "exact", "lengths", "translation", "patches", "compared", "downstream")
)
SMALL_TRAINING: dict[str, Any] = _SECTIONS["training"]
"""Fields of `training` that all models of the tests share."""


def _without(section: dict[str, Any], *names: str) -> dict[str, Any]:
    """A section in which nothing is named to be computed."""
    return section | {name: {} for name in names}


NOTHING: dict[str, dict[str, Any]] = {
    "bits": _without(SMALL_LENGTHS | SMALL_TRANSLATION, "corpora", "translation"),
    "patches": _without(SMALL_PATCHES, "tokenizers", "corpora", "models", "variants", "zero_shot"),
    "compare": _SECTIONS["compare"],
    "downstream": _without(SMALL_DOWNSTREAM, "corpora", "classified", "language_models"),
    "compared": _without(SMALL_COMPARED, "corpora", "methods"),
    "codes": _without(SMALL_CODES, "corpora"),
    "concatenated": {},
    "entropy": _SECTIONS["entropy"],
    "exact": _without(SMALL_EXACT, "markov", "models", "evaluated"),
}
"""Sections of params.yaml by which nothing is computed."""
