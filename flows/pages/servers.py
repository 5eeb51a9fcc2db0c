"""The servers of the pages, all on loopback: Prefect, MLflow and the reports, each a process behind a password.

    with Servers(root) as servers:
        servers.start(mlflow_server(root, port))
        servers.wait(print)

They end with the block, and with this process, however it ends (`flows.pages.session`).
"""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

from flows.prefect_environment import HOST, environment, origins, read_secret
from flows.run.processes import requests_to_end
from tokenlab.core.errors import InputError, ParameterError, TokenlabError

MLFLOW_ADDRESS = "TOKENLAB_MLFLOW_ADDRESS"
"""Environment variable of the server of the reports: where MLflow is served beside it."""

_SECONDS_TO_START = 600.0
_SECONDS_TO_END = 5.0
_SECONDS_BETWEEN_POLLS = 0.2
_LINES_SHOWN = 5


@dataclass(frozen=True)
class Server:
    """A command that serves `address`, and the address that answers once it is ready."""

    name: str
    address: str
    probe: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    secret: str = ""
    """`USER:PASSWORD` that the probe needs."""


class Servers:
    """Servers that run together. Each writes its log to the folder `.work/servers`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._running: list[tuple[Server, subprocess.Popen[bytes], int]] = []

    def __enter__(self) -> "Servers":
        return self

    def __exit__(self, *exception: object) -> None:
        """Ask all servers to end, and kill those that do not within a few seconds."""
        for _, process, _ in self._running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + _SECONDS_TO_END
        for _, process, pipe in self._running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            finally:
                os.close(pipe)
                _kill_group(process)

    def start(self, server: Server) -> None:
        """Start a server; `wait` waits until it is ready."""
        reading, writing = os.pipe()
        try:
            log = self._log(server)
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("wb") as output:
                process = subprocess.Popen(
                    [sys.executable, "-m", "flows.pages.session", str(reading), *server.command],
                    cwd=self._root,
                    env=os.environ | server.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    pass_fds=[reading],
                    start_new_session=True,
                )
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        self._running.append((server, process, writing))

    def wait(self, ready: Callable[[Server], None]) -> None:
        """Call `ready` for each server once it answers; return when all do.

        Raises TokenlabError where a server ends, with its last lines, and where one does not answer.
        """
        deadline = time.monotonic() + _SECONDS_TO_START
        waiting = [server for server, _, _ in self._running]
        while waiting:
            self.check()
            for server in [server for server in waiting if _answers(server)]:
                waiting.remove(server)
                ready(server)
            if waiting and time.monotonic() > deadline:
                raise TokenlabError(
                    f"{waiting[0].name} does not answer at {waiting[0].address}; see {self._log(waiting[0])}"
                )
            time.sleep(_SECONDS_BETWEEN_POLLS)

    def check(self) -> None:
        """Raise TokenlabError if a server has ended."""
        for server, process, _ in self._running:
            if process.poll() is not None:
                lines = self._log(server).read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES_SHOWN:]
                raise TokenlabError(f"{server.name} ended ({process.returncode}): {' | '.join(lines)}")

    def until_interrupted(self) -> None:
        """Return when this process is asked to end (Control-C, SIGTERM, SIGHUP). Raises as `check` does."""
        try:
            while True:
                self.check()
                time.sleep(_SECONDS_BETWEEN_POLLS)
        except KeyboardInterrupt:
            return

    def _log(self, server: Server) -> Path:
        return self._root / ".work" / "servers" / f"{server.name.lower()}.log"


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process group of a server, which exists as long as any of its processes, even without the leader."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def interrupt_on_signals() -> None:
    """Let every request to end raise KeyboardInterrupt, as Control-C does."""
    for number in requests_to_end():
        signal.signal(number, signal.default_int_handler)


_OPENER = build_opener(ProxyHandler({}))
"""Without a proxy: all addresses are on loopback."""


def ask(server: Server, path: str = "", content: Any = None) -> bytes:
    """The answer of a server to GET, or to POST with `content` as JSON. path: by default the probe. Raises OSError."""
    data = None if content is None else json.dumps(content).encode()
    headers = {"Content-Type": "application/json"}
    if server.secret:
        headers["Authorization"] = "Basic " + base64.b64encode(server.secret.encode()).decode()
    address = server.address + path if path else server.probe
    with _OPENER.open(Request(address, data, headers), timeout=30) as answer:
        return bytes(answer.read())


def _answers(server: Server) -> bool:
    try:
        ask(server)
    except OSError:
        return False
    return True


def choose_port(given: int | None, usual: int) -> int:
    """The given port, else the usual port if it is free, else any. Raises ParameterError if the given port is taken."""
    for port in [given] if given is not None else [usual, 0]:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise ParameterError(f"port {given} is taken; name another one, or leave the option out for a free one")


def mlflow_server(root: Path, port: int) -> Server:
    """MLflow with the project's store. Raises InputError if nothing has been tracked."""
    if not (root / ".mlflow" / "mlruns.db").exists():
        raise InputError("nothing is in MLflow yet; `make repro` runs the pipeline and tracks its results")
    hosts = [origin.removeprefix("http://") for origin in origins(port)]
    settings = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "1",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # seven more processes, 1 GB
        "MLFLOW_SERVER_ALLOWED_HOSTS": ",".join(hosts),
        "MLFLOW_SERVER_CORS_ALLOWED_ORIGINS": ",".join(origins(port)),
    }
    return _application(root, "MLflow", "flows.pages.mlflow_app:create", port, settings)


def reports_server(root: Path, port: int, mlflow: Server | None = None) -> Server:
    """The reports below `reports/`, with an index of the presets and of what MLflow compares."""
    settings = {MLFLOW_ADDRESS: mlflow.address} if mlflow else {}
    return _application(root, "Reports", "flows.pages.reports_app:create", port, settings)


def _application(root: Path, name: str, factory: str, port: int, settings: dict[str, str], probe: str = "") -> Server:
    address = f"http://{HOST}:{port}"
    command = [sys.executable, "-m", "uvicorn", "--factory", factory, "--host", HOST, "--port", str(port)]
    return Server(name, address, address + probe, [*command, "--no-server-header"], settings, read_secret(root))


def prefect_server(root: Path, port: int) -> Server:
    """Prefect with the runs of this project in `.prefect`."""
    # Without an address of its own, the page expects its server at the default port.
    settings = environment(root, port) | {"PREFECT_SERVER_UI_API_URL": f"http://{HOST}:{port}/api"}
    return _application(root, "Prefect", "flows.pages.prefect_app:create", port, settings, probe="/api/health")
