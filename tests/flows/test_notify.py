"""Notifications of failed flows: a POST to an address, or input of a command; errors are only logged."""

import http.server
import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from flows import notify as notify_module
from flows.notify import ON_FAILURE, notify

FLOW = SimpleNamespace(name="tokenlab")
RUN = SimpleNamespace(name="sample", id=UUID(int=1), parameters={"preset": "sample"})
STATE = SimpleNamespace(name="Failed", message="1 of 5 stages failed")
MESSAGE = {
    "flow": "tokenlab",
    "run": "sample",
    "id": str(UUID(int=1)),
    "state": "Failed",
    "message": "1 of 5 stages failed",
    "parameters": {"preset": "sample"},
}


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[Any]]]:
    """The address of a server on loopback, and the JSON that it has received."""
    received: list[Any] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listener.server_port}/", received
        listener.shutdown()


def test_webhook_gets_the_message(webhook: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    address, received = webhook
    monkeypatch.setenv(ON_FAILURE, address)
    notify(FLOW, RUN, STATE)
    assert received == [MESSAGE]


def test_command_gets_the_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ON_FAILURE, f"cat > {tmp_path}/message.json")
    notify(FLOW, RUN, STATE)
    assert json.loads((tmp_path / "message.json").read_text()) == MESSAGE


@pytest.mark.parametrize("receiver", ["http://127.0.0.1:9/", "exit 3"])
def test_errors_are_logged(receiver: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv(ON_FAILURE, receiver)
    monkeypatch.setattr(notify_module, "flow_run_logger", lambda run, flow: logging.getLogger("test"))
    notify(FLOW, RUN, STATE)
    assert caplog.messages[0].startswith(f"{ON_FAILURE}: ")


def test_without_a_receiver_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ON_FAILURE, raising=False)
    notify(FLOW, RUN, STATE)
