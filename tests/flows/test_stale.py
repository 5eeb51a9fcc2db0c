"""`python -m flows stale`: results older than their code, without any data."""

import shutil
import sys
from pathlib import Path

import killing

STALE = [sys.executable, "-m", "flows", "stale"]
FRESH = "no stage is older than its code\n"


def with_code(folder: Path) -> None:
    """Let `leaf` depend on a folder of code, and record it."""
    (folder / "code").mkdir()
    (folder / "code/helper.py").write_text("x = 1\n")
    (folder / "dvc.yaml").write_text(
        (folder / "dvc.yaml").read_text().replace("deps: [data/sample/fan/text.txt]", "deps: [data/sample/fan, code]")
    )
    status, output = killing.run([sys.executable, "-m", "dvc", "repro"], folder)
    assert status == 0, output


def test_code_and_parameters_are_compared_without_data(copy_of_finished: Path) -> None:
    with_code(copy_of_finished)
    shutil.rmtree(copy_of_finished / "data")
    shutil.rmtree(copy_of_finished / ".dvc/cache")
    assert killing.run(STALE, copy_of_finished) == (0, FRESH)
    (copy_of_finished / "code/helper.py").write_text("x = 2\n")
    status, output = killing.run(STALE, copy_of_finished)
    *leaves, last = output.splitlines()
    assert (status, sorted(leaves)) == (0, [f"leaf@{name}: changed dependency code" for name in "ab"])
    assert last.startswith("last: after leaf@")
    (copy_of_finished / "code/helper.py").write_text("x = 1\n")
    (copy_of_finished / "params.yaml").write_text("letters: 4\n")
    status, output = killing.run(STALE, copy_of_finished)
    assert status == 0
    assert output.splitlines()[:2] == ["first: changed parameter letters", "fan: after first"]
    assert output.count("\n") == 5


def test_never_run(fresh: Path) -> None:
    status, output = killing.run(STALE, fresh)
    assert (status, output.splitlines()[0], output.count("\n")) == (0, "first: never run", 5)
