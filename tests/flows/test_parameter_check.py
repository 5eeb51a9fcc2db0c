"""The check of parameters runs once for each state of the files, and not at all where nothing is ours."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from flows import parameter_check
from flows.parameter_check import find_problems
from flows.run.plan import pipelines
from tokenlab.core.errors import InputError

PIPELINE = "stages:\n  prepare: {cmd: exec python -m tasks.corpora.prepare params.yaml zh}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("dvc.yaml", "presets/cpu/dvc.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(PIPELINE)
        (tmp_path / name).with_name("params.yaml").write_text("corpora: {}\n")
    (tmp_path / "mine.txt").touch()
    return tmp_path


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The pipelines of each check; a parameter file that holds `bad` has a problem."""
    calls: list[list[str]] = []

    def check(root: Path, pipelines: list[str]) -> dict[str, Any]:
        calls.append(pipelines)
        bad = {name: "bad" in (root / name).with_name("params.yaml").read_text() for name in pipelines}
        return {name: {"problems": ["bad key"] * bad[name], "paths": ["mine.txt"]} for name in pipelines}

    monkeypatch.setattr(parameter_check, "_check", check)
    return calls


def test_a_file_that_passed_is_not_checked_again(root: Path, checked: list[list[str]]) -> None:
    assert find_problems(root, ["sample"]) == find_problems(root, ["sample"]) == []
    assert find_problems(root, list(pipelines(root))) == []
    assert checked == [["dvc.yaml"], ["presets/cpu/dvc.yaml"]]


@pytest.mark.parametrize("name", ["params.yaml", "dvc.yaml", "data/raw/params.yaml", "data/raw/dvc.yaml"])
def test_an_edit_is_checked(root: Path, checked: list[list[str]], name: str) -> None:
    find_problems(root, ["sample"])
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + "# edited\n")
    find_problems(root, ["sample"])
    assert len(checked) == 2


def test_code_that_declares_parameters_is_checked_again(
    root: Path, checked: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    find_problems(root, ["sample"])
    monkeypatch.setattr(parameter_check, "_CODE", (root,))
    (root / "parameters.py").touch()
    find_problems(root, ["sample"])
    assert len(checked) == 2


def test_a_text_that_is_another_or_gone_is_checked_again(root: Path, checked: list[list[str]]) -> None:
    find_problems(root, ["sample"])
    (root / "mine.txt").write_text("other")
    find_problems(root, ["sample"])
    (root / "mine.txt").unlink()
    find_problems(root, ["sample"])
    assert len(checked) == 3


def test_an_edit_in_a_folder_of_texts_is_checked_again(root: Path, checked: list[list[str]]) -> None:
    (root / "mine.txt").unlink()
    text = root / "mine.txt" / "deep" / "a.txt"
    text.parent.mkdir(parents=True)
    text.write_text("one")
    find_problems(root, ["sample"])
    text.write_text("another")
    find_problems(root, ["sample"])
    find_problems(root, ["sample"])
    assert len(checked) == 2


def test_a_damaged_record_is_no_pass(root: Path, checked: list[list[str]]) -> None:
    find_problems(root, ["sample"])
    for content in ("", "[]", "{}", json.dumps({"state": 1, "texts": 2})):
        (root / ".dvc/tmp/tokenlab-parameters/sample.json").write_text(content)
        assert find_problems(root, ["sample"]) == []
    assert len(checked) == 5


def test_a_problem_is_found_each_time(root: Path, checked: list[list[str]]) -> None:
    (root / "params.yaml").write_text("bad: 1\n")
    assert find_problems(root, ["sample"]) == find_problems(root, ["sample", "cpu"]) == ["bad key"]
    assert find_problems(root, ["cpu"]) == []
    assert len(checked) == 2


def test_parameters_of_other_stages_are_not_ours(root: Path, checked: list[list[str]]) -> None:
    shutil.rmtree(root / "presets")
    (root / "dvc.yaml").write_text("stages: {first: {cmd: exec python stage.py}}\n")
    assert find_problems(root, ["sample"]) == []
    assert not checked


def test_a_check_that_cannot_run_is_an_error(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(parameter_check.sys, "executable", "/bin/false")
    with pytest.raises(InputError, match=r"not checked \(exit status 1, see above\)"):
        find_problems(root, ["sample"])
