"""Which server a run reports to: the one that the user chose, wherever it is written, with the user's settings; and the
secret that server and clients share."""

import os
import stat
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import httpx
import killing
import pytest
import toy_pipeline
from loopback import Web

from flows.prefect_environment import SECRET_FILE, adopt, environment, read_secret
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
    toy_pipeline.write_files(tmp_path, files)
    with pytest.raises(InputError, match=f"no server answers at {NOBODY}"):
        connect(tmp_path)


def test_environment_counts_before_files(tmp_path: Path) -> None:
    (tmp_path / SECRET_FILE).write_text(
        "PREFECT_API_URL=http://127.0.0.1:7/api\nPREFECT_CLIENT_MAX_RETRIES=3\nPREFECT_LOGGING_LEVEL=DEBUG\nMINE=1\n"
    )
    os.environ |= {"PREFECT_API_URL": NOBODY, "PREFECT_API_AUTH_STRING": "other:server"}
    with pytest.raises(InputError, match=f"no server answers at {NOBODY}"):
        connect(tmp_path)
    adopt(tmp_path)
    assert os.environ["PREFECT_API_AUTH_STRING"] == "other:server"
    assert os.environ["PREFECT_SERVER_API_AUTH_STRING"] == read_secret(tmp_path)
    assert (os.environ["PREFECT_CLIENT_MAX_RETRIES"], os.environ["PREFECT_LOGGING_LEVEL"]) == ("3", "DEBUG")
    assert "MINE" not in os.environ


def test_damaged_profiles_are_one_line(tmp_path: Path) -> None:
    toy_pipeline.write_files(tmp_path, {".prefect/profiles.toml": "active = \n"})
    with pytest.raises(InputError, match=r"settings: .*profiles.toml"):
        connect(tmp_path)


def test_password_goes_through_no_proxy(tmp_path: Path) -> None:
    """Neither that of this process, which asks with urllib, nor that of Prefect's client."""
    with closing(Web()) as proxy:
        os.environ |= dict.fromkeys(["http_proxy", "HTTP_PROXY", "all_proxy"], proxy.base)
        os.environ["NO_PROXY"] = "example.org"
        os.environ["PREFECT_API_URL"] = NOBODY
        with pytest.raises(InputError, match="no server answers"):
            connect(tmp_path)
        with pytest.raises(httpx.ConnectError):
            httpx.get(NOBODY)
    assert proxy.requests == [] and os.environ["NO_PROXY"].split(",")[0] == "example.org"


SERVER_THAT_DIES = """
import os, sys, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
import flows.server

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass

flows.server._SECONDS_WITHOUT_ANSWER = 0.5
flows.server._SECONDS_BETWEEN_POLLS = 0.1
server = HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{server.server_port}/api"
flows.server.connect(Path.cwd())()
time.sleep(1.5)
print("still at work", flush=True)
server.shutdown()
server.server_close()
time.sleep(600)
"""


def test_a_run_ends_without_the_chosen_server(tmp_path: Path) -> None:
    status, output = killing.run([sys.executable, "-c", SERVER_THAT_DIES], tmp_path)
    first, last = output.splitlines()
    assert (status, first) == (1, "still at work")
    assert last.startswith("flows: ") and "no Prefect server" in last and "http://127.0.0.1:" in last


def test_secret_is_made_once_and_for_the_user_alone(tmp_path: Path) -> None:
    first = read_secret(tmp_path)
    user, _, password = first.partition(":")
    assert user == "tokenlab" and len(password) > 40
    assert stat.S_IMODE((tmp_path / SECRET_FILE).stat().st_mode) == 0o600
    (tmp_path / SECRET_FILE).chmod(0o644)
    assert read_secret(tmp_path) == first
    assert stat.S_IMODE((tmp_path / SECRET_FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(environment(tmp_path)["PREFECT_HOME"]).stat().st_mode) == 0o700
    ignored = (killing.ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert f"/{SECRET_FILE}" in ignored and "/.prefect/" in ignored


@pytest.mark.parametrize(
    "line", ["PREFECT_API_AUTH_STRING=my:own", "PREFECT_API_URL=x\nPREFECT_SERVER_API_AUTH_STRING=my:own\n"]
)
def test_secret_of_the_user_stays(tmp_path: Path, line: str) -> None:
    """One of the two, which is then the other one as well, or both; and whatever else the file holds."""
    (tmp_path / SECRET_FILE).write_text(line)
    assert read_secret(tmp_path) == "my:own"
    text = (tmp_path / SECRET_FILE).read_text()
    assert text.startswith(line) and text.count("PREFECT_API_AUTH_STRING=my:own\n") == 1
    assert text.count("PREFECT_SERVER_API_AUTH_STRING=my:own\n") == 1
    (tmp_path / SECRET_FILE).write_text("PREFECT_API_AUTH_STRING=a:b\nPREFECT_SERVER_API_AUTH_STRING=c:d\n")
    assert read_secret(tmp_path) == "c:d" and environment(tmp_path)["PREFECT_API_AUTH_STRING"] == "a:b"


def test_secret_is_the_same_for_all_who_need_it_first(tmp_path: Path) -> None:
    for number in range(5):
        root = tmp_path / str(number)
        root.mkdir()
        at_once = Barrier(8)
        with ThreadPoolExecutor(8) as pool:
            found = set(
                pool.map(lambda _, root=root, at_once=at_once: at_once.wait() >= 0 and read_secret(root), range(8))
            )
        assert found == {read_secret(root)} and (root / SECRET_FILE).read_text().count("AUTH_STRING=") == 2


@pytest.mark.parametrize(("content", "message"), [(b"PREFECT_API_AUTH_STRING=a\n", "no colon"), (b"\xff\n", "UTF-8")])
def test_files_without_a_usable_secret_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / SECRET_FILE).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_secret(tmp_path)


def test_secret_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("PREFECT_API_AUTH_STRING=a:b\nPREFECT_SERVER_API_AUTH_STRING=a:b\n")
    (tmp_path / SECRET_FILE).symlink_to(tmp_path / "theirs")
    with pytest.raises(InputError, match="plain file"):
        read_secret(tmp_path)
