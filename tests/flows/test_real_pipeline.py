"""The real pipeline with small parameters: run on schedule by a worker, and killed in several stages."""

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deployments
import killing
import psutil
import pytest
import yaml
from prefect.client.orchestration import SyncPrefectClient
from prefect_server import Server
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
    ("runner", "tasks.report.draw_segmentation"),
]
"""Which process is killed while the command of which stage runs, in this order."""

pytestmark = pytest.mark.usefixtures("reporting")


def locks(folder: Path) -> list[Any]:
    return [yaml.safe_load((folder / name).read_text(encoding="utf-8")) for name in ("dvc.lock", "data/raw/dvc.lock")]


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[SyncPrefectClient]:
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def never_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that has never run. Tests work on copies."""
    return make_workspace(tmp_path_factory.mktemp("real") / "never-run", **SECTIONS)


@pytest.fixture(scope="module")
def scheduled(never_run: Path, server: Server, client: SyncPrefectClient) -> Path:
    """A workspace after a run that a schedule started and a worker executed."""
    folder = shutil.copytree(never_run, never_run.with_name("scheduled"), symlinks=True)
    with deployments.worker(server, folder) as started:
        deployments.deploy(server, folder, every=20)
        run = deployments.wait_for_run(
            client, started, lambda run: run.auto_scheduled and bool(run.state and run.state.is_running())
        )
        deployments.remove_schedules(client)
        run = deployments.finished_run(client, started, run)
        assert run.state_name == "Completed", started.output()
    return folder


@pytest.mark.slow
def test_scheduled_run_is_tracked(scheduled: Path) -> None:
    assert (scheduled / "reports/sample/index.html").exists()
    with sqlite3.connect(scheduled / ".mlflow/mlruns.db") as store:
        (rows,) = store.execute("select count(*) from runs where lifecycle_stage = 'active'").fetchone()
    assert rows > 0


@pytest.mark.nightly
def test_killed_in_several_stages(never_run: Path, scheduled: Path) -> None:
    folder = shutil.copytree(never_run, never_run.with_name("killed"), symlinks=True)
    for whom, module in KILLS:
        started = killing.start(killing.RUNNER, folder)
        killing.kill(started, whom, lambda started=started, module=module: at_work(started, module))
        killing.assert_ended(started)
    status, output = killing.run(killing.RUNNER, folder)
    assert status == 0, output
    assert locks(folder) == locks(scheduled)
    assert not list(folder.glob("**/.*.tmp"))


def at_work(started: killing.Run, module: str) -> bool:
    """Whether the stage runs; others may run beside it."""
    for process in started.process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if module in process.cmdline():
                return True
    return False
