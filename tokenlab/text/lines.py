"""Lines of text: the bytes of a file or stream, decompressed, decoded as UTF-8 and split at LF only.

`read_blocks` opens and decompresses (plain, gzip or zstd, by the first bytes and not by the name), `read_lines` decodes
and splits. Memory is a few blocks and the longest line, independent of the length of the input; a line longer than
`longest_line` is an error, since a few kilobytes of compressed data may unpack to one line that no memory holds.
"""

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from tokenlab.core.errors import InputError
from tokenlab.text.options import LONGEST_LINE

Source = str | Path | BinaryIO
"""A path, "-" for standard input, or an open binary stream."""

_MIB = 1 << 20
# Bytes. 64 KiB to 1 MiB read equally fast; larger blocks leave the cache. No line inside one reaches a limit of MiB.
_BLOCK = 1 << 18
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = (
    b"\x2a\x4d\x18"  # After a byte 0x50 to 0x5F: a frame of metadata, which parallel compressors write first.
)
_BOM = "\ufeff"
_ENCODINGS = ["gb18030", "big5", "cp932", "euc_jp", "cp949", "tis_620", "cp1252"]
_GUESSED_FROM = 1 << 14


def read_blocks(source: Source, name: str | None = None, *, decompress: bool = True) -> Iterator[bytes]:
    """The bytes of `source` in blocks, decompressed if they start as gzip or zstd.

    Args:
        source: a path, "-" for standard input, or a binary stream (which stays open).
        name: what error messages call it; the path by default.
        decompress: False returns the bytes as they are.

    Raises:
        InputError: no such file, a folder, no permission, truncated or corrupt compressed data.
    """
    with _input_errors(name or _name(source)), _opened(source) as opened:
        stream = _decompressed(opened) if decompress else opened
        while block := stream.read(_BLOCK):
            yield block


def read_lines(
    source: Source, name: str | None = None, *, longest_line: int = LONGEST_LINE, errors: str = "strict"
) -> Iterator[str]:
    """The lines of `source`: UTF-8, split at LF only, each without one trailing CR, the first without a BOM.

    Other line separators of Unicode (U+2028, U+0085, U+000B, ...) and a lone CR are characters like any other.

    Args:
        source: a path, "-" for standard input, or a binary stream (which stays open); plain, gzip or zstd.
        name: what error messages call it; the path by default.
        longest_line: MiB that a line may have.
        errors: what Python's decoder does with bytes that are not UTF-8.

    Raises:
        InputError: what `read_blocks` raises; a line that is too long; and bytes that are not UTF-8, with their line
            and column (in characters).
    """
    name = name or _name(source)
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    open_line: list[str] = []  # The pieces of a line that spans several blocks.
    count, size, at_start = 0, 0, True  # Size: bytes of the open line.
    for block in _then_end(read_blocks(source, name)):
        first = block.find(b"\n")
        check_length(size + (len(block) if first < 0 else first), longest_line, f"{name}:{count + 1}", "a line")
        size = size + len(block) if first < 0 else len(block) - block.rfind(b"\n") - 1
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            good = "".join(open_line) + error.object[: error.start].decode()
            raise _not_utf8(name, count, good.removeprefix(_BOM) if at_start else good, error) from error
        if at_start and text:
            text, at_start = text.removeprefix(_BOM), False
        lines = text.split("\n")
        open_line.append(lines[0])
        if len(lines) > 1:
            lines[0] = "".join(open_line)
            open_line = [lines.pop()]
            for line in lines:
                yield line.removesuffix("\r")
            count += len(lines)
    if rest := "".join(open_line):
        yield rest.removesuffix("\r")


def read_whole(source: Source, name: str | None = None) -> bytes:
    """All bytes of `source`, decompressed.

    Raises InputError as `read_blocks`, and for a text longer than `LONGEST_LINE`.
    """
    name = name or _name(source)
    blocks, size = [], 0
    for block in read_blocks(source, name):
        blocks.append(block)
        size += len(block)
        check_length(size, LONGEST_LINE, name, "a text")
    return b"".join(blocks)


def check_length(size: int, longest_line: int, where: str, what: str) -> None:
    """Check the bytes of a line, or of another unit of a text, read so far.

    Raises InputError naming the place where they are more than `longest_line` MiB.
    """
    if size > longest_line * _MIB:
        raise InputError(f"{where}: {what} of more than {longest_line} MiB; divide it, or raise longest_line")


def _name(source: Source) -> str:
    if source == "-":
        return "standard input"
    return str(source) if isinstance(source, str | Path) else "input stream"


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    if source == "-":
        if sys.stdin is None:
            raise InputError("standard input: closed; pipe text into it or name a file")
        yield sys.stdin.buffer
    elif isinstance(source, str | Path):
        with Path(source).open("rb") as file:
            yield file
    else:
        yield source


def _decompressed(stream: BinaryIO) -> BinaryIO:
    """`stream` itself or its decompressed bytes, depending on its first bytes."""
    head = b""
    while len(head) < 4 and (more := stream.read(4 - len(head))):
        head += more
    whole = cast(BinaryIO, io.BufferedReader(_PutBack(head, stream), _BLOCK))
    if head.startswith(_GZIP_MAGIC):
        return cast(BinaryIO, gzip.GzipFile(fileobj=whole))
    if head == _ZSTD_MAGIC or (head[1:] == _ZSTD_SKIPPABLE and 0x50 <= head[0] <= 0x5F):
        return cast(BinaryIO, pa.CompressedInputStream(whole, "zstd"))
    return whole


class _PutBack(io.RawIOBase):
    """A stream with bytes put back in front of it: a pipe cannot seek to its start."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head, self._stream = head, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]  # Buffer is in the library from 3.12 on.
        data = self._head or self._stream.read(len(buffer))
        data, self._head = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def _then_end(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks and then an empty one, which tells the decoder that no more bytes follow."""
    yield from blocks
    yield b""


@contextmanager
def _input_errors(name: str) -> Iterator[None]:
    """Turn errors of the system and of decompressors into InputError, with the name of the input."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{name}: no such file; check the path") from error
    except IsADirectoryError as error:
        raise InputError(f"{name}: a folder, not a file; name a file in it") from error
    except PermissionError as error:
        raise InputError(f"{name}: no permission to read it; change its permissions or copy it") from error
    except (EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(f"{name}: cannot be read ({error.strerror}); check the path and the disk") from error
        raise InputError(f"{name}: truncated or corrupt compressed data; fetch it again") from error


def _not_utf8(name: str, lines_before: int, good: str, error: UnicodeDecodeError) -> InputError:
    """The error after `good`, the decoded text from the start of line `lines_before` + 1 on."""
    line = lines_before + good.count("\n") + 1
    column = len(good) - good.rfind("\n")
    byte = error.object[error.start]
    encoding = "UTF-16" if byte >= 0xFE and line == column == 1 else _guessed_encoding(good, error.object)
    how = f"convert it by `iconv -f {encoding or 'ITS_ENCODING'} -t UTF-8`"
    if encoding != "UTF-16" and b"\0" in error.object:
        how = "it holds NUL bytes: convert it if it is UTF-16 (`iconv -f UTF-16LE -t UTF-8`), else it is no text"
    return InputError(f"{name}:{line}: not UTF-8 (byte 0x{byte:02X} at column {column}); {how}")


def _guessed_encoding(good: str, data: bytes) -> str | None:
    """The encoding that bytes seem to have; None for a text that is UTF-8 up to an error."""
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_GUESSED_FROM], cp_isolation=_ENCODINGS).best() if good.isascii() else None
    return None if best is None else best.encoding.upper().replace("_", "-")
