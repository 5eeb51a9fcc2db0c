"""The Prefect server that a run reports to: a running one, or a temporary one that ends with this process.

Prefect would start a temporary server by itself, which outlives a killed flow.
"""

import atexit
import base64
import contextlib
import os
import sys
import threading
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path

import psutil

from flows.pages.servers import Servers, choose_port, prefect_server
from flows.prefect_environment import CLIENT_SECRET, SECRET_FILE, SERVER_SECRET, adopt, read_secret
from tokenlab.core.errors import InputError, TokenlabError, one_line

ADDRESS = "PREFECT_API_URL"

_SECONDS_TO_ANSWER = 10.0
_SECONDS_BETWEEN_POLLS = 1.0
_SECONDS_WITHOUT_ANSWER = 60.0
_TEMPORARY = {
    "PREFECT_UI_ENABLED": "false",
    "PREFECT__SERVER_EPHEMERAL": "1",  # without the services that schedule runs
    "PREFECT__SERVER_FINAL": "1",
}


def connect(root: Path) -> Callable[[], None]:
    """Let this process report to the server that the user chose, or to a temporary one of its own.

    Before Prefect's flows are imported; that may happen while the server starts. The function returned waits until it
    is ready and raises TokenlabError where it does not start. If it ends before this process, or the chosen one does
    not answer for a minute, this process ends with a line: Prefect would ask it for ever. Raises InputError where the
    server that the user chose does not answer.
    """
    adopt(root)
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")  # the runner itself says what happens
    if url := _chosen_address():
        _require(url)
        _end_without(lambda: _check_there(url), f"no Prefect server has answered at {url} for a minute; start it, and")
        return lambda: None
    served = prefect_server(root, choose_port(None, 0))
    server = replace(served, name="Flow", environment=served.environment | _TEMPORARY)
    stack = contextlib.ExitStack()
    # At the very end, after Prefect has sent its last events and lines of the log: what registers last ends first.
    atexit.register(stack.close)
    servers = stack.enter_context(Servers(root))
    servers.start(server)
    # A password that the user set is that of another server.
    secret = read_secret(root)
    os.environ |= {ADDRESS: f"{server.address}/api", CLIENT_SECRET: secret, SERVER_SECRET: secret}
    from prefect.context import refresh_global_settings_context

    refresh_global_settings_context()

    def wait() -> None:
        servers.wait(lambda started: None)
        watching = _end_without(servers.check, "the temporary Prefect server has ended;")
        stack.callback(watching.set)  # before the servers end

    return wait


def _end_without(check: Callable[[], None], line: str) -> threading.Event:
    """End this process and its stages, with a line, once `check` of the server raises TokenlabError; until the event
    returned is set."""
    ending = threading.Event()

    def watch() -> None:
        while not ending.wait(_SECONDS_BETWEEN_POLLS):
            try:
                check()
            except TokenlabError:
                if not ending.is_set():
                    print(f"flows: {line} `python -m flows run` continues from here", file=sys.stderr, flush=True)
                    for child in psutil.Process().children(recursive=True):
                        with contextlib.suppress(psutil.NoSuchProcess):
                            child.kill()
                    os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    return ending


def _check_there(url: str) -> None:
    """Raises TokenlabError where no server answers within a minute."""
    deadline = time.monotonic() + _SECONDS_WITHOUT_ANSWER
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, HTTPException):
            _ask(url)
            return
        time.sleep(_SECONDS_BETWEEN_POLLS)
    raise TokenlabError(f"no server answers at {url}")


def _ask(url: str) -> None:
    """Raises OSError, HTTPException or ValueError where no server answers there, or not to this process's password."""
    password = base64.b64encode(os.environ[CLIENT_SECRET].encode()).decode()
    request = urllib.request.Request(f"{url}/admin/version", headers={"Authorization": f"Basic {password}"})
    urllib.request.urlopen(request, timeout=_SECONDS_TO_ANSWER).close()


def _chosen_address() -> str:
    """The address in the environment, `.env`, Prefect's profiles or prefect.toml; empty where there is none.

    Prefect itself looks, by its own rules.
    """
    from prefect.settings import Settings

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "Failed to load profiles")
            return Settings().api.url or ""
    except Exception as error:  # of many kinds
        raise InputError(f"Prefect's settings: {one_line(error)}; `prefect config view` shows them") from None


def _require(url: str) -> None:
    """Raise InputError unless a server answers there, and to the password that this process would use."""
    try:
        _ask(url)
    except urllib.error.HTTPError as error:
        if error.code == HTTPStatus.UNAUTHORIZED:
            message = f"the server at {url} does not take the password in {SECRET_FILE}; set {CLIENT_SECRET}"
        else:
            message = f"{url} answers {error.code}; start Prefect's server, or unset the variable"
        raise InputError(f"{ADDRESS}: {message}") from None
    except (OSError, HTTPException, ValueError):
        raise InputError(f"{ADDRESS}: no server answers at {url}; start it, or unset the variable") from None
