"""Prefect's server under hostile requests: nobody but the user makes it do anything. And under many at once."""

import json
import stat
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any

import hostile
import httpx
import killing
import psutil
import pytest
from killing import PROJECT
from prefect_server import Server
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from flows.prefect_environment import SECRET_FILE, environment, read_secret
from tokenlab.core.errors import InputError

POOL = {
    "name": "hostile",
    "type": "process",
    "base_job_template": {"job_configuration": {"command": "touch /tmp/hostile"}, "variables": {}},
}
"""A pool whose worker would run a command of the sender's choosing."""


def port_of(server: Server) -> int:
    return int(httpx.URL(server.url).port or 0)


def test_hostile_requests_change_nothing(server: Server) -> None:
    secret = read_secret(server.home)
    for request in hostile.requests(port_of(server)):
        answer = hostile.send("POST", f"{server.url}/work_pools/", request, secret, json.dumps(POOL))
        hostile.assert_refused(request, answer)
        assert "access-control-allow-origin" not in answer.headers, request
    with server.client() as client:
        assert "hostile" not in [pool.name for pool in client.read_work_pools()]


def test_hostile_requests_read_nothing(server: Server) -> None:
    for request in hostile.requests(port_of(server)):
        answer = hostile.send("GET", f"{server.url}/admin/settings", request, read_secret(server.home))
        hostile.assert_refused(request, answer)
        assert "access-control-allow-origin" not in answer.headers, request


def test_no_other_page_may_send_requests(server: Server) -> None:
    for origin in (hostile.EVIL, "null", f"http://127.0.0.1:{port_of(server) + 1}"):
        assert "access-control-allow-origin" not in hostile.preflight(f"{server.url}/work_pools/", origin).headers
    own = f"http://localhost:{port_of(server)}"
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
def test_sockets_need_the_password(server: Server, path: str) -> None:
    with open_socket(server, path) as socket:
        socket.send(json.dumps({"type": "auth", "token": read_secret(server.home)}))
        assert "auth_success" in str(socket.recv(timeout=60))
    with open_socket(server, path) as socket, pytest.raises(ConnectionClosed):  # the handshake itself succeeds
        socket.send(json.dumps({"type": "auth", "token": "tokenlab:guessed"}))
        while True:
            assert "auth_success" not in str(socket.recv(timeout=60))


@pytest.mark.parametrize("path", SOCKETS)
def test_sockets_are_closed_to_other_pages(server: Server, path: str) -> None:
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


@pytest.mark.slow
def test_temporary_server_needs_the_password(fresh: Path) -> None:
    """The one that `python -m flows run` starts for itself, also where the user has the password of another server."""
    started = killing.start(["env", "PREFECT_API_AUTH_STRING=other:server", *killing.RUNNER], fresh)

    def addresses() -> list[str]:
        ports = {port for child in started.process.children(recursive=True) for port in ports_of(child)}
        return [f"http://127.0.0.1:{port}/api" for port in ports if answers(f"http://127.0.0.1:{port}/api/health")]

    killing.wait_until(lambda: bool(addresses()) or started.process.poll() is not None, seconds=300)
    found = addresses()
    assert found, started.output()
    for address in found:
        for request in hostile.requests(int(httpx.URL(address).port or 0)):
            answer = hostile.send("POST", f"{address}/work_pools/", request, read_secret(fresh), json.dumps(POOL))
            hostile.assert_refused(request, answer)
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


def test_secret_is_made_once_and_for_the_user_alone(tmp_path: Path) -> None:
    first = read_secret(tmp_path)
    user, _, password = first.partition(":")
    assert user == "tokenlab" and len(password) > 40
    assert stat.S_IMODE((tmp_path / SECRET_FILE).stat().st_mode) == 0o600
    (tmp_path / SECRET_FILE).chmod(0o644)
    assert read_secret(tmp_path) == first
    assert stat.S_IMODE((tmp_path / SECRET_FILE).stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [tmp_path / SECRET_FILE]
    assert stat.S_IMODE(Path(environment(tmp_path)["PREFECT_HOME"]).stat().st_mode) == 0o700


def test_secret_joins_what_the_file_holds(tmp_path: Path) -> None:
    (tmp_path / SECRET_FILE).write_text("PREFECT_API_URL=http://127.0.0.1:4300/api\n")
    secret = read_secret(tmp_path)
    lines = (tmp_path / SECRET_FILE).read_text().splitlines()
    assert lines[0] == "PREFECT_API_URL=http://127.0.0.1:4300/api"
    assert lines[2:] == [f"PREFECT_API_AUTH_STRING={secret}", f"PREFECT_SERVER_API_AUTH_STRING={secret}"]


@pytest.mark.parametrize("line", ["PREFECT_API_AUTH_STRING=my:own", "PREFECT_SERVER_API_AUTH_STRING=my:own\n"])
def test_secret_of_the_user_stays(tmp_path: Path, line: str) -> None:
    """One of the two, which is then the other one as well."""
    (tmp_path / SECRET_FILE).write_text(line)
    assert read_secret(tmp_path) == "my:own"
    text = (tmp_path / SECRET_FILE).read_text()
    assert text.startswith(line) and text.count("PREFECT_API_AUTH_STRING=my:own\n") == 1
    assert text.count("PREFECT_SERVER_API_AUTH_STRING=my:own\n") == 1


def test_secret_of_the_servers_is_theirs(tmp_path: Path) -> None:
    """Where the clients have that of another server."""
    (tmp_path / SECRET_FILE).write_text("PREFECT_API_AUTH_STRING=a:b\nPREFECT_SERVER_API_AUTH_STRING=c:d\n")
    assert read_secret(tmp_path) == "c:d"
    assert environment(tmp_path)["PREFECT_API_AUTH_STRING"] == "a:b"


@pytest.mark.parametrize("before", [None, "# mine\nPREFECT_LOGGING_LEVEL=DEBUG\n"])
def test_secret_is_the_same_for_all_who_need_it_first(tmp_path: Path, before: str | None) -> None:
    for number in range(5):
        root = tmp_path / str(number)
        root.mkdir()
        if before is not None:
            (root / SECRET_FILE).write_text(before)
        at_once = Barrier(8)
        with ThreadPoolExecutor(8) as pool:
            found = set(
                pool.map(lambda _, root=root, at_once=at_once: at_once.wait() >= 0 and read_secret(root), range(8))
            )
        text = (root / SECRET_FILE).read_text()
        assert found == {read_secret(root)} and text.startswith(before or "") and text.count("AUTH_STRING=") == 2


@pytest.mark.parametrize(("content", "message"), [(b"PREFECT_API_AUTH_STRING=a\n", "no colon"), (b"\xff\n", "UTF-8")])
def test_files_without_a_usable_secret_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / SECRET_FILE).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_secret(tmp_path)


def test_secret_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("PREFECT_API_AUTH_STRING=a:b\nPREFECT_SERVER_API_AUTH_STRING=a:b\n")
    (tmp_path / SECRET_FILE).symlink_to(tmp_path / "theirs")
    with pytest.raises(InputError, match="must be a plain file of your own"):
        read_secret(tmp_path)


@pytest.mark.slow
def test_plain_commands_refuse_to_start_without_a_password(tmp_path: Path) -> None:
    (tmp_path / "prefect.toml").symlink_to(PROJECT / "prefect.toml")
    command = ["env", "-u", "PREFECT_SERVER_API_AUTH_STRING", sys.executable, "-m", "prefect", "config", "view"]
    status, output = killing.run(command, tmp_path)
    assert status != 0 and "flows.prefect_environment" in output
    secret = read_secret(tmp_path)
    status, output = killing.run([*command, "--show-secrets"], tmp_path)
    assert status == 0 and f"PREFECT_SERVER_API_AUTH_STRING='{secret}'" in output
