"""A real Prefect server on a free port of loopback, with the settings of the project, and what reports to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import killing
from killing import Run
from toy_pipeline import PREFECT, write_files

from flows.pages import servers as pages
from flows.prefect_environment import read_secret

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient


class Server(NamedTuple):
    """A running server and the folder with its database and its password."""

    url: str
    home: Path

    def settings(self) -> dict[str, str]:
        """The environment of its clients and of the server itself; short polling intervals keep the tests short."""
        port = int(self.url.removesuffix("/api").rpartition(":")[2])
        return pages.prefect_server(self.home, port).environment | {
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


@contextmanager
def prefect_server(home: Path) -> Iterator[Server]:
    """A server that runs within the block, with its database in `home`."""
    write_files(home, {"prefect.toml": PREFECT})
    served = pages.prefect_server(home, pages.choose_port(None, 0))
    server = Server(f"{served.address}/api", home)
    settings = server.settings() | {"PYTHONPATH": str(killing.ROOT)}
    with pages.Servers(home) as servers:
        servers.start(replace(served, environment=settings))
        servers.wait(lambda started: None)
        yield server
