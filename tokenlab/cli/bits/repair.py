"""Lines of text that may hold bytes which are not UTF-8."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

_BOM = b"\xef\xbb\xbf"
_NOT_UTF8 = re.compile("[\udc80-\udcff]+")  # What Python decodes such bytes to, one each.


def repaired_lines(source: str | Path, on_error: Literal["replace", "skip"], errors: Counter[str]) -> Iterator[str]:
    """The lines of a file, as `read_lines` gives them.

    Args:
        on_error: what becomes of each longest run of bytes that are not UTF-8: "replace" puts one U+FFFD there, "skip"
            nothing.
        errors: these runs are counted there as "utf8".

    Raises InputError for input that cannot be read.
    """
    mark = "\ufffd" if on_error == "replace" else ""
    for line in _byte_lines(source):
        text, count = _NOT_UTF8.subn(mark, line.decode(errors="surrogateescape"))
        errors["utf8"] += count
        yield text


def _byte_lines(source: str | Path) -> Iterator[bytes]:
    """The bytes of each line, split as `read_lines` splits: at LF, without one trailing CR, the first without a BOM."""
    from tokenlab.text.lines import read_blocks

    open_line: list[bytes] = []  # The pieces of a line that spans several blocks.
    start = _BOM
    for block in read_blocks(source):
        first, *others = block.split(b"\n")
        open_line.append(first)
        for line in others:
            yield b"".join(open_line).removeprefix(start).removesuffix(b"\r")
            open_line, start = [line], b""
    if rest := b"".join(open_line).removeprefix(start):
        yield rest.removesuffix(b"\r")
