"""Which server a run reports to: the one that the user chose, wherever it is written, with the user's settings."""

import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import killing
import pytest

from flows.prefect_environment import SECRET_FILE, adopt, read_secret
from flows.server import connect
from tokenlab.core.errors import InputError

NOBODY = "http://127.0.0.1:9/api"
PROFILES = f"""active = "here"
[profiles.here]
[profiles.there]
PREFECT_API_URL = "{NOBODY}"
"""


@pytest.fixture(autouse=True)
def _environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In the workspace, without Prefect's settings; the environment is as it was at the end."""
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ)
    for name in before:
        if name.startswith("PREFECT_") or name.lower().endswith("_proxy"):
            del os.environ[name]
    yield
    os.environ.clear()
    os.environ.update(before)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    "files",
    [
        {SECRET_FILE: f"PREFECT_API_URL={NOBODY}\n"},
        {"prefect.toml": f'[api]\nurl = "{NOBODY}"\n'},
        {".prefect/profiles.toml": PROFILES, SECRET_FILE: "PREFECT_PROFILE=there\n"},
    ],
    ids=[".env", "prefect.toml", "profile"],
)
def test_chosen_server_is_used(tmp_path: Path, files: dict[str, str]) -> None:
    """Here nobody answers there, and no server is started instead."""
    for name, text in files.items():
        write(tmp_path / name, text)
    with pytest.raises(InputError, match=f"no server answers at {NOBODY}"):
        connect(tmp_path)


def test_environment_counts_before_files(tmp_path: Path) -> None:
    write(tmp_path / SECRET_FILE, "PREFECT_API_URL=http://127.0.0.1:7/api\n")
    os.environ["PREFECT_API_URL"] = NOBODY
    with pytest.raises(InputError, match=f"no server answers at {NOBODY}"):
        connect(tmp_path)


def test_damaged_profiles_are_one_line(tmp_path: Path) -> None:
    write(tmp_path / ".prefect/profiles.toml", "active = \n")
    with pytest.raises(InputError, match=r"Prefect's settings: .*profiles.toml.*; `prefect config view`"):
        connect(tmp_path)


def test_settings_of_the_user_stay(tmp_path: Path) -> None:
    write(tmp_path / SECRET_FILE, "PREFECT_CLIENT_MAX_RETRIES=3\nPREFECT_LOGGING_LEVEL=DEBUG\nMINE=1\n")
    os.environ["PREFECT_API_AUTH_STRING"] = "other:server"
    adopt(tmp_path)
    assert os.environ["PREFECT_API_AUTH_STRING"] == "other:server"
    assert os.environ["PREFECT_SERVER_API_AUTH_STRING"] == read_secret(tmp_path)
    assert (os.environ["PREFECT_CLIENT_MAX_RETRIES"], os.environ["PREFECT_LOGGING_LEVEL"]) == ("3", "DEBUG")
    assert "MINE" not in os.environ


class Proxy(BaseHTTPRequestHandler):
    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_error(502)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.mark.parametrize("given", ["", "example.org"])
def test_password_goes_through_no_proxy(tmp_path: Path, given: str) -> None:
    """Neither that of this process, which asks with urllib, nor that of Prefect's client."""
    with HTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{proxy.server_port}"
        os.environ |= {"http_proxy": address, "HTTP_PROXY": address, "all_proxy": address, "NO_PROXY": given}
        os.environ["PREFECT_API_URL"] = NOBODY
        with pytest.raises(InputError, match="no server answers"):
            connect(tmp_path)
        script = f"import httpx; httpx.get({NOBODY!r})"
        status, output = killing.run([sys.executable, "-c", script], tmp_path)
        assert status != 0 and "ConnectError" in output
        proxy.shutdown()
    assert Proxy.seen == [] and (os.environ["NO_PROXY"].split(",")[0] == "example.org") == bool(given)
