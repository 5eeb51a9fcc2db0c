"""`make repro ONLY=family` on one's own text: a page of the families that are there, and nothing left in git."""

import subprocess
from pathlib import Path

import killing
import pytest
from workspace import SMALL, SMALL_CODES, make_workspace

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("reporting")]


def test_one_family_shows_itself_and_leaves_git_clean(tmp_path: Path) -> None:
    """`segmentation` has the same corpus, and was never run."""
    mine = {"path": "texts/mine.txt", "format": "text", "gold": None}
    folder = make_workspace(
        tmp_path / "project",
        corpora={"mine": mine},
        codes=SMALL_CODES | {"corpora": {"mine": SMALL_CODES["corpora"]["en"]}},
        segmentation=SMALL | {"corpora": {"mine": {}}, "own_text": {}},
    )
    (folder / "texts").mkdir()
    (folder / "texts/mine.txt").write_text("A dog runs.\n", encoding="utf-8")
    status, output = killing.run([*killing.RUNNER, "--only", "codes"], folder)
    assert (status, output.count("\n")) == (2, 1), output
    assert "segmentation.corpora.mine: texts/mine.txt has no character" in output
    assert not (folder / "dvc.lock").exists()

    (folder / "texts/mine.txt").write_text("狗在跑。\n", encoding="utf-8")
    status, output = killing.run([*killing.RUNNER, "--only", "codes"], folder)
    assert status == 0, output
    assert output.splitlines()[-1] == "report: reports/sample/index.html"
    page = (folder / "reports/sample/index.html").read_text(encoding="utf-8")
    assert 'id="words-mine"' not in page
    tables = folder / "reports/sample/tables"
    assert (tables / "families.txt").read_text() == "codes\n"
    written = (tables / "families.txt").stat().st_mtime_ns
    git_status = ["git", "status", "--porcelain", "--", ".", ":!.dvc/site-cache"]
    changed = subprocess.run(git_status, cwd=folder, capture_output=True, text=True, check=True)
    assert changed.stdout == "?? data/raw/dvc.lock\n?? dvc.lock\n"

    status, output = killing.run([*killing.RUNNER, "--only", "codes"], folder)
    assert status == 0 and output.startswith("nothing to do: all 6 stages")
    assert (tables / "families.txt").stat().st_mtime_ns == written, "nothing changed, so the page is not written again"
    (folder / "tasks/report/style.py").touch()
    assert killing.run([*killing.RUNNER, "--only", "codes"], folder)[0] == 0
    assert (tables / "families.txt").stat().st_mtime_ns > written, "other code of the report writes it again"
