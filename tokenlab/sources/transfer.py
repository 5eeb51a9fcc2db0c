"""One file over HTTP: streamed, resumed, retried, verified.

The bytes go to `NAME.KEY.part`, where KEY is derived from the address and from the validator (ETag or Last-Modified) in
the server's response. So a part left by a killed run is continued only with the same bytes of the same address, and no
second file is needed to remember them.

A resumed transfer starts at the last byte already stored rather than at the next one: a complete part then gets a plain
206 with one byte, and 416 can only mean that the file has shrunk.

Archives of a package index come by `pip download`, which knows the user's index, proxy and certificates. pip compares
the sha256 before it opens an archive. Wheels are only read; of a source archive pip runs the build script, to learn the
package's name. Nothing is installed.
"""

import hashlib
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import requests
from tqdm import tqdm

from tokenlab.core.errors import ParameterError, SourceError
from tokenlab.sources.catalogue import Alternative

CHUNK = 1 << 16
UNLABELLED = "unlabelled"


class Digest(NamedTuple):
    """The sha256 (hexadecimal) and the number of some bytes."""

    sha256: str
    size: int


@dataclass(frozen=True)
class HttpOptions:
    """Timeouts and retries, in seconds.

    After a lost connection, a timeout, a truncated or wrong body, 429 or 5xx, a transfer is retried `retries` times:
    after `backoff`, then twice that, and so on.
    """

    connect_timeout: float = 10.0
    read_timeout: float = 30.0
    retries: int = 4
    backoff: float = 0.5

    def __post_init__(self) -> None:
        if min(self.connect_timeout, self.read_timeout) <= 0 or min(self.retries, self.backoff) < 0:
            raise ParameterError(f"timeouts must be positive, retries and backoff not negative: {self}")


class Unreachable(Exception):
    """The file cannot be fetched from this address; the message is the reason."""


class _Interrupted(Exception):
    """This attempt failed; the next may succeed."""


class _Part(NamedTuple):
    path: Path
    size: int


def digest_file(path: Path) -> Digest:
    """The digest of the file at `path`, read as a stream."""
    with path.open("rb") as stream:
        return Digest(hashlib.file_digest(stream, "sha256").hexdigest(), stream.tell())


def mismatch(where: str, sha256: str | None, size: int | None, found: Digest) -> SourceError | None:
    """The error that names both digests where bytes differ from the catalogue, whose digests are None where unknown."""
    if (sha256 is None or sha256 == found.sha256) and (size is None or size == found.size):
        return None
    return SourceError(
        f"{where}: wrong bytes: expected sha256 {sha256 or 'unknown'} ({size or 'unknown'} bytes), found sha256 "
        f"{found.sha256} ({found.size} bytes); replace the file there or correct the catalogue"
    )


def download(
    url: str,
    folder: Path,
    name: str,
    *,
    sha256: str | None,
    size: int | None,
    http: HttpOptions,
    limit: int,
    progress: bool | None,
) -> tuple[Path, Digest]:
    """Fetch `url` into a part file in `folder`, continuing an existing one, and verify it.

    Args:
        name: how the part's name begins.
        sha256, size: of the expected bytes, None where unknown.
        limit: bytes; a longer body is refused.
        progress: as for `tokenlab.sources.fetch.fetch`.

    Returns: the complete part and its digest. The caller moves or removes it.

    Raises:
        Unreachable: the file is not there, or every attempt failed. A part stays for the next call.
        SourceError: the bytes never matched `sha256` and `size`, or were more than `limit`.
        OSError: the part could not be written, for example on a full disk; it has been removed.
    """
    reason, wrong = "", None
    for attempt in range(http.retries + 1):
        if attempt:
            wait = http.backoff * 2 ** (attempt - 1)
            if progress is not False:
                print(f"{name}: {reason}; trying again in {wait:g} s", file=sys.stderr)
            time.sleep(wait)
        try:
            part = _transfer(url, folder, name, http, limit, progress)
        except _Interrupted as interruption:
            reason = str(interruption)
        except Unreachable as unreachable:
            raise wrong or unreachable from None
        else:
            digest = digest_file(part)
            wrong = mismatch(url, sha256, size, digest)
            if wrong is None:
                return part, digest
            part.unlink()
            reason = "wrong bytes"
    # Wrong bytes must not look like an absent file, for which the caller would try an alternative.
    raise wrong or Unreachable(f"{reason} (attempts: {http.retries + 1})")


def _transfer(url: str, folder: Path, name: str, http: HttpOptions, limit: int, progress: bool | None) -> Path:
    """One request; returns the complete part."""
    stem = f"{name}.{_key(url)}"
    parts = [_Part(path, path.stat().st_size) for path in sorted(folder.glob(f"{stem}.*.part"))]
    old = next((part for part in parts if part.size > 0 and UNLABELLED not in part.path.name), None)
    headers = {"Accept-Encoding": "identity"}
    if old is not None:
        headers["Range"] = f"bytes={old.size - 1}-"
    with _get(url, headers, http) as response:
        part = folder / f"{stem}.{_validator(response)}.part"
        if response.status_code == 206 and old is not None and _continues(response, old, part):
            start, total = old.size - 1, _total(response)
        elif response.status_code in (206, 416):
            start, total = None, None
        else:
            start, total = 0, _length(response)
        for other in parts:
            if start is None or other.path != part:
                other.path.unlink()
        if start is not None:
            _write(response, part, start, total, limit, _bar(name, url, start, total, progress))
            return part
    return _transfer(url, folder, name, http, limit, progress)  # The old part is useless: start again from nothing.


def _get(url: str, headers: dict[str, str], http: HttpOptions) -> requests.Response:
    try:
        response = requests.get(url, headers=headers, stream=True, timeout=(http.connect_timeout, http.read_timeout))
    except requests.Timeout as error:
        raise _Interrupted("timed out") from error
    except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError) as error:
        raise _Interrupted("no connection") from error
    except requests.RequestException as error:
        raise Unreachable(f"refused ({error})") from error
    status = response.status_code
    encoding = response.headers.get("Content-Encoding") or "identity"
    wanted = (200, 206, 416) if "Range" in headers else (200,)
    if status in wanted and encoding == "identity":
        return response
    response.close()
    if status == 429 or status >= 500:
        raise _Interrupted(f"HTTP {status}")
    raise Unreachable(f"HTTP {status}" if status not in wanted else f"encoded as {encoding} though asked not to be")


def _validator(response: requests.Response) -> str:
    """A key for the validator of the response; UNLABELLED where there is none, or only a weak one."""
    label = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
    return _key(label) if label and not label.startswith("W/") else UNLABELLED


def _continues(response: requests.Response, old: _Part, part: Path) -> bool:
    content_range = response.headers.get("Content-Range", "")
    return old.path == part and content_range.startswith(f"bytes {old.size - 1}-")


def _total(response: requests.Response) -> int | None:
    found = re.search(r"/(\d+)$", response.headers.get("Content-Range", ""))
    return int(found[1]) if found else None


def _length(response: requests.Response) -> int | None:
    value = response.headers.get("Content-Length", "")
    return int(value) if value.isdigit() else None


def _body(response: requests.Response) -> Iterator[bytes]:
    try:
        yield from response.iter_content(CHUNK)
    except requests.RequestException as error:
        raise _Interrupted("stalled or broken off") from error


def _write(
    response: requests.Response, part: Path, start: int, total: int | None, limit: int, bar: "tqdm[None]"
) -> None:
    written = start
    with bar:
        try:
            with part.open("r+b" if start else "wb") as stream:
                stream.seek(start)
                for piece in _body(response):
                    written += len(piece)
                    if written > limit:
                        raise SourceError(f"{response.url}: more than {limit} bytes; raise the limit if that is right")
                    stream.write(piece)
                    bar.update(len(piece))
        except (OSError, SourceError):
            part.unlink(missing_ok=True)
            raise
    if total is not None and written != total:
        raise _Interrupted(f"{written} of {total} bytes")


def _bar(name: str, url: str, start: int, total: int | None, progress: bool | None) -> "tqdm[None]":
    shown = sys.stderr.isatty() if progress is None else progress
    if progress is None and not shown:
        print(f"{name}: fetching {url}", file=sys.stderr)
    return tqdm(desc=name, initial=start, total=total, unit="B", unit_scale=True, disable=not shown, file=sys.stderr)


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def download_archive(
    alternative: Alternative, folder: Path, *, http: HttpOptions, limit: int, progress: bool | None
) -> tuple[Path, Digest]:
    """Fetch the alternative's `archive` into a part file in `folder`.

    Args:
        alternative: with `package`, `version`, `archive` and `sha256`.
        http: its read timeout and retries (at least one) hold for each request of pip.
        limit: bytes; a larger archive is refused.
        progress: False shows nothing, else one line on standard error.

    Returns: the part and its digest. The caller moves or removes it.

    Raises:
        Unreachable: there is no pip, the index does not answer, or it does not have the archive.
        SourceError: the archive on the index has another sha256 or more than `limit` bytes.
    """
    package, archive = alternative.package or "", alternative.archive or ""
    where = f"package {package} {alternative.version}"
    if progress is not False:
        print(f"{archive}: fetching {where} with pip", file=sys.stderr)
    with TemporaryDirectory(prefix=".", suffix=".tmp", dir=folder) as name:
        temporary = Path(name).resolve()
        wanted = temporary / "requirements.txt"
        wanted.write_text(f"{package}=={alternative.version} --hash=sha256:{alternative.sha256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
        command += ["--timeout", f"{http.read_timeout:.0f}", "--retries", str(max(http.retries, 1)), "download"]
        command += ["--no-deps", "--ignore-requires-python", "--require-hashes", "--progress-bar", "off"]
        command += ["--only-binary" if archive.endswith(".whl") else "--no-binary", package]
        command += ["--dest", str(temporary), "--requirement", str(wanted)]
        done = subprocess.run(command, cwd=temporary, capture_output=True, text=True, errors="replace", check=False)
        fetched = temporary / archive
        if done.returncode or not fetched.is_file():
            raise _failure(where, alternative, done.stdout + done.stderr)
        if fetched.stat().st_size > limit:
            raise SourceError(f"{where}: more than {limit} bytes; raise the limit if that is right")
        part = fetched.replace(folder / f"{archive}.part")
    return part, digest_file(part)


def _failure(where: str, alternative: Alternative, output: str) -> Exception:
    """The error for what pip printed."""
    if "No module named pip" in output:
        return Unreachable("this Python has no pip; run `python -m ensurepip`")
    if found := re.search(r"Got\s+([0-9a-f]{64})", output):
        return SourceError(
            f"{where}: wrong bytes: expected sha256 {alternative.sha256}, found sha256 {found[1]}; "
            "correct the catalogue or your package index"
        )
    if "WARNING: Retrying (" in output or "Could not fetch URL" in output:  # pip says so from the first retry on
        return Unreachable("the package index does not answer")
    if "No matching distribution found" in output or "ERROR: " not in output:
        return Unreachable(f"the package index does not have {alternative.archive}")
    return Unreachable(f"pip failed: {output.partition('ERROR: ')[2].partition(chr(10))[0]}")
