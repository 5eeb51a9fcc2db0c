"""The servers of the pages, all on loopback: Prefect, MLflow and the reports, each a process behind a password.

    with Servers(root) as servers:
        servers.start(mlflow_server(root, port))
        servers.wait(print)

They end with the block, and with this process, however it ends (`flows.pages.applications`).
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import ProxyHandler, Request, build_opener

from flows.prefect_environment import HOST, environment, origins, read_secret
from flows.tracking import DATABASE
from flows.tracking.mlflow_pages import question_pages
from tokenlab.core.errors import InputError, ParameterError, TokenlabError
from tokenlab.core.parent_death import PARENT

MLFLOW_ADDRESS = "TOKENLAB_MLFLOW_ADDRESS"
"""Environment variable of the server of the reports: where MLflow is served beside it."""

_SECONDS_TO_START = 600.0
_SECONDS_TO_END = 5.0
_SECONDS_BETWEEN_POLLS = 0.2
_LINES_SHOWN = 5


@dataclass(frozen=True)
class Server:
    """An application of `flows.pages.applications` at `address`. It is ready once the path `probe` answers."""

    name: str
    address: str
    secret: str
    """`USER:PASSWORD`."""
    environment: dict[str, str]
    probe: str = "/"


class Servers:
    """Servers that run together. Each writes its log to the folder `.work/servers`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._running: list[tuple[Server, subprocess.Popen[bytes]]] = []

    def __enter__(self) -> "Servers":
        return self

    def __exit__(self, *exception: object) -> None:
        """Ask all servers to end, and kill those that do not within a few seconds."""
        for _, process in self._running:
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + _SECONDS_TO_END
        for _, process in self._running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, server: Server) -> None:
        """Start a server; `wait` waits until it is ready."""
        log = self._log(server)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "flows.pages.applications", server.name, server.address.rpartition(":")[2]],
                cwd=self._root,
                env=os.environ | server.environment | {PARENT: str(os.getpid())},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._running.append((server, process))

    def wait(self, ready: Callable[[Server], None]) -> None:
        """Call `ready` for each server once it answers; return when all do.

        Raises TokenlabError where a server ends, with its last lines, and where one does not answer.
        """
        deadline = time.monotonic() + _SECONDS_TO_START
        waiting = [server for server, _ in self._running]
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
        for server, process in self._running:
            if process.poll() is not None:
                lines = self._log(server).read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES_SHOWN:]
                raise TokenlabError(f"{server.name} ended ({process.returncode}): {' | '.join(lines)}")

    def watch(self) -> None:
        """Check until a server ends; raises as `check` does."""
        while True:
            self.check()
            time.sleep(_SECONDS_BETWEEN_POLLS)

    def _log(self, server: Server) -> Path:
        return self._root / ".work" / "servers" / f"{server.name.lower()}.log"


_OPENER = build_opener(ProxyHandler({}))
"""Without a proxy: all addresses are on loopback."""


def ask(server: Server, path: str = "", content: Any = None) -> bytes:
    """The answer of a server to GET, or to POST with `content` as JSON. path: by default the probe. Raises OSError."""
    data = None if content is None else json.dumps(content).encode()
    password = base64.b64encode(server.secret.encode()).decode()
    headers = {"Content-Type": "application/json", "Authorization": f"Basic {password}"}
    with _OPENER.open(Request(server.address + (path or server.probe), data, headers), timeout=30) as answer:
        return bytes(answer.read())


def _answers(server: Server) -> bool:
    try:
        ask(server)
    except OSError:
        return False
    return True


class Question(NamedTuple):
    """An experiment of MLflow: its name, the question, and the addresses of its pages."""

    name: str
    title: str
    variants: str
    charts: str
    runs: str


def ask_questions(mlflow: Server) -> list[Question]:
    """The questions in the order in which they were first tracked. Raises OSError where MLflow does not answer."""
    answer = json.loads(ask(mlflow, "/api/2.0/mlflow/experiments/search", {"max_results": 1000}))
    found = []
    for experiment in answer["experiments"]:
        tags = {tag["key"]: tag["value"] for tag in experiment.get("tags", [])}
        if "question" in tags:
            title = tags.get("mlflow.note.content", experiment["name"]).partition("\n")[0]
            found.append((int(experiment["experiment_id"]), tags["question"], title))
    return [
        Question(name, title, *question_pages(mlflow.address, str(number))) for number, name, title in sorted(found)
    ]


def choose_port(given: int | None, usual: int) -> int:
    """The given port, else the usual port if it is free, else any. Raises ParameterError if the given port is taken, or
    none."""
    if given is not None and not 0 <= given < 1 << 16:
        raise ParameterError(f"port {given} is none; they are from 0 to {(1 << 16) - 1}")
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
    if not (root / DATABASE).exists():
        raise InputError("nothing is in MLflow yet; `make repro` runs the pipeline and tracks its results")
    settings = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "1",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # seven more processes, 1 GB
    }
    return Server("MLflow", f"http://{HOST}:{port}", read_secret(root), settings)


def reports_server(root: Path, port: int, mlflow: Server | None = None) -> Server:
    """The reports below `reports/`, with an index of the presets and of what MLflow compares."""
    settings = {MLFLOW_ADDRESS: mlflow.address} if mlflow else {}
    return Server("Reports", f"http://{HOST}:{port}", read_secret(root), settings)


def prefect_server(root: Path, port: int) -> Server:
    """Prefect with the runs of this project in `.prefect`."""
    settings = environment(root) | {
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(origins(port)),
        # Without an address of its own, the page expects its server at the default port.
        "PREFECT_SERVER_UI_API_URL": f"http://{HOST}:{port}/api",
    }
    return Server("Prefect", f"http://{HOST}:{port}", read_secret(root), settings, probe="/api/health")
