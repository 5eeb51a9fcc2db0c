"""Outputs of stages that have left the pipeline are removed, and nothing else."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import killing
import pytest
import toy_pipeline
from killing import RUNNER

from flows.run.leftovers import remove_leftovers

Check = Callable[[Path], None]


@pytest.fixture(autouse=True)
def own_site_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "site-cache"))


def change(folder: Path, old: str, new: str) -> None:
    """Change dvc.yaml."""
    path = folder / "dvc.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def without_leaf_b(folder: Path) -> None:
    change(folder, "foreach: [a, b]", "foreach: [a]")
    change(folder, ", data/sample/leaf-b/text.txt]", "]")
    change(folder, " data/sample/leaf-b/text.txt\n", "\n")


LEAF_B = {"sample/leaf-b/text.txt", "sample/leaf-b/name.txt", "sample/leaf-b.json"}


@pytest.mark.slow
@pytest.mark.parametrize("known_from", ["record", "dvc.lock"])
def test_a_run_removes_them(copy_of_finished: Path, assert_complete: Check, known_from: str) -> None:
    lost = ".dvc/tmp/tokenlab-outputs/sample.json" if known_from == "dvc.lock" else "dvc.lock"
    (copy_of_finished / lost).unlink()
    before = toy_pipeline.outputs(copy_of_finished).keys()
    without_leaf_b(copy_of_finished)
    status, output = killing.run(RUNNER, copy_of_finished)
    assert status == 0, output
    assert before - toy_pipeline.outputs(copy_of_finished).keys() == LEAF_B
    for path in ("data/sample/leaf-b", "data/sample/leaf-b.json"):
        assert f"workspace: removed {path}, no stage makes it any more\n" in output

    toy_pipeline.write_files(copy_of_finished, toy_pipeline.PIPELINE)  # the stage comes back
    status, output = killing.run(RUNNER, copy_of_finished)
    assert status == 0, output
    assert "removed" not in output and "leaf@b | restored from the cache" in output
    assert_complete(copy_of_finished)


def test_other_files_stay(copy_of_finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Files that never were outputs, files in git, raw data, and folders outside the preset's own."""
    kept = ["data/sample/notes.txt", "data/sample/leaf-b/name.txt", "data/raw/text.txt", "elsewhere/text.txt"]
    toy_pipeline.write_files(copy_of_finished, dict.fromkeys(kept, "kept"))
    subprocess.run(["git", "add", "--force", "data/sample/leaf-b/name.txt"], cwd=copy_of_finished, check=True)
    lock = copy_of_finished / "dvc.lock"
    lock.write_text(
        lock.read_text()
        + "  gone:\n    cmd: exec true\n    outs:\n"
        + "".join(f"    - path: {path}\n" for path in ("data/raw/text.txt", "elsewhere", "data/sample", "../workspace"))
    )
    without_leaf_b(copy_of_finished)
    remove_leftovers(copy_of_finished, "sample")
    assert all((copy_of_finished / path).read_text() == "kept" for path in kept)
    removed = {line.split()[2].rstrip(",") for line in capfd.readouterr().err.splitlines()}
    assert removed == {"data/sample/leaf-b/text.txt", "data/sample/leaf-b.json"}


def test_output_inside_a_former_output(copy_of_finished: Path) -> None:
    change(copy_of_finished, "outs: [data/sample/first]", "outs: [data/sample/first/text.txt]")
    remove_leftovers(copy_of_finished, "sample")
    assert [path.name for path in (copy_of_finished / "data/sample/first").iterdir()] == ["text.txt"]


def test_unreadable_pipeline_removes_nothing(copy_of_finished: Path) -> None:
    before = toy_pipeline.outputs(copy_of_finished)
    change(copy_of_finished, "foreach: [a, b]", "foreach: ${missing}")
    remove_leftovers(copy_of_finished, "sample")
    assert toy_pipeline.outputs(copy_of_finished) == before
