"""Fetching a source of the catalogue into a folder, with a record of the origin of each file.

The alternatives of a file are tried in order, first all of them in the mirror folder, then all of them by address or
from the package index. The first one found is verified as fetched, unpacked, and stored under the catalogue's name. If
an alternative is absent, the next is tried; one with wrong bytes is an error. If the mirror provides a source, its
optional files are looked for in the mirror alone.

`SOURCE.json` beside the files records the alternative taken for each one. It is written after every file, so an
interrupted run continues where it stopped.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokenlab.core.errors import ParameterError, SourceError
from tokenlab.core.files import atomic_file
from tokenlab.sources.catalogue import Alternative, Catalogue, Source, SourceFile, find_source, load_source
from tokenlab.sources.record import RECORD, write_record
from tokenlab.sources.transfer import (
    Digest,
    HttpOptions,
    Unreachable,
    digest_file,
    download,
    download_archive,
    mismatch,
)
from tokenlab.sources.unpack import is_packed, unpacked, untagged

LIMIT = 8 << 30


def fetch(
    source: str,
    folder: str | Path,
    *,
    mirror: str | Path | None,
    catalogue: Catalogue | None = None,
    http: HttpOptions | None = None,
    limit: int = LIMIT,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Put the files of a source into `folder`, decompressed, with a record of where they came from.

    Files that match the record are kept, so a second call fetches nothing. Optional files that were not found are
    listed as missing and not looked for again, unless SOURCE.json is removed. A second process that fetches into the
    same folder waits for the first.

    Args:
        source: a name in the catalogue, such as "pku" or "bible/English".
        folder: created where it does not exist; contains this source and nothing else.
        mirror: the mirror folder (the value of TOKENLAB_MIRROR), or None.
        catalogue: the library's own where None.
        http: timeouts and retries.
        limit: largest size in bytes of a download or a stored file.
        progress: None shows a bar where standard error is a terminal and one line per download elsewhere, True always
            shows the bar, False nothing.

    Returns: the record as in SOURCE.json: the source's `source`, `title`, `homepage`, `licence`, `research_only` and
        `format`; `files`, for each stored name its `format` and alternative with the digests `fetched` and `stored`;
        `missing`, the optional files that were not found.

    Raises:
        SourceError: an unknown source; a required file that was not found; wrong, damaged or oversized bytes.
        ParameterError: `mirror` is not a folder.
        OSError: the folder cannot be written, for example on a full disk.
    """
    entry = load_source(source) if catalogue is None else find_source(source, catalogue)
    if mirror is not None and not Path(mirror).is_dir():
        raise ParameterError(f"mirror folder {mirror} does not exist; correct or unset TOKENLAB_MIRROR")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        _remove(folder, ".*.tmp")  # left by a run killed while unpacking
        record = _kept_record(folder, entry)
        fetching = _Fetching(entry, folder, None if mirror is None else Path(mirror), http or HttpOptions(), limit)
        for file in sorted(entry.files, key=lambda file: not file.required):
            if file.name in record["files"] or file.name in record["missing"]:
                continue
            # If the mirror provides a source, the result must not depend on the network: optional files included.
            taken = record["files"].values()
            mirrored = not file.required and bool(taken) and all("mirror" in one for one in taken)
            stored = fetching.store(file, progress, addresses=not mirrored)
            if stored is None:
                record["missing"] = sorted([*record["missing"], file.name])
            else:
                record["files"][file.name] = stored
            write_record(folder, record)
        write_record(folder, record)  # the catalogue's description of files already here may have changed
        _remove(folder, "*.part")
    return record


class _Fetching:
    """The state of one call: finished downloads, and addresses that cannot be reached."""

    def __init__(self, source: Source, folder: Path, mirror: Path | None, http: HttpOptions, limit: int) -> None:
        self.source, self.folder, self.mirror, self.http, self.limit = source, folder, mirror, http, limit
        # Several files may be members of one archive, which is fetched, or found absent, only once.
        self.downloaded: dict[str, tuple[Path, Digest]] = {}
        self.unreachable: dict[str, str] = {}

    def store(self, file: SourceFile, progress: bool | None, *, addresses: bool) -> dict[str, Any] | None:
        """Store the file and return its entry in the record, or None for an optional file that was not found.

        addresses: whether to try addresses after the mirror.
        """
        attempts = ["no mirror folder is set"] if self.mirror is None else []
        for alternative in file.alternatives:
            if self.mirror is None or alternative.mirror is None:
                continue
            path = self.mirror / alternative.mirror
            if path.is_file():
                return self._from_mirror(file, alternative, path)
            attempts.append(f"{path}: not there")
        for alternative in file.alternatives:
            if not alternative.is_remote or not addresses:
                continue
            where = alternative.url or f"package {alternative.package} {alternative.version}"
            try:
                return self._from_address(file, alternative, where, progress)
            except Unreachable as reason:
                self.unreachable[where] = str(reason)
                attempts.append(f"{where}: {reason}")
        if file.required:
            raise self._absent(file, attempts)
        return None

    def _absent(self, file: SourceFile, attempts: list[str]) -> SourceError:
        paths = [alternative.mirror for alternative in file.alternatives if alternative.mirror is not None]
        remedies = [f"set TOKENLAB_MIRROR to a folder that holds {' or '.join(paths)}"] if paths else []
        if any(alternative.is_remote for alternative in file.alternatives):
            remedies.append("connect to the network")
        note = f" ({self.source.note})" if self.source.note else ""
        where = f"source {self.source.name}: {file.name} cannot be found [{'; '.join(attempts)}]"
        return SourceError(f"{where}; {' or '.join(remedies)}{note}")

    def _from_mirror(self, file: SourceFile, alternative: Alternative, path: Path) -> dict[str, Any]:
        fetched = digest_file(path)
        if error := mismatch(str(path), alternative.sha256, alternative.size, fetched):
            raise error
        stored = _unpack(path, file, alternative, self.folder, self.limit)
        return _entry(self.source, file, alternative, "mirror", fetched, stored)

    def _from_address(
        self, file: SourceFile, alternative: Alternative, where: str, progress: bool | None
    ) -> dict[str, Any]:
        if where in self.unreachable:
            raise Unreachable(self.unreachable[where])
        if where not in self.downloaded:
            if alternative.url:
                self.downloaded[where] = download(
                    alternative.url,
                    self.folder,
                    alternative.place if alternative.member else file.name,
                    sha256=alternative.sha256,
                    size=alternative.size,
                    http=self.http,
                    limit=self.limit,
                    progress=progress,
                )
            else:
                self.downloaded[where] = download_archive(
                    alternative, self.folder, http=self.http, limit=self.limit, progress=progress
                )
        part, fetched = self.downloaded[where]
        if error := mismatch(where, alternative.sha256, alternative.size, fetched):
            raise error
        if is_packed(alternative.place, file.name):
            try:
                stored = _unpack(part, file, alternative, self.folder, self.limit)
            except SourceError:
                part.unlink()  # or the next call would continue with the same damaged bytes
                raise
        else:
            stored = fetched
            with part.open("rb") as written:
                os.fsync(written.fileno())
            part.replace(self.folder / file.name)
            del self.downloaded[where]
        return _entry(self.source, file, alternative, "url" if alternative.url else "package", fetched, stored)


def _unpack(path: Path, file: SourceFile, alternative: Alternative, folder: Path, limit: int) -> Digest:
    sha, size = hashlib.sha256(), 0
    with atomic_file(folder / file.name) as temporary, temporary.open("wb") as out:
        pieces = unpacked(path, alternative.place, alternative.member, file.name, limit)
        for piece in untagged(pieces) if alternative.tagged else pieces:
            sha.update(piece)
            size += len(piece)
            out.write(piece)
    return Digest(sha.hexdigest(), size)


def _header(source: Source) -> dict[str, Any]:
    names = ("title", "homepage", "licence", "research_only", "format", "note")
    return {"source": source.name} | {name: getattr(source, name) for name in names}


def _place(source: Source, file: SourceFile, alternative: Alternative, reached: str) -> dict[str, Any]:
    """The record's fields for an alternative, which was reached by its `mirror` path, its `url` or its `package`."""
    names = ("kind", reached, *(("version", "archive") if reached == "package" else ()), "member", "note")
    return {"format": file.format, "licence": alternative.licence or source.licence} | {
        name: value for name in names if (value := getattr(alternative, name)) is not None
    }


def _entry(
    source: Source, file: SourceFile, alternative: Alternative, reached: str, fetched: Digest, stored: Digest
) -> dict[str, Any]:
    digests = {"fetched": fetched._asdict(), "stored": stored._asdict()}
    return _place(source, file, alternative, reached) | digests


def _kept_record(folder: Path, source: Source) -> dict[str, Any]:
    """The record in `folder`, without entries that contradict the catalogue or the files."""
    try:
        old = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        files = {file.name: old["files"][file.name] for file in source.files if file.name in old["files"]}
        missing = [file.name for file in source.files if file.name in old["missing"] and not file.required]
    except (FileNotFoundError, ValueError, LookupError, TypeError):
        files, missing = {}, []
    good = {file.name: files[file.name] for file in source.files if _holds(folder, source, file, files.get(file.name))}
    return _header(source) | {"files": good, "missing": missing}


def _holds(folder: Path, source: Source, file: SourceFile, entry: Any) -> bool:
    """Whether `entry` still describes an alternative in the catalogue and the bytes under the file's name."""
    path = folder / file.name
    if not isinstance(entry, dict) or not path.is_file():
        return False
    place = {name: value for name, value in entry.items() if name not in ("fetched", "stored")}
    known = any(
        place == _place(source, file, alternative, reached) and _agree(entry.get("fetched"), alternative)
        for alternative in file.alternatives
        for reached in ("mirror", "url", "package")
    )
    return known and entry.get("stored") == digest_file(path)._asdict()


def _agree(fetched: Any, alternative: Alternative) -> bool:
    expected = {"sha256": alternative.sha256, "size": alternative.size}
    return isinstance(fetched, dict) and all(fetched.get(key) == value for key, value in expected.items() if value)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder for this process. The lock is on the folder itself, so no lock file stays behind."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _remove(folder: Path, pattern: str) -> None:
    for path in folder.glob(pattern):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
