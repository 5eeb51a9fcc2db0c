"""Prefect's server under hostile requests: nobody but the user makes it do anything. And under many at once."""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hostile
import httpx
import killing
import psutil
import pytest
from killing import ROOT
from prefect_server import Server
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from flows.prefect_environment import read_secret

pytestmark = pytest.mark.slow

POOL = {
    "name": "hostile",
    "type": "process",
    "base_job_template": {"job_configuration": {"command": "touch /tmp/hostile"}, "variables": {}},
}
"""A pool whose worker would run a command of the sender's choosing."""


def test_hostile_requests_read_and_change_nothing(server: Server) -> None:
    secret = read_secret(server.home)
    hostile.assert_all_refused(f"{server.url}/work_pools/", secret, json.dumps(POOL), ("POST",))
    hostile.assert_all_refused(f"{server.url}/admin/settings", secret, methods=("GET",))
    with server.client() as client:
        assert "hostile" not in [pool.name for pool in client.read_work_pools()]


def test_no_other_page_may_send_requests(server: Server) -> None:
    port = httpx.URL(server.url).port or 0
    for origin in ("null", f"http://127.0.0.1:{port + 1}"):
        assert "access-control-allow-origin" not in hostile.preflight(f"{server.url}/work_pools/", origin).headers
    own = f"http://localhost:{port}"
    assert hostile.preflight(f"{server.url}/work_pools/", own).headers["access-control-allow-origin"] == own


SOCKETS = [
    "events/in",
    "events/out",
    "logs/out",
    "task_runs/subscriptions/scheduled",
    "work_pools/local/workers/connect",
]


def open_socket(server: Server, path: str, **options: Any) -> ClientConnection:
    address = f"{server.url.replace('http', 'ws', 1)}/{path}"
    return connect(address, subprotocols=[Subprotocol("prefect")], proxy=None, **options)


@pytest.mark.parametrize("path", SOCKETS)
def test_sockets_need_the_password_and_are_closed_to_other_pages(server: Server, path: str) -> None:
    with open_socket(server, path) as socket:
        socket.send(json.dumps({"type": "auth", "token": read_secret(server.home)}))
        assert "auth_success" in str(socket.recv(timeout=60))
    with open_socket(server, path) as socket, pytest.raises(ConnectionClosed):  # the handshake itself succeeds
        socket.send(json.dumps({"type": "auth", "token": "tokenlab:guessed"}))
        while True:
            assert "auth_success" not in str(socket.recv(timeout=60))
    with pytest.raises(InvalidStatus) as refused:
        open_socket(server, path, origin=hostile.EVIL)
    assert refused.value.response.status_code == 403


def test_many_writers_wait_for_each_other(server: Server) -> None:
    """None is turned away with "database is locked", which is 503 to a client that does not try again by itself."""

    def write(number: int) -> list[int]:
        with friend(server, f"writer-{number}") as client:
            flow = client.post("flows/", json={"name": f"writer-{number}"}).json()["id"]
            run = {"flow_id": flow, "state": {"type": "PENDING"}}
            beat = {"name": f"writer-{number}"}
            requests = [("flow_runs/", run), ("work_pools/beating/workers/heartbeat", beat)] * 3
            return [client.post(path, json=content).status_code for path, content in requests]

    with friend(server, "maker") as client:
        assert client.post("work_pools/", json={"name": "beating", "type": "process"}).status_code == 201
    with ThreadPoolExecutor(8) as pool:
        statuses = [status for found in pool.map(write, range(8)) for status in found]
    assert set(statuses) == {201, 204}


@contextmanager
def friend(server: Server, name: str) -> Iterator[httpx.Client]:
    """A client that knows the password, and tries nothing twice."""
    user, _, password = read_secret(server.home).partition(":")
    with httpx.Client(auth=(user, password), base_url=server.url, timeout=300, trust_env=False) as client:
        token = client.get("csrf-token", params={"client": name}).json()["token"]
        client.headers.update({"Prefect-Csrf-Token": token, "Prefect-Csrf-Client": name})
        yield client


def test_temporary_server_needs_the_password(fresh: Path) -> None:
    """The one that a run starts for itself, also where the user has the password of another server."""
    started = killing.start(["env", "PREFECT_API_AUTH_STRING=other:server", *killing.RUNNER, "--to", "first"], fresh)

    def addresses() -> list[str]:
        ports = {port for child in started.process.children(recursive=True) for port in ports_of(child)}
        return [f"http://127.0.0.1:{port}/api" for port in ports if answers(f"http://127.0.0.1:{port}/api/health")]

    killing.wait_until(lambda: bool(addresses()) or started.process.poll() is not None, seconds=300)
    found = addresses()
    assert found, started.output()
    for address in found:
        hostile.assert_all_refused(f"{address}/work_pools/", read_secret(fresh), json.dumps(POOL), ("POST",))
    assert started.finish() == 0, started.output()


def ports_of(process: psutil.Process) -> list[int]:
    """The ports at which a process listens."""
    try:
        return [item.laddr.port for item in process.net_connections("tcp") if item.status == psutil.CONN_LISTEN]
    except psutil.Error:
        return []


def answers(address: str) -> bool:
    try:
        return httpx.get(address, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


def test_plain_commands_refuse_to_start_without_a_password(tmp_path: Path) -> None:
    (tmp_path / "prefect.toml").symlink_to(ROOT / "prefect.toml")
    command = ["env", "-u", "PREFECT_SERVER_API_AUTH_STRING", sys.executable, "-m", "prefect", "config", "view"]
    status, output = killing.run(command, tmp_path)
    assert status != 0 and "flows.prefect_environment" in output
    secret = read_secret(tmp_path)
    status, output = killing.run([*command, "--show-secrets"], tmp_path)
    assert status == 0 and f"PREFECT_SERVER_API_AUTH_STRING='{secret}'" in output
