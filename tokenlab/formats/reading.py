"""Reading a file of a tokenizer, with a bound on its size."""

from pathlib import Path

from tokenlab.core.errors import InputError

_LARGEST = 1 << 28


def read_bounded(path: str | Path) -> bytes:
    """The bytes of a file. Raises InputError where it is absent, empty, no regular file or larger than 256 MiB."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file; name the file or folder of a tokenizer on this machine")
    size = path.stat().st_size
    if not 0 < size <= _LARGEST:
        raise InputError(f"{path}: {size} bytes; a tokenizer's file has 1 to {_LARGEST}")
    return path.read_bytes()


def as_utf8(path: str | Path, data: bytes) -> str:
    """Bytes as text. Raises InputError where they are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}; this is not a tokenizer's text file") from error


def is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8 by themselves."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
