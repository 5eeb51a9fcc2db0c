"""Transfers from a real server on the loopback that misbehaves on demand, through `fetch`."""

import gzip
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from archives import zipped
from killing import wait_until
from loopback import Web

from tokenlab.core.errors import SourceError
from tokenlab.sources.catalogue import Alternative, Catalogue, Source, SourceFile, load_catalogue
from tokenlab.sources.fetch import fetch
from tokenlab.sources.transfer import HttpOptions

BODY = random.Random(1).randbytes(2_000_000)
SHA = hashlib.sha256(BODY).hexdigest()
PROMPT = HttpOptions(connect_timeout=60, read_timeout=60, retries=2, backoff=0)
IMPATIENT = replace(PROMPT, read_timeout=1.0)
"""For a server that sends nothing more: what is waited for."""


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with closing(Web()) as web:
        yield web


def write_catalogue(path: Path, *alternatives: dict[str, Any], required: bool = True) -> Catalogue:
    """A catalogue with one source `corpus` of one file `a.txt`."""
    file = {"required": required, "alternatives": [{"kind": "official", **each} for each in alternatives]}
    source = {"title": "A corpus", "homepage": "https://example.org", "licence": "CC0", "research_only": False}
    entry = {**source, "format": "text", "files": {"a.txt": file}}
    path.write_text(yaml.safe_dump({"sources": {"corpus": entry}}))
    return load_catalogue(path)


def get(
    folder: Path, *alternatives: dict[str, Any], http: HttpOptions = PROMPT, limit: int = 1 << 30, required: bool = True
) -> dict[str, Any]:
    catalogue = write_catalogue(folder.parent / "catalogue.yaml", *alternatives, required=required)
    return fetch("corpus", folder, mirror=None, catalogue=catalogue, http=http, limit=limit, progress=False)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_fetched_once_and_recorded(web: Web, tmp_path: Path) -> None:
    web.files["/a.txt"] = BODY
    folder = tmp_path / "corpus"
    record = get(folder, {"url": f"{web.base}/a.txt", "sha256": SHA, "size": len(BODY)})
    assert (folder / "a.txt").read_bytes() == BODY
    assert names(folder) == ["SOURCE.json", "a.txt"]
    assert record["files"]["a.txt"]["fetched"] == record["files"]["a.txt"]["stored"]
    assert record["files"]["a.txt"]["stored"] == {"sha256": SHA, "size": len(BODY)}
    assert get(folder, {"url": f"{web.base}/a.txt", "sha256": SHA, "size": len(BODY)}) == record
    assert web.requests == [("/a.txt", None, 200)]


@pytest.mark.parametrize("trick", ["truncate", "stall"])
def test_a_broken_body_is_resumed_where_it_broke(web: Web, tmp_path: Path, trick: str) -> None:
    web.files["/a.txt"] = BODY
    web.tricks["/a.txt"] = [trick]
    get(tmp_path / "corpus", {"url": f"{web.base}/a.txt"}, http=IMPATIENT if trick == "stall" else PROMPT)
    assert (tmp_path / "corpus" / "a.txt").read_bytes() == BODY
    assert [status for _, _, status in web.requests] == [200, 206]
    assert web.sent < len(BODY) + 100_000  # at most one piece of the transfer is asked for twice


@pytest.mark.parametrize("status", ["500", "503", "429"])
def test_an_ailing_server_is_asked_again(web: Web, tmp_path: Path, status: str) -> None:
    web.files["/a.txt"] = BODY
    web.tricks["/a.txt"] = [status, status]
    get(tmp_path / "corpus", {"url": f"{web.base}/a.txt"})
    assert [answer for _, _, answer in web.requests] == [int(status), int(status), 200]


@pytest.mark.parametrize("status", ["404", "403", "401"])
def test_a_refusal_is_final_and_gives_way_to_the_next_address(web: Web, tmp_path: Path, status: str) -> None:
    web.files["/b.txt"] = BODY
    web.tricks["/a.txt"] = [status]
    record = get(tmp_path / "corpus", {"url": f"{web.base}/a.txt"}, {"url": f"{web.base}/b.txt"})
    assert [path for path, _, _ in web.requests] == ["/a.txt", "/b.txt"]
    assert record["files"]["a.txt"]["url"] == f"{web.base}/b.txt"


def test_the_error_names_every_attempt_and_the_remedy(web: Web, tmp_path: Path) -> None:
    web.tricks["/b.txt"] = ["500"] * 3
    with pytest.raises(SourceError) as caught:
        get(tmp_path / "corpus", {"mirror": "c/a.txt", "url": f"{web.base}/a.txt"}, {"url": f"{web.base}/b.txt"})
    assert str(caught.value) == (
        f"source corpus: a.txt cannot be found [no mirror folder is set; {web.base}/a.txt: HTTP 404; "
        f"{web.base}/b.txt: HTTP 500 (attempts: 3)]; "
        "set TOKENLAB_MIRROR to a folder that holds c/a.txt or connect to the network"
    )
    assert names(tmp_path / "corpus") == []


def test_an_absent_optional_file_is_recorded_as_missing(web: Web, tmp_path: Path) -> None:
    record = get(tmp_path / "corpus", {"url": f"{web.base}/a.txt"}, required=False)
    assert (record["files"], record["missing"]) == ({}, ["a.txt"])
    assert get(tmp_path / "corpus", {"url": f"{web.base}/a.txt"}, required=False) == record
    assert len(web.requests) == 1


def test_wrong_bytes_are_asked_for_again_and_then_an_error(web: Web, tmp_path: Path) -> None:
    web.files["/a.txt"] = web.files["/b.txt"] = BODY
    web.tricks["/a.txt"] = ["wrong"]
    get(tmp_path / "once", {"url": f"{web.base}/a.txt", "sha256": SHA})
    assert (tmp_path / "once" / "a.txt").read_bytes() == BODY

    for tricks in (["wrong", "wrong", "500"], ["wrong", "404"]):
        web.tricks["/a.txt"] = tricks
        with pytest.raises(SourceError) as caught:
            get(tmp_path / "corpus", {"url": f"{web.base}/a.txt", "sha256": SHA}, {"url": f"{web.base}/b.txt"})
        found = hashlib.sha256(BODY[::-1]).hexdigest()
        assert str(caught.value).startswith(f"{web.base}/a.txt: wrong bytes: expected sha256 {SHA}")
        assert found in str(caught.value)
    assert names(tmp_path / "corpus") == []
    assert "/b.txt" not in [path for path, _, _ in web.requests]
    with pytest.raises(SourceError, match=rf"7 bytes.*{SHA}"):
        get(tmp_path / "corpus", {"url": f"{web.base}/a.txt", "size": 7})


def test_an_endless_body_stops_at_the_limit(web: Web, tmp_path: Path) -> None:
    web.files["/a.txt"] = BODY
    with pytest.raises(SourceError, match="more than 1000000 bytes"):
        get(tmp_path / "corpus", {"url": f"{web.base}/a.txt"}, limit=1_000_000)
    assert names(tmp_path / "corpus") == []


def leave_half(web: Web, folder: Path, trick: str = "truncate") -> Path:
    """Let a first call break off in the middle and return the part that it left."""
    web.files["/a.txt"] = BODY
    web.tricks["/a.txt"] = [trick]
    with pytest.raises(SourceError, match="broken off"):
        get(folder, {"url": f"{web.base}/a.txt"}, http=HttpOptions(retries=0))
    (part,) = folder.iterdir()
    assert part.suffix == ".part" and 0 < part.stat().st_size < len(BODY)
    web.sent = 0
    web.requests.clear()
    return part


def test_the_next_call_resumes_the_part_of_the_last(web: Web, tmp_path: Path) -> None:
    kept = leave_half(web, tmp_path / "corpus").stat().st_size
    get(tmp_path / "corpus", {"url": f"{web.base}/a.txt"})
    assert (tmp_path / "corpus" / "a.txt").read_bytes() == BODY
    assert web.requests == [("/a.txt", f"bytes={kept - 1}-", 206)]
    assert web.sent == len(BODY) - kept + 1
    assert names(tmp_path / "corpus") == ["SOURCE.json", "a.txt"]


@pytest.mark.parametrize("size", [len(BODY), len(BODY) // 2, 3 * len(BODY)])
def test_a_file_that_has_changed_starts_over(web: Web, tmp_path: Path, size: int) -> None:
    leave_half(web, tmp_path / "corpus")
    web.files["/a.txt"] = random.Random(2).randbytes(size)
    get(tmp_path / "corpus", {"url": f"{web.base}/a.txt"})
    assert (tmp_path / "corpus" / "a.txt").read_bytes() == web.files["/a.txt"]
    assert names(tmp_path / "corpus") == ["SOURCE.json", "a.txt"]


def test_the_part_of_another_address_is_not_continued(web: Web, tmp_path: Path) -> None:
    leave_half(web, tmp_path / "corpus")
    web.files["/b.txt"] = BODY
    get(tmp_path / "corpus", {"url": f"{web.base}/b.txt"})
    assert web.requests == [("/b.txt", None, 200)]


@pytest.mark.parametrize(
    ("left", "trick", "statuses"),
    [
        ("truncate", "no ranges", [200]),
        ("truncate unlabelled", "unlabelled", [200]),  # without a strong validator nothing is resumed
        ("truncate weak", "weak", [200]),
        ("truncate", "short range", [206, 206]),
    ],
)
def test_servers_that_resume_badly_or_not_at_all(
    web: Web, tmp_path: Path, left: str, trick: str, statuses: list[int]
) -> None:
    leave_half(web, tmp_path / "corpus", left)
    web.tricks["/a.txt"] = [trick]
    get(tmp_path / "corpus", {"url": f"{web.base}/a.txt"})
    assert [status for _, _, status in web.requests] == statuses
    assert (tmp_path / "corpus" / "a.txt").read_bytes() == BODY


def test_redirects_are_followed_to_http_only(web: Web, tmp_path: Path) -> None:
    web.files["/b.txt"] = BODY
    web.tricks["/a.txt"] = ["to /b.txt"]
    get(tmp_path / "corpus", {"url": f"{web.base}/a.txt"})
    assert (tmp_path / "corpus" / "a.txt").read_bytes() == BODY
    for tricks in (["to file:///etc/passwd"], ["to /a.txt"] * 40):
        web.tricks["/a.txt"] = tricks
        with pytest.raises(SourceError, match="refused"):
            get(tmp_path / "other", {"url": f"{web.base}/a.txt"})


@pytest.mark.parametrize(("trick", "message"), [("encoded", "encoded as gzip"), ("206", "HTTP 206")])
def test_an_answer_to_another_question_is_refused(web: Web, tmp_path: Path, trick: str, message: str) -> None:
    web.files["/a.txt"] = BODY
    web.tricks["/a.txt"] = [trick]
    with pytest.raises(SourceError, match=message):
        get(tmp_path / "corpus", {"url": f"{web.base}/a.txt"})


def test_a_damaged_archive_leaves_no_part_to_trip_over(web: Web, tmp_path: Path) -> None:
    web.files["/a.txt.gz"] = gzip.compress(BODY)[:-20]
    with pytest.raises(SourceError, match=r"a\.txt\.gz: damaged"):
        get(tmp_path / "corpus", {"url": f"{web.base}/a.txt.gz"})
    assert names(tmp_path / "corpus") == []
    web.files["/a.txt.gz"] = gzip.compress(BODY)
    files = get(tmp_path / "corpus", {"url": f"{web.base}/a.txt.gz"})["files"]
    assert files["a.txt"]["fetched"]["size"] == len(web.files["/a.txt.gz"])
    assert files["a.txt"]["stored"]["sha256"] == SHA
    assert (tmp_path / "corpus" / "a.txt").read_bytes() == BODY


def test_an_archive_is_asked_for_once_for_all_its_members(web: Web, tmp_path: Path) -> None:
    url = f"{web.base}/data.zip"
    files = tuple(
        SourceFile(name, "sighan", (Alternative("official", url=url, member=f"data/{name}"),), required=False)
        for name in ("training.utf8", "test.utf8")
    )
    corpus = Source("corpus", "A corpus", "https://example.org", "CC0", False, "sighan", files)
    call = partial(fetch, "corpus", mirror=None, catalogue={"corpus": corpus}, http=PROMPT, progress=False)
    assert call(tmp_path / "none")["missing"] == ["test.utf8", "training.utf8"]
    web.files["/data.zip"] = zipped({f"data/{name}": name.encode() for name in ("training.utf8", "test.utf8")})
    assert call(tmp_path / "corpus")["missing"] == []
    assert (tmp_path / "corpus" / "test.utf8").read_text() == "test.utf8"
    assert names(tmp_path / "corpus") == ["SOURCE.json", "test.utf8", "training.utf8"]
    assert [status for _, _, status in web.requests] == [404, 200]


SCRIPT = """
import sys
from tokenlab.sources.catalogue import load_catalogue
from tokenlab.sources.fetch import fetch
if sys.argv[3] == "small disk":
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
fetch("corpus", sys.argv[2], mirror=None, catalogue=load_catalogue(sys.argv[1]))
"""


def run(web: Web, tmp_path: Path, url: str, how: str = "") -> "subprocess.Popen[str]":
    write_catalogue(tmp_path / "catalogue.yaml", {"url": f"{web.base}{url}"})
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "catalogue.yaml"), str(tmp_path / "corpus"), how]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_a_kill_leaves_at_most_a_part_which_is_resumed(web: Web, tmp_path: Path) -> None:
    web.files["/a.txt"] = BODY
    web.tricks["/a.txt"] = ["stall"]
    process = run(web, tmp_path, "/a.txt")
    folder = tmp_path / "corpus"
    wait_until(
        lambda: process.poll() is not None or any(part.stat().st_size > 500_000 for part in folder.glob("*.part"))
    )
    assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    (part,) = (tmp_path / "corpus").iterdir()
    assert part.suffix == ".part"
    web.sent = 0
    get(tmp_path / "corpus", {"url": f"{web.base}/a.txt"})
    assert (tmp_path / "corpus" / "a.txt").read_bytes() == BODY
    assert web.sent <= len(BODY) - 500_000
    assert names(tmp_path / "corpus") == ["SOURCE.json", "a.txt"]


@pytest.mark.parametrize(("url", "left"), [("/a.txt", []), ("/small.gz", [".part"])])
def test_a_disk_that_takes_no_more_is_an_os_error(web: Web, tmp_path: Path, url: str, left: list[str]) -> None:
    web.files = {"/a.txt": BODY, "/small.gz": gzip.compress(bytes(2_000_000))}
    process = run(web, tmp_path, url, "small disk")
    _, errors = process.communicate(timeout=300)
    assert "OSError: [Errno 27] File too large" in errors
    assert [path.suffix for path in (tmp_path / "corpus").iterdir()] == left


def test_two_at_once_fetch_once(web: Web, tmp_path: Path) -> None:
    web.files["/a.txt"] = BODY
    web.tricks["/a.txt"] = ["slow"]
    catalogue = write_catalogue(tmp_path / "c.yaml", {"url": f"{web.base}/a.txt"})
    call = partial(fetch, "corpus", tmp_path / "corpus", mirror=None, catalogue=catalogue, progress=False)
    with ThreadPoolExecutor(2) as pool:
        first, second = (future.result() for future in [pool.submit(call), pool.submit(call)])
    assert first == second == json.loads((tmp_path / "corpus" / "SOURCE.json").read_text())
    assert (tmp_path / "corpus" / "a.txt").read_bytes() == BODY
    assert len(web.requests) == 1
