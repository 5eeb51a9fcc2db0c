"""A headless Chromium that opens pages of local servers and reads their text.

with open_browser(folder) as browser:
    text = browser.read("http://127.0.0.1:5000/", until="Runs")
"""

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from hostile import basic
from killing import wait_until
from websockets.sync.client import ClientConnection, connect

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
    "--window-size=1900,1100",
)
_SECONDS = 180.0


class Browser:
    """One tab; `open_browser` makes it."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0

    def sign_in(self, secret: str) -> None:
        """Send `USER:PASSWORD` with every request from now on, as a browser does that was told it."""
        self._call("Network.enable")
        self._call("Network.setExtraHTTPHeaders", headers=basic(secret))

    def read(self, address: str, until: str) -> str:
        """Open a page and return its text once it contains `until`; fails if it never does."""
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=address)
        return self.wait(until)

    def wait(self, until: str) -> str:
        """Return the text of the page once it contains `until`; fails if it never does."""
        deadline = time.monotonic() + _SECONDS
        while until not in (text := str(self.evaluate("document.body ? document.body.innerText : ''"))):
            assert time.monotonic() < deadline, f"{self.evaluate('location.href')} does not show {until!r} but:\n{text}"
            time.sleep(0.3)
        return text

    def type(self, text: str) -> None:
        """Type a text where the cursor is."""
        self._call("Input.insertText", text=text)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        return self._call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=_SECONDS))
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]


@contextlib.contextmanager
def open_browser(folder: Path) -> Iterator[Browser]:
    """Start a browser with its files in `folder`; skips the test if no browser is installed."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip(f"no browser here: none of {', '.join(_NAMES)} is installed")
    profile = folder / "profile"
    process = subprocess.Popen(
        [program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        port_file = profile / "DevToolsActivePort"
        wait_until(lambda: process.poll() is not None or (port_file.exists() and port_file.read_text().strip()))
        assert process.poll() is None, "the browser does not start"
        port = port_file.read_text().split()[0]
        with urlopen(f"http://127.0.0.1:{port}/json") as answer:
            tab = next(tab for tab in json.load(answer) if tab["type"] == "page")
        with connect(tab["webSocketDebuggerUrl"], max_size=None, ping_interval=None) as socket:
            yield Browser(socket)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()
