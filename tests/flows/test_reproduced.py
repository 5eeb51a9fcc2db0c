"""The check that CI ends with names the stage whose bytes changed."""

import re
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


@pytest.mark.parametrize(
    ("name", "content", "named", "lines"),
    [
        ("dvc.lock", LOCK.format(md5="2b"), "segment@zh: data/zh .*2b.*1a", 1),
        ("dvc.lock", "schema: '2.0'\nstages: {}\n", "segment@zh: data/zh .*no hash.*1a", 4),
        ("reports/sample/unit.json", "{}", "reports/sample/unit.json: no stage", 1),
        (f"{MADE}/words.csv", "f1\n2\n", f"{MADE}/words.csv: .*{KEPT}/words.csv", 1),
        (f"{MADE}/new.csv", "f1\n2\n", f"{MADE}/new.csv: .*{KEPT}/new.csv", 1),
        (f"{KEPT}/words.csv", "f1\n2\n", f"{KEPT}/words.csv: .*committed", 2),
    ],
    ids=["another hash", "no stages", "undeclared file", "changed table", "new table", "edited in git"],
)
def test_what_differs_is_named(project: Path, name: str, content: str, named: str, lines: int) -> None:
    (project / name).write_text(content, encoding="utf-8")
    found = check(project)
    assert len(found) == lines and any(re.match(named, line) for line in found), found


def test_another_command_and_ignored_files_are_no_difference(project: Path) -> None:
    (project / "dvc.lock").write_text(LOCK.format(md5="1a").replace("cmd: x", "cmd: y"), encoding="utf-8")
    (project / "reports/sample/.gitignore").write_text("", encoding="utf-8")
    assert check(project) == []


def test_without_results_there_is_nothing_to_compare(project: Path) -> None:
    (project / "dvc.lock").unlink()
    with pytest.raises(InputError, match="make repro"):
        check(project)
