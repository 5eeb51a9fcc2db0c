"""The check of parameters runs once for each state of the files, and not at all where nothing is ours."""

import shutil
from collections.abc import Callable
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
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/mine.txt").touch()
    return tmp_path


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The pipelines of each check; a parameter file that holds `bad` has a problem."""
    calls: list[list[str]] = []

    def check(root: Path, pipelines: list[str]) -> dict[str, Any]:
        calls.append(pipelines)
        bad = {name: "bad" in (root / name).with_name("params.yaml").read_text() for name in pipelines}
        return {name: {"problems": ["bad key"] * bad[name], "paths": ["texts"]} for name in pipelines}

    monkeypatch.setattr(parameter_check, "_check", check)
    return calls


def test_a_file_that_passed_is_not_checked_again(root: Path, checked: list[list[str]]) -> None:
    assert find_problems(root, ["sample"]) == find_problems(root, ["sample"]) == []
    assert find_problems(root, list(pipelines(root))) == []
    assert checked == [["dvc.yaml"], ["presets/cpu/dvc.yaml"]]


def write(name: str, text: str) -> Callable[[Path], None]:
    def edit(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        write("params.yaml", "corpora: {a: b}\n"),
        write("dvc.yaml", PIPELINE + "# edited\n"),
        write("data/raw/params.yaml", "a: b\n"),
        write("code/parameters.py", "a = 1\n"),
        write("texts/mine.txt", "other"),
        write("texts/deep/new.txt", "new"),
        write(".dvc/tmp/tokenlab-parameters/sample.json", ""),
    ],
)
def test_an_edit_is_checked(
    root: Path, checked: list[list[str]], monkeypatch: pytest.MonkeyPatch, edit: Callable[[Path], None]
) -> None:
    """Of parameters, code, own texts, and of the record itself."""
    monkeypatch.setattr(parameter_check, "_CODE", (root / "code",))
    find_problems(root, ["sample"])
    edit(root)
    for _ in range(2):
        assert find_problems(root, ["sample"]) == []
    assert len(checked) == 2


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


def test_a_check_that_cannot_run_is_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameter_check.sys, "executable", "/bin/false")
    with pytest.raises(InputError, match=r"not checked \(exit status 1"):
        find_problems(root, ["sample"])
