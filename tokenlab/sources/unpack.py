"""The bytes of one file from a fetched file: as it is, decompressed, or a member of an archive.

Members are looked up by name and read as streams; nothing is written to paths that an archive names.
"""

import errno
import gzip
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path
from typing import IO, cast

import pyarrow as pa

from tokenlab.core.errors import SourceError

ARCHIVES = (".zip", ".whl", ".tar", ".tar.gz", ".tgz")
COMPRESSED = (".gz", ".zst")
CHUNK = 1 << 20

_TAG = re.compile(rb"(?<=\S)/[A-Za-z]+(?=\s|$)")


def packing(place: str) -> str:
    """The ending of a file name that tells how the bytes are packed, "" where they are not."""
    return next((ending for ending in (*ARCHIVES, *COMPRESSED) if place.endswith(ending)), "")


def is_packed(place: str, name: str) -> bool:
    """Whether bytes fetched from a file called `place` must be unpacked to become the file called `name`."""
    return place.endswith(ARCHIVES) or _compression(place, name) is not None


def unpacked(path: Path, place: str, member: str | None, name: str, limit: int) -> Iterator[bytes]:
    """Yield the bytes of `name` from the fetched file at `path`, in pieces of at most 1 MiB.

    Args:
        path: the file as fetched, under whatever name.
        place: the file name at its origin; its ending tells how it is packed.
        member: the path inside the archive, where `place` is one.
        name: the wanted file name; an ending .gz or .zst that it lacks is decompressed.
        limit: largest size in bytes, whether declared by an archive or found while unpacking.

    Raises:
        SourceError: the file is damaged or encrypted, lacks the member, is empty, or unpacks to more than `limit`.
        OSError: the file cannot be read.
    """
    what = f"{place}: {member}" if member else place
    total = 0
    try:
        with (
            _opened(path, place, member, limit) as raw,
            _decompressed(raw, _compression(member or place, name)) as stream,
        ):
            while piece := stream.read(CHUNK):
                total += len(piece)
                if total > limit:
                    raise _too_large(what, limit)
                yield piece
    except (EOFError, ValueError, zlib.error, LZMAError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise SourceError(f"{what}: damaged ({error}); fetch it again or replace it") from error
    except (NotImplementedError, RuntimeError) as error:  # raised by zipfile for unknown methods and encryption
        raise SourceError(f"{what}: cannot be unpacked ({error}); replace it by a plain archive") from error
    except OSError as error:
        # gzip and pyarrow report damage without a number, zipfile seeks to offsets in a damaged zip; other errors come
        # from the disk.
        if error.errno not in (None, errno.EINVAL):
            raise
        raise SourceError(f"{what}: damaged ({error}); fetch it again or replace it") from error
    if total == 0:
        raise SourceError(f"{what}: is empty; fetch it again or replace it")


def untagged(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Remove the part-of-speech tag of each word (the ASCII letters behind its last slash), in pieces of whole lines.

    Raises SourceError for a word without a tag: the file is not what the catalogue says.
    """
    rest = b""
    for piece in pieces:
        lines, newline, rest = (rest + piece).rpartition(b"\n")
        yield _without_tags(lines + newline)
    yield _without_tags(rest)


def _without_tags(lines: bytes) -> bytes:
    stripped, tags = _TAG.subn(b"", lines)
    if tags != len(lines.split()):
        raise SourceError("words without part-of-speech tags in a file that should have them; fetch it again")
    return stripped


def _compression(place: str, name: str) -> str | None:
    return next((ending for ending in COMPRESSED if place.endswith(ending) and not name.endswith(ending)), None)


@contextmanager
def _decompressed(raw: IO[bytes], compression: str | None) -> Iterator[IO[bytes]]:
    if compression == ".gz":
        with gzip.open(raw) as stream:
            yield cast(IO[bytes], stream)
    elif compression == ".zst":
        with pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd") as stream:
            yield stream
    else:
        yield raw


@contextmanager
def _opened(path: Path, place: str, member: str | None, limit: int) -> Iterator[IO[bytes]]:
    if member is None:
        with path.open("rb") as plain:
            yield plain
    elif place.endswith((".zip", ".whl")):
        with zipfile.ZipFile(path) as archive:
            if member not in archive.namelist():
                raise _no_member(place, member)
            if archive.getinfo(member).file_size > limit:
                raise _too_large(f"{place}: {member}", limit)
            with archive.open(member) as opened:
                yield opened
    else:
        open_tar = gzip.open if place.endswith("gz") else open
        with open_tar(path, "rb") as whole, tarfile.open(fileobj=whole, mode="r|") as tar:
            yield _tar_member(tar, place, member, limit)
            # gzip's checksum is at the very end: without this, damage would go unnoticed.
            rest = 0
            while piece := whole.read(CHUNK):
                rest += len(piece)
                if rest > limit:
                    raise _too_large(place, limit)


def _tar_member(tar: tarfile.TarFile, place: str, member: str, limit: int) -> IO[bytes]:
    passed = 0
    for info in tar:
        passed += info.size  # everything before the member is decompressed, too, so it counts
        if passed > limit:
            raise _too_large(place, limit)
        if info.name == member and info.isreg() and (stream := tar.extractfile(info)) is not None:
            return stream
    raise _no_member(place, member)


def _no_member(place: str, member: str) -> SourceError:
    return SourceError(f"{place}: has no file {member} inside; replace it by the archive that the catalogue means")


def _too_large(what: str, limit: int) -> SourceError:
    return SourceError(f"{what}: unpacks to more than {limit} bytes; raise the limit if that is right")
