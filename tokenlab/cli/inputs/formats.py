"""In which format a corpus is, by its name and its first bytes."""

import json
import re
from typing import Literal, get_args

Format = Literal["text", "sighan", "ces", "jsonl", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)

_ENDINGS: dict[str, Format] = {".xml": "ces", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_COMPRESSED = (".gz", ".zst")
_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml|!DOCTYPE|!--|cesDoc|html)\b", re.IGNORECASE)
_PARQUET = b"PAR1"


def guessed_format(name: str, first: bytes) -> Format:
    """The format of a corpus.

    `sighan` is never guessed: nothing tells gold words from a text with spaces.

    Args:
        name: of the file. The first bytes count more.
        first: the first bytes of the file, decompressed; a few kilobytes are enough.
    """
    if first.startswith(_PARQUET):
        return "parquet"
    if _XML.match(first):
        return "ces"
    if _is_json(first):
        return "jsonl"
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    return next((form for ending, form in _ENDINGS.items() if name.lower().endswith(ending)), "text")


def _is_json(first: bytes) -> bool:
    """Whether the first line with anything in it is a JSON object or array, or the beginning of a long one."""
    line, feed, _ = first.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    if not line.startswith((b"{", b"[")):
        return False
    if not feed and len(line) > 1:  # Cut off inside an object: its first key is there.
        return re.match(rb'\{\s*"', line) is not None
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return line.strip() in (b"{", b"[")
