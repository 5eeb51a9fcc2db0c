"""docs/remotes.md: results go to a remote and come back in a fresh clone, beside locks of presets that were not run."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import toy_pipeline
import workspace
from stub_outputs import commit_stubs

_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


def dvc(folder: Path, *arguments: str) -> str:
    """What a command of DVC prints, on both streams; it must succeed. The remote counts, and no cache beside it."""
    done = workspace.run(folder, "-m", "dvc", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def clone(folder: Path, target: Path) -> Path:
    """A fresh clone of the last commit."""
    toy_pipeline.commit(folder)
    subprocess.run(["git", "clone", "--quiet", folder, target], check=True)
    return target


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """The commands that add an S3 server on loopback as the default remote."""
    import boto3
    from moto.server import ThreadedMotoServer

    for name, value in _CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        address = f"http://{host}:{port}"
        boto3.client("s3", endpoint_url=address).create_bucket(Bucket="team")
        yield [
            ["remote", "add", "-d", "team", "s3://team/tokenlab"],
            ["remote", "modify", "team", "endpointurl", address],
        ]
    finally:
        server.stop()


def share(folder: Path, settings: list[list[str]]) -> None:
    """A clone has the results by `pull`, and by `repro --pull` from the run cache where dvc.lock lacks them."""
    toy_pipeline.make(folder)
    toy_pipeline.change(folder, ": {cache: false}", "")
    toy_pipeline.repro(folder)
    for setting in settings:
        dvc(folder, *setting)
    dvc(folder, "push", "--run-cache")
    pulled = clone(folder, folder.with_name("pulled"))
    dvc(pulled, "pull")
    assert toy_pipeline.outputs(pulled) == toy_pipeline.outputs(folder)
    (folder / "dvc.lock").unlink()
    restored = clone(folder, folder.with_name("restored"))
    assert "Running stage" not in dvc(restored, "repro", "--pull")
    assert toy_pipeline.outputs(restored) == toy_pipeline.outputs(folder)


@pytest.mark.slow
def test_a_folder(tmp_path: Path) -> None:
    share(tmp_path / "project", [["remote", "add", "-d", "team", f"{tmp_path}/remote"]])


@pytest.mark.slow
def test_an_s3_server(tmp_path: Path, bucket: list[list[str]]) -> None:
    share(tmp_path / "project", bucket)


@pytest.mark.slow
def test_the_shipped_project(tmp_path: Path) -> None:
    """Pulled without an error, though the locks of presets that were run elsewhere are in the clone; metrics fit."""
    folder = workspace.make_workspace(tmp_path / "project", segmentation=workspace.SMALL, exact=workspace.SMALL_EXACT)
    commit_stubs(folder)
    dvc(folder, "remote", "add", "-d", "team", f"{tmp_path}/remote")
    dvc(folder, "push")
    other = clone(folder, tmp_path / "clone")
    assert (other / "presets/cpu/dvc.lock").exists()
    dvc(other, "pull")
    shown = dvc(other, "metrics", "show")
    assert "reports/sample/metrics/exact.json" in shown and "fail" not in shown
    assert max(map(len, shown.splitlines())) <= 120
