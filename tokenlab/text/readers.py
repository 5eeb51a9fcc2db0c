"""Documents from the file formats of public corpora: one function per format, all behind `read_documents`.

sighan   one paragraph per line, its words separated by spaces (SIGHAN bake-off, PKU)
ces      Bibles in the Corpus Encoding Standard (christos-c/bible-corpus), one document per verse
jsonl    one JSON object per line (SlimPajama, SkyPile)
text     one document per line
parquet  a corpus of `tokenlab.text.store`, or any file with a column of strings

All are read as streams, compressed or not; texts of whitespace alone are skipped unless they are asked for.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError

import pyarrow as pa
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.options import check_choice
from tokenlab.text.documents import Document, join_words
from tokenlab.text.lines import check_length, read_blocks, read_lines
from tokenlab.text.options import LONGEST_LINE, LineOptions
from tokenlab.text.store import SCHEMA, parquet_batches, parquet_names, read_shard

_SURROGATE = re.compile("[\ud800-\udfff]")
_DEEPEST = 1000
"""Elements of XML inside each other; corpora have about ten."""


def read_documents(
    path: str | Path,
    format: str,
    *,
    text_key: str | None = None,
    sources: Collection[str] | None = None,
    blank: bool = False,
    longest_line: int = LONGEST_LINE,
) -> Iterator[Document]:
    """The documents of a file, or of all files in a folder that have the format's usual endings, in sorted order.

    The id of a document is "STEM:LINE" (from 1; rows in Parquet), where STEM is the file's name without endings, in a
    folder with the path below that folder. Verses and the corpora of `tokenlab.text.store` keep their own ids.

    Args:
        path: a file, or a folder (hidden files in it are skipped).
        format: "sighan", "ces", "jsonl", "text" or "parquet".
        text_key: for jsonl and parquet: the key or column of the text; "text" by default.
        sources: for jsonl and parquet: only documents whose `source` is one of these; in jsonl the source is
            `meta.redpajama_set_name`.
        blank: keep texts that are empty or whitespace alone.
        longest_line: MiB that a line, a verse or a value of Parquet may have.

    Raises:
        ParameterError: an unknown format, or an option that the format does not have.
        InputError: no such file, no document at all, a line that is too long, or content in another format, with file
            and line.
    """
    check_choice("format", format, _FORMATS)
    reader = _FORMATS[format]
    for name, value in (("text_key", text_key), ("sources", sources)):
        if value is not None and not reader.keyed:
            raise ParameterError(f"{name}: the format {format} has no such option, only jsonl and parquet have")
    if isinstance(sources, str):
        raise ParameterError(f"sources: {sources!r} must be a list of names, not one name")
    reading = _Reading(text_key or "text", LineOptions(longest_line).longest_line)
    return _documents(Path(path), reader, reading, sources, blank)


class _File(NamedTuple):
    path: Path
    stem: str


class _Reading(NamedTuple):
    text_key: str
    longest_line: int


class _Format(NamedTuple):
    read: Callable[[list[_File], _Reading], Iterator[Document]]
    endings: tuple[str, ...]
    keyed: bool = False
    """Whether the format has the options `text_key` and `sources`."""


def _documents(
    path: Path, reader: _Format, how: _Reading, sources: Collection[str] | None, blank: bool
) -> Iterator[Document]:
    empty = True
    for document in reader.read(_files(path, reader.endings), how):
        wanted = sources is None or document.source in sources
        if wanted and (blank or (document.text and not document.text.isspace())):
            empty = False
            yield document
    if empty:
        which = "" if sources is None else f" from the sources {', '.join(sources)}"
        raise InputError(f"{path}: no document{which}; check the file and its format")


def _files(path: Path, endings: tuple[str, ...]) -> list[_File]:
    if not path.is_dir():
        return [_File(path, _stem(path.name))]
    found: dict[str, Path] = {}
    for file in sorted(path.rglob("*")):
        below = file.relative_to(path)
        hidden = any(part.startswith(".") for part in below.parts)
        if hidden or not file.is_file() or _uncompressed(file.name).suffix not in endings:
            continue
        stem = str(below.with_name(_stem(file.name)))
        if stem in found:
            raise InputError(
                f"{file}: its documents would have the same ids as those of {found[stem]}; remove one of them"
            )
        found[stem] = file
    if not found:
        raise InputError(f"{path}: no file in this folder ends in {' or '.join(endings)}; name a file")
    return [_File(file, stem) for stem, file in found.items()]


def _uncompressed(name: str) -> Path:
    return Path(name.removesuffix(".gz").removesuffix(".zst"))


def _stem(name: str) -> str:
    return _uncompressed(name).stem


def _read_sighan(files: list[_File], how: _Reading) -> Iterator[Document]:
    for path, stem in files:
        for number, line in enumerate(read_lines(path, longest_line=how.longest_line), 1):
            # str.split treats U+3000 as a space, and a run of spaces as one.
            text, boundaries = join_words(line.split())
            yield Document(f"{stem}:{number}", text, boundaries)


def _read_text(files: list[_File], how: _Reading) -> Iterator[Document]:
    for path, stem in files:
        for number, line in enumerate(read_lines(path, longest_line=how.longest_line), 1):
            yield Document(f"{stem}:{number}", line)


def _read_jsonl(files: list[_File], how: _Reading) -> Iterator[Document]:
    for path, stem in files:
        for number, line in enumerate(read_lines(path, longest_line=how.longest_line), 1):
            if line and not line.isspace():
                text, source = _json_text(line, how.text_key, f"{path}:{number}")
                yield Document(f"{stem}:{number}", text, source=source)


def _json_text(line: str, text_key: str, where: str) -> tuple[str, str | None]:
    """The text and the source of one line."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:  # ValueError: malformed, or a number of thousands of digits.
        raise InputError(f"{where}: not JSON ({error}); put one JSON object on each line") from error
    if not isinstance(row, dict):
        raise InputError(f"{where}: JSON, but not an object; put one object with the key {text_key!r} on each line")
    if text_key not in row:
        keys = ", ".join(row) or "an empty object"
        raise InputError(f"{where}: no key {text_key!r}, only {keys}; name another key")
    text, meta = row[text_key], row.get("meta")
    source = meta.get("redpajama_set_name") if isinstance(meta, dict) else None
    for key, value in ((text_key, text), ("meta.redpajama_set_name", "" if source is None else source)):
        if not isinstance(value, str):
            raise InputError(f"{where}: the value of {key!r} is not a string; correct the line or name another key")
        if "\\u" in line and _SURROGATE.search(value):
            raise InputError(f"{where}: {key!r} holds a lone surrogate, which is no character; correct the line")
    return text, source


def _read_parquet(files: list[_File], how: _Reading) -> Iterator[Document]:
    for path, stem in files:
        if how.text_key == "text" and set(SCHEMA.names) <= set(parquet_names(path)):
            yield from read_shard(path, how.longest_line)
            continue
        schema = pa.schema([pa.field(how.text_key, pa.large_string(), nullable=False)])
        batches = parquet_batches(path, schema, rows=128, longest=how.longest_line)  # A row may be a whole book.
        texts = chain.from_iterable(_strings(batch.column(0), path) for batch in batches)
        for number, text in enumerate(texts, 1):
            yield Document(f"{stem}:{number}", text)


def _strings(column: pa.Array, path: Path) -> list[str]:
    try:
        return column.to_pylist()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: a text that is not UTF-8; write the file again") from error


def _read_ces(files: list[_File], how: _Reading) -> Iterator[Document]:
    seen: set[str] = set()
    for path, _ in files:
        before = len(seen)
        for verse_id, text in _verses(path, how.longest_line):
            if verse_id in seen:
                raise InputError(
                    f"{path}: the verse id {verse_id} occurs twice; read one Bible, in which each occurs once"
                )
            seen.add(verse_id)
            yield Document(verse_id, " ".join(text.split()))
        if len(seen) == before:
            raise InputError(f'{path}: no verse (<seg id="..." type="verse">); is this a Bible in CES XML?')


def _verses(path: Path, longest_line: int) -> Iterator[tuple[str, str]]:
    """The ids and texts of the verses; the parser builds no tree, so it holds one verse or one tag in memory."""
    target = _VerseTarget()
    parser = DefusedXMLParser(target=target, forbid_dtd=True)
    fed = 0
    try:
        for block in read_blocks(path):
            parser.feed(block)
            fed += len(block)
            where = f"{path}:{parser.parser.CurrentLineNumber}"
            check_length(fed - parser.parser.CurrentByteIndex, longest_line, where, "a tag or comment")
            check_length(target.open_characters, longest_line, where, "a verse")
            if target.open_elements > _DEEPEST:
                raise InputError(f"{where}: {_DEEPEST} elements inside each other; is this a Bible in CES XML?")
            yield from target.take(path)
        parser.close()
    except ParseError as error:
        line, _ = error.position
        raise InputError(f"{path}:{line}: malformed XML ({error}); correct it or fetch it again") from error
    except DefusedXmlException as error:
        raise InputError(
            f"{path}: a DOCTYPE or an entity, which corpora must not have; remove it from the XML"
        ) from error
    except (ValueError, LookupError) as error:
        raise InputError(f"{path}: XML in an encoding that is not supported ({error}); convert it to UTF-8") from error


class _VerseTarget:
    """Collects verses from the parser's events; the text of elements inside a verse belongs to it."""

    def __init__(self) -> None:
        self._verses: list[tuple[str | None, str]] = []
        self._id: str | None = None
        self._pieces: list[str] = []
        self._depth = 0  # Open elements from the verse on; 0 outside of verses.
        self.open_elements = 0
        self.open_characters = 0
        """Of the verse that is open, or was last."""

    def start(self, tag: str, attributes: dict[str, Any]) -> None:
        self.open_elements += 1
        if self._depth:
            self._depth += 1
        elif tag == "seg" and attributes.get("type") == "verse":
            self._depth, self._id, self._pieces, self.open_characters = 1, attributes.get("id"), [], 0

    def data(self, text: str) -> None:
        if self._depth:
            self._pieces.append(text)
            self.open_characters += len(text)

    def end(self, tag: str) -> None:
        self.open_elements -= 1
        if self._depth == 1:
            self._verses.append((self._id, "".join(self._pieces)))
        self._depth = max(self._depth - 1, 0)

    def close(self) -> None:
        pass

    def take(self, path: Path) -> Iterator[tuple[str, str]]:
        """The verses since the last call."""
        verses, self._verses = self._verses, []
        for verse_id, text in verses:
            if verse_id is None:
                raise InputError(f"{path}: a verse without an id ({text.strip()[:20]!r}); correct the XML")
            yield verse_id, text


_FORMATS = {
    "sighan": _Format(_read_sighan, (".utf8", ".txt")),
    "ces": _Format(_read_ces, (".xml",)),
    "jsonl": _Format(_read_jsonl, (".jsonl",), keyed=True),
    "text": _Format(_read_text, (".txt",)),
    "parquet": _Format(_read_parquet, (".parquet",), keyed=True),
}
