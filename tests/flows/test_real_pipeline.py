"""The real pipeline with small parameters, killed in several stages: the next run ends as an undisturbed one."""

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import killing
import pytest
import yaml
from workspace import SMALL, make_workspace

SECTIONS = {
    "corpora": {"zh": {"path": "data/raw/builtin/zh", "format": "parquet", "gold": "words"}},
    "segmentation": SMALL,
}
KILLS = [
    ("stage", "tasks.corpora.prepare"),
    ("dvc", "tasks.segmentation.ngram_statistics"),
    ("runner", "tasks.segmentation.segment"),
    ("stage", "tasks.segmentation.tokenizer"),
    ("dvc", "tasks.segmentation.evaluation.evaluate"),
    ("runner", "tasks.report.page"),
]
"""Which process is killed while the command of which stage runs, in this order."""


def locks(folder: Path) -> list[Any]:
    return [yaml.safe_load((folder / name).read_text(encoding="utf-8")) for name in ("dvc.lock", "data/raw/dvc.lock")]


@pytest.mark.nightly
@pytest.mark.usefixtures("reporting")
def test_killed_in_several_stages(tmp_path: Path) -> None:
    killed = make_workspace(tmp_path / "killed", **SECTIONS)
    undisturbed = shutil.copytree(killed, tmp_path / "undisturbed", symlinks=True)
    for whom, module in KILLS:
        started = killing.start(killing.RUNNER, killed)
        killing.kill(started, whom, lambda module=module: killing.works(killed, module))
        killing.assert_ended(started)
    for folder in (killed, undisturbed):
        status, output = killing.run(killing.RUNNER, folder)
        assert status == 0, output
        with contextlib.closing(sqlite3.connect(folder / ".mlflow/mlruns.db")) as store:
            (rows,) = store.execute("select count(*) from runs where lifecycle_stage = 'active'").fetchone()
        assert rows > 0 and (folder / "reports/sample/index.html").exists()
    assert locks(killed) == locks(undisturbed)
    assert not list(killed.glob("**/.*.tmp"))
