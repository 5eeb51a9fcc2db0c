"""A real Prefect server on a free port of loopback, with the settings of the project, and flows that report to it."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import killing
from killing import Run

from flows.pages import servers as pages
from flows.prefect_environment import environment, read_secret

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

FLOW = [sys.executable, "-m", "flows", "run"]

_SECONDS_TO_START = 600.0


class Server(NamedTuple):
    """A running server and the folder with its database and its password."""

    url: str
    home: Path

    def settings(self) -> dict[str, str]:
        """The environment of its clients and of the server itself; short polling intervals keep the tests short."""
        return environment(self.home, int(self.url.removesuffix("/api").rpartition(":")[2])) | {
            "PREFECT_API_URL": self.url,
            "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "2",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
        }

    @contextmanager
    def client(self) -> Iterator["SyncPrefectClient"]:
        """A client in this process."""
        from prefect.client.orchestration import get_client
        from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

        known = {PREFECT_API_URL: self.url, PREFECT_API_AUTH_STRING: read_secret(self.home)}
        with temporary_settings(known), get_client(sync_client=True) as client:
            yield client

    def start(self, command: list[str], folder: Path, **settings: str) -> Run:
        """Start `command` in the workspace `folder` as a client of this server."""
        given = [f"{name}={value}" for name, value in (self.settings() | settings).items()]
        return killing.start(["env", *given, *command], folder)

    def run(self, command: list[str], folder: Path, **settings: str) -> tuple[int, str]:
        """Run `command` as a client; return its exit status and its output."""
        started = self.start(command, folder, **settings)
        return started.finish(), started.output()


@contextmanager
def prefect_server(home: Path) -> Iterator[Server]:
    """A server that runs within the block, with its database in `home`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home.mkdir(parents=True, exist_ok=True)
    server = Server(f"http://127.0.0.1:{port}/api", home)
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(
            pages.prefect_server(home, port).command,
            cwd=home,
            env=os.environ | server.settings() | {"PYTHONPATH": str(killing.PROJECT)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + _SECONDS_TO_START
        while not _is_healthy(server.url):
            assert process.poll() is None, (home / "server.log").read_text()
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.2)
        yield server
    finally:
        process.terminate()
        process.wait()


def _is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False
