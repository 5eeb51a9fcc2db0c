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


def copied(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_files_of_a_user_are_not_copied_but_new_code_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = workspace.copy_project(tmp_path / "clone")
    for command in (["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*GIT, *command], cwd=clone, check=True)
    monkeypatch.setattr(workspace, "ROOT", clone)
    before = copied(workspace.copy_project(tmp_path / "before"))
    for name in ("texts/mine.txt", "analysis.ipynb", "notebooks/one.ipynb", "data/mine.csv", "novel.txt", "own.yaml"):
        write(clone, name, "mine\n")
    parameters = yaml.safe_load((clone / "params.yaml").read_text(encoding="utf-8"))
    parameters["corpora"]["mine"] = {"path": "texts/mine.txt", "format": "text", "gold": None}
    write(clone, "params.yaml", yaml.safe_dump(parameters))
    write(clone, "dvc.lock", "schema: '2.0'\nstages: {}\n")
    new = {"tokenlab/text/new.py": b"NEW = 1\n", "tasks/report/style.py": b"COLOUR = 'blue'\n"}
    for name, text in new.items():
        write(clone, name, text.decode())
    assert copied(workspace.copy_project(tmp_path / "after")) == before | new
    assert "mine" not in workspace.shipped_parameters("sample")["corpora"]
