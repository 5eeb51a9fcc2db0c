"""Tests pass in a clone that somebody works in: own texts, notebooks and corpora change nothing that they copy."""

import subprocess
from pathlib import Path

import pytest
import workspace
import yaml

GIT = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = workspace.copy_project(tmp_path / "clone")
    for command in (["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*GIT, *command], cwd=folder, check=True)
    monkeypatch.setattr(workspace, "ROOT", folder)
    return folder


def copied(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_files_of_a_user_are_not_copied(clone: Path, tmp_path: Path) -> None:
    before = copied(workspace.copy_project(tmp_path / "before"))
    for name in ("texts/mine.txt", "analysis.ipynb", "notebooks/one.ipynb", "data/mine.csv", "novel.txt", "own.yaml"):
        write(clone, name, "mine\n")
    parameters = yaml.safe_load((clone / "params.yaml").read_text(encoding="utf-8"))
    parameters["corpora"]["mine"] = {"path": "texts/mine.txt", "format": "text", "gold": None}
    write(clone, "params.yaml", yaml.safe_dump(parameters))
    write(clone, "dvc.lock", "schema: '2.0'\nstages: {}\n")
    assert copied(workspace.copy_project(tmp_path / "after")) == before
    assert "mine" not in workspace.shipped_parameters("sample")["corpora"]


def test_code_that_git_does_not_know_yet_is_copied(clone: Path, tmp_path: Path) -> None:
    write(clone, "tokenlab/text/new.py", "NEW = 1\n")
    write(clone, "tasks/report/style.py", "COLOUR = 'blue'\n")
    copy = workspace.copy_project(tmp_path / "copy")
    assert (copy / "tokenlab/text/new.py").exists()
    assert (copy / "tasks/report/style.py").read_text() == "COLOUR = 'blue'\n"


def test_a_staged_edit_of_the_parameters_counts(clone: Path) -> None:
    write(clone, "params.yaml", "preset: sample\nroot: .\ncorpora: {new: {}}\n")
    subprocess.run([*GIT, "add", "params.yaml"], cwd=clone, check=True)
    assert workspace.shipped_parameters("sample")["corpora"] == {"new": {}}
