"""The check that CI ends with names the stage whose bytes changed."""

import subprocess
from pathlib import Path

import pytest
import toy_pipeline

from flows.run.reproduced import KEPT, LOCKS, MADE, check
from tokenlab.core.errors import InputError

LOCK = """schema: '2.0'
stages:
  segment@zh:
    cmd: x
    outs:
    - path: data/zh
      md5: {md5}
  report:
    cmd: y
    outs:
    - path: reports/sample/tables
      md5: 3c
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A commit with lock files and a table."""
    for name in LOCKS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(LOCK.format(md5="1a"), encoding="utf-8")
    for folder in (MADE, KEPT):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "words.csv").write_text("f1\n1\n", encoding="utf-8")
    (tmp_path / MADE / "results-codes.txt").write_text("a part that is not kept\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    toy_pipeline.commit(tmp_path)
    return tmp_path


def test_another_hash_names_the_stage(project: Path) -> None:
    (project / "dvc.lock").write_text(LOCK.format(md5="2b"), encoding="utf-8")
    assert check(project) == ["segment@zh: data/zh has 2b, dvc.lock says 1a"]


def test_another_command_or_dependency_is_no_difference(project: Path) -> None:
    (project / "dvc.lock").write_text(LOCK.format(md5="1a").replace("cmd: x", "cmd: y"), encoding="utf-8")
    assert check(project) == []


def test_a_stage_that_is_gone_is_named(project: Path) -> None:
    (project / "dvc.lock").write_text("schema: '2.0'\nstages: {}\n", encoding="utf-8")
    assert "segment@zh: data/zh has no hash, dvc.lock says 1a" in check(project)


def test_a_file_that_no_stage_declares_is_named(project: Path) -> None:
    (project / "reports/sample/unit.json").write_text("{}", encoding="utf-8")
    (project / "reports/sample/.gitignore").write_text("", encoding="utf-8")
    assert check(project) == ["reports/sample/unit.json: no stage has it as an output; name it in dvc.yaml"]


@pytest.mark.parametrize("name", ["words.csv", "new.csv"])
def test_a_table_that_changed_is_named(project: Path, name: str) -> None:
    (project / MADE / name).write_text("f1\n2\n", encoding="utf-8")
    assert check(project) == [f"{MADE}/{name}: not as {KEPT}/{name}"]


def test_an_edit_of_the_tables_in_git_is_named(project: Path) -> None:
    (project / KEPT / "words.csv").write_text("f1\n2\n", encoding="utf-8")
    assert f"{KEPT}/words.csv: not as committed" in check(project)


def test_without_results_there_is_nothing_to_compare(project: Path) -> None:
    (project / "dvc.lock").unlink()
    with pytest.raises(InputError, match="make repro"):
        check(project)
