"""Atomic writing of files and folders: complete, or not there at all."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokenlab.core.errors import InputError


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it is renamed to `path` on success and removed on any exception.

    The file is flushed to disk before it is renamed, so a power cut leaves the old file or the new one. A symbolic link
    is followed. Raises InputError if `path` is anything but a regular file: renaming would replace it.
    """
    path = Path(path).resolve()
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: not a regular file; name another place to write to")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | Path, *, checked: bool = False) -> Iterator[Path]:
    """Yield an empty temporary folder beside `path`; on success it replaces `path`. A symbolic link is followed.

    The old folder is moved away first: for a moment there may be none, but never an incomplete one. It is moved back
    where the new one does not take its place. Raises InputError where `path` is a file, or a folder with files of kinds
    that the new one has not: they are something else and would be lost. checked: the caller knows better.
    """
    path = Path(path).resolve()
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: a file; name a folder to write to")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        if not checked and path.exists():
            _check_replaced(path, temporary)
        old = temporary.with_suffix(".old.tmp")
        try:
            if path.exists():
                path.rename(old)
            temporary.replace(path)
        finally:  # after an interruption, too
            if old.exists() and not path.exists():
                old.rename(path)
            shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _check_replaced(old: Path, new: Path) -> None:
    kinds = {_kind(path) for path in new.iterdir()}
    lost = sorted(path.name for path in old.iterdir() if _kind(path) not in kinds)
    if lost:
        raise InputError(f"{old}: holds {lost[0]}, which would be lost; name a folder of its own")


def _kind(path: Path) -> str:
    return "folder" if path.is_dir() else path.suffix


@contextmanager
def scratch_folder(parent: str | Path | None = None) -> Iterator[Path]:
    """Yield an empty folder for temporary files, which is removed at the end, whatever happened.

    parent: where it is made; default: the system's, TMPDIR. Raises InputError where there is no room in it.
    """
    place = str(parent or tempfile.gettempdir())
    try:
        with tempfile.TemporaryDirectory(prefix="tokenlab-", dir=place) as name:
            yield Path(name)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise InputError(
            f"{place}: no room for temporary files ({os.strerror(error.errno)}); make room, or name another folder by "
            "TMPDIR"
        ) from None


def write_text(path: str | Path, text: str) -> None:
    """Write `text` as UTF-8 with LF line ends, atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
