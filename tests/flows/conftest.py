"""The toy pipeline, run once without disturbance, and a Prefect server."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import killing
import pytest
import toy_pipeline
from killing import PROJECT
from prefect_server import Server, prefect_server

from flows.prefect_environment import read_secret

read_secret(PROJECT)  # made at set-up; without it, Prefect refuses to be imported here (see prefect.toml)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, reporting: None) -> Path:
    """A toy pipeline after a complete run. Tests work on copies."""
    folder = toy_pipeline.make(tmp_path_factory.mktemp("toy") / "finished")
    status, output = killing.run(killing.RUNNER, folder)
    assert status == 0, output
    return folder


@pytest.fixture
def fresh(tmp_path: Path, reporting: None) -> Path:
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


@pytest.fixture(scope="session")
def reporting(server: Server) -> Iterator[None]:
    """Runs report to the server of the tests."""
    killing.CLIENT.update(server.settings())
    yield
    killing.CLIENT.clear()


@pytest.fixture
def server_of_its_own(reporting: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run starts a temporary server."""
    monkeypatch.setattr(killing, "CLIENT", {})
