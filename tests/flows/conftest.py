"""The toy pipeline, run once without disturbance, and a Prefect server."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import killing
import pytest
import toy_pipeline
from killing import ROOT
from prefect_server import Server, prefect_server

from flows.prefect_environment import read_secret

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

read_secret(ROOT)  # made at set-up; without it, Prefect refuses to be imported here (see prefect.toml)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy pipeline after a complete run, by DVC alone. Tests work on copies."""
    folder = toy_pipeline.make(tmp_path_factory.mktemp("toy") / "finished")
    toy_pipeline.repro(folder)
    return folder


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A toy pipeline that has never run."""
    return toy_pipeline.make(tmp_path / "workspace")


@pytest.fixture
def copy_of_finished(finished: Path, tmp_path: Path) -> Path:
    """A copy of a finished toy pipeline."""
    return shutil.copytree(finished, tmp_path / "workspace", symlinks=True)


@pytest.fixture
def assert_complete(finished: Path) -> Callable[[Path], None]:
    """Assert that a workspace has the results of an undisturbed run and no temporary files."""

    def check(folder: Path) -> None:
        assert toy_pipeline.lock(folder) == toy_pipeline.lock(finished)
        assert toy_pipeline.outputs(folder) == toy_pipeline.outputs(finished)
        assert not list(folder.rglob(".*.tmp"))

    return check


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Prefect server for all tests of this process."""
    with prefect_server(tmp_path_factory.mktemp("prefect") / "home") as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator["SyncPrefectClient"]:
    """A client of that server."""
    with server.client() as client:
        yield client


@pytest.fixture
def reporting(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs report to the server of the tests; else each starts one of its own."""
    monkeypatch.setattr(killing, "CLIENT", server.settings())


@pytest.fixture
def own_site_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DVC in this process shares nothing with other processes."""
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "site-cache"))
