"""In which format a corpus is, by its name and its first bytes."""

import json
import re
from typing import Literal, get_args

Format = Literal["text", "sighan", "ces", "jsonl", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)

_ENDINGS: dict[str, Format] = {
    ".xml": "ces",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
_COMPRESSED = (".gz", ".zst")
_XML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*<(?:(?:\?xml|!DOCTYPE|cesDoc|html|TEI|teiCorpus|corpus)\b|!--|[a-z_][^<>\n]*>\s*(?:\n|$))",
    re.IGNORECASE,
)
"""A declaration, the root of a corpus, or any tag that stands alone on the first line."""
_JSON_BEGINS = re.compile(rb'(?:\[\s*)?\{\s*(?:"|$)|\[\s*$')
"""An object up to its first key, alone or in a list; or a line with nothing but a bracket."""
_LONG_LIST = re.compile(rb'\[\s*[\["]')
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
    name = name.lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    return next((form for ending, form in _ENDINGS.items() if name.endswith(ending)), "text")


def _is_json(first: bytes) -> bool:
    """Whether the first line with anything in it is a JSON object or array, or the beginning of one.

    A list of numbers alone is text: `[1]` is the mark of a footnote.
    """
    line, feed, _ = first.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    if not line.startswith((b"{", b"[")):
        return False
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):  # of several lines, or cut off
        return bool(_JSON_BEGINS.match(line.rstrip()) or (not feed and _LONG_LIST.match(line)))
    return isinstance(found, dict) or any(isinstance(item, dict | list | str) for item in found)
