"""Texts from a file, a folder or standard input, in the formats of public corpora: how every command reads a text.

    text     one sentence or text per line
    sighan   the same, its words separated by spaces, which are taken out
    ces      a Bible in CES XML, a verse each
    jsonl    a document per line, in the key `text`
    parquet  a document per row, in the column `text`

An empty text is a text: commands that print a row for each text print one for it. All formats are plain, gzip or zstd,
and read as streams: memory does not grow with the corpus. Standard input and pipes, which can be read only once, are
copied to a temporary file, since commands read a text twice or more: to check it before anything is written, to count
in it, and to work on it.
"""

import argparse
import io
import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from tokenlab.cli.options import add_options, options_from
from tokenlab.cli.output import room_for_copy, temporary_file, with_progress
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.text.documents import Document, join_words
from tokenlab.text.options import LONGEST_LINE, LineOptions

Format = Literal["text", "sighan", "ces", "jsonl", "parquet"]
_FORMATS: tuple[Format, ...] = get_args(Format)
_DOCUMENTS = ("jsonl", "parquet")
"""Formats of documents, which may have several lines, and a key or column with their text."""

TOKENIZER = (
    "tokenizer.json, a SentencePiece .model, a tiktoken rank file, tekken.json, GPT-2's vocabulary beside its merges, "
    "or a folder with one of them"
)
"""Help of the options that name a tokenizer."""
_HELP = (
    "format of {name}: auto (default), by its name and first bytes; text, one {unit} per line; sighan, the same with "
    "words separated by spaces, which are taken out (never guessed); ces, a Bible in CES XML (or a folder of them); "
    "jsonl or parquet, documents"
)
_BYTES_TO_GUESS_FROM = 1 << 16
_ENDINGS: dict[Format, tuple[str, ...]] = {
    "ces": (".xml",),
    "jsonl": (".json", ".jsonl", ".ndjson"),
    "parquet": (".parquet",),
}
_COMPRESSED = (".gz", ".zst")
_TABLES = (".csv", ".tsv")
_XML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*<(?:(?:\?xml|!DOCTYPE|cesDoc|html|TEI|teiCorpus|corpus)\b|!--|[a-z_][^<>\n]*>\s*(?:\n|$))",
    re.IGNORECASE,
)
"""A declaration, the root of a corpus, or any tag that stands alone on the first line."""
_JSON_BEGINS = re.compile(rb'(?:\[\s*)?\{\s*(?:"|$)|\[\s*$')
"""An object up to its first key, alone or in a list; or a line with nothing but a bracket."""
_LONG_LIST = re.compile(rb'\[\s*[\["]')


def add_corpus(
    parser: argparse.ArgumentParser,
    unit: str = "text",
    *,
    name: str = "INPUT",
    optional: bool = False,
    several: str | None = None,
) -> None:
    """Add the argument that names a corpus, and its format.

    Args:
        unit: what a line is.
        optional: standard input is read where nothing is named.
        several: the `nargs` of argparse where several inputs may be named.
    """
    kinds = f"UTF-8 text, one {unit} per line, or another format (--format); plain, gzip or zstd"
    if optional:
        _add_optional(parser, kinds)
    else:
        parser.add_argument("input", metavar=name, nargs=several, help=f"{kinds}; `-` is standard input")
    formats = ["auto", *_FORMATS]
    text = _HELP.format(name=name, unit=unit)
    parser.add_argument("--format", choices=formats, metavar="FORMAT", default="auto", help=text)
    key = "key or column of the text in jsonl and parquet (default text), of a second one, too"
    parser.add_argument("--text-key", metavar="KEY", default=None, help=key)
    add_options(parser, LineOptions)


def add_lines(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the argument that names an input, standard input where nothing is named, and `--longest-line`."""
    _add_optional(parser, what)
    add_options(parser, LineOptions)


def _add_optional(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("input", metavar="INPUT", nargs="?", default="-", help=f"{what}; default: standard input")


def add_json(target: argparse._ActionsContainer, what: str) -> None:
    """Add `--json`, which prints `what`."""
    target.add_argument("--json", action="store_true", default=False, help=what)


@dataclass(frozen=True)
class Corpus:
    """A corpus that can be read any number of times."""

    name: str
    """In error messages."""
    path: Path
    format: Format
    guessed: bool = False
    text_key: str | None = None
    longest_line: int = LONGEST_LINE

    def lines(self) -> Iterator[str]:
        """The sentences: lines, blank ones too, verses, or the lines of documents. Raises InputError with the place."""
        if self.format in _DOCUMENTS:
            return (line.removesuffix("\r") for text in self.texts() for line in text.split("\n"))
        return self.texts()

    def texts(self) -> Iterator[str]:
        """The texts, empty ones too. Raises InputError with the place."""
        if self.format == "text":
            return self.plain_lines()
        return (document.text for _, document in self.placed_documents())

    def read(self, what: str) -> Iterator[tuple[str, str]]:
        """The texts, each with its place for an error message. what: the title of the progress bar."""
        for place, document in with_progress(self.placed_documents(), what, size=lambda one: len(one[1].text)):
            if self.format == "ces":
                yield f"{self.name}, verse {place}", document.text
            else:
                yield f"{self.name}, row {place}" if self.format == "parquet" else f"{self.name}:{place}", document.text

    def check(self, *, measured: bool = False) -> None:
        """Read everything once, so that errors of reading come before anything is written.

        measured: something will be measured on it, so a text without any character is an error, too.
        """
        found = False
        for text in self.texts():
            found = found or bool(text.strip())
        if measured and not found:
            raise InputError(f"{self.name}: no character in it; nothing can be measured")

    def placed_documents(self) -> Iterator[tuple[int | str, Document]]:
        """The texts, empty ones too, with gold words where the corpus has them; each with its place: the number of a
        line or document, the id of a verse."""
        if self.format in ("text", "sighan"):  # Not by `read_documents`: a text without lines is no error here.
            for number, line in enumerate(self.plain_lines(), 1):
                text, words = (line, None) if self.format == "text" else join_words(line.split())
                yield number, Document(str(number), text, words)
        else:
            yield from self._of_others()

    def plain_lines(self, errors: str = "strict") -> Iterator[str]:
        """The lines of a text. errors: what Python's decoder does with bytes that are not UTF-8."""
        from tokenlab.text.lines import read_lines

        return read_lines(self.path, self.name, longest_line=self.longest_line, errors=errors)

    def _of_others(self) -> Iterator[tuple[int | str, Document]]:
        from tokenlab.text.readers import read_documents

        try:
            documents = read_documents(
                self.path,
                self.format,
                text_key=self.text_key if self.format in _DOCUMENTS else None,
                blank=True,
                longest_line=self.longest_line,
            )
            for number, document in enumerate(documents, 1):
                if self.format == "ces":
                    yield document.id, document
                else:  # Blank lines of JSONL are no documents; the id is that of its line.
                    yield int(document.id.rpartition(":")[2]) if self.format == "jsonl" else number, document
        except InputError as error:
            message = str(error).replace(str(self.path), self.name)
            if message.endswith(("; name another", " name another key")):
                message += " by --text-key"
            hint = f"; it was read as {self.format} by its name and first bytes, so name another --format if it is not"
            raise InputError(message + (hint if self.guessed else "")) from None


@contextmanager
def open_corpus(options: argparse.Namespace, *, checked: bool = False) -> Iterator[Corpus]:
    """The corpus that the options of `add_corpus` name, inside the `with` block. Raises InputError and ParameterError.

    checked: read it once to its end first, so that errors come before anything is written.
    """
    with ExitStack() as stack:
        (corpus,) = open_corpora(stack, [options.input], options)
        if checked:
            corpus.check()
        yield corpus


def open_corpora(stack: ExitStack, names: Iterable[str], options: argparse.Namespace) -> list[Corpus]:
    """Several corpora in the format of the options, as long as the stack is open. Raises as `open_corpus`."""
    settings = options.format, options.text_key, longest_line_of(options)
    return [stack.enter_context(open_source(name, *settings)) for name in names]


@contextmanager
def open_source(
    source: str, form: str = "auto", text_key: str | None = None, longest_line: int = LONGEST_LINE
) -> Iterator[Corpus]:
    """The corpus in a file, in a folder, or in `-`, standard input. Raises as `open_corpus`."""
    name, path = source_name(source), Path(source)
    check_no_output(source)
    if source != "-" and (path.is_file() or (path.is_dir() and form in ("ces", *_DOCUMENTS))):
        yield _corpus(name, path, form, text_key, longest_line)
        return
    with temporary_file() as spool:
        from tokenlab.text.lines import read_blocks

        given: Any = _InPieces() if source == "-" and sys.stdin is not None else source
        for block in read_blocks(given, name, decompress=False):
            with room_for_copy(name):
                spool.write(block)
        with room_for_copy(name):
            spool.flush()
        yield _corpus(name, Path(spool.name), form, text_key, longest_line)


def longest_line_of(options: argparse.Namespace) -> int:
    """The value of `--longest-line`. Raises ParameterError for less than 1."""
    return options_from(options, LineOptions).longest_line


def numbered_lines(options: argparse.Namespace, what: str) -> Iterator[tuple[str, str]]:
    """The lines of the plain text that the options of `add_lines` name, each with its place for an error message."""
    from tokenlab.text.lines import read_lines

    check_no_output(options.input)
    lines = read_lines(options.input, longest_line=longest_line_of(options))
    for number, line in enumerate(with_progress(lines, what), 1):
        yield f"{source_name(options.input)}:{number}", line


def source_name(source: str) -> str:
    """The name of an input in messages."""
    return "standard input" if source == "-" else source


class _InPieces:
    """Standard input, read as it comes: a long read in C would not see Ctrl-C until all of it is there."""

    def read(self, size: int) -> bytes:
        return cast(io.BufferedReader, sys.stdin.buffer).read1(size)


def _corpus(name: str, path: Path, form: str, text_key: str | None, longest_line: int) -> Corpus:
    from tokenlab.text.lines import read_blocks

    guessed = form == "auto"
    if guessed:
        first = next(read_blocks(path, name), b"") if path.is_file() else b""
        form = _guessed_format(name, first[:_BYTES_TO_GUESS_FROM])
        if form == "text" and _plain(name).endswith(_TABLES):
            raise ParameterError(
                f"{name} is a table by its name; write the column of texts as jsonl or parquet, or name --format text, "
                "which takes every line for a text"
            )
    if text_key is not None and form not in _DOCUMENTS:
        raise ParameterError(f"--text-key has no meaning with the format {form}, only with jsonl and parquet")
    return Corpus(name, path, form, guessed, text_key, longest_line)  # type: ignore[arg-type]


def _guessed_format(name: str, first: bytes) -> Format:
    """The format of a corpus by its first bytes, decompressed, or else by its name.

    `sighan` is never guessed: nothing tells gold words from a text with spaces.
    """
    if first.startswith(b"PAR1"):
        return "parquet"
    if _XML.match(first):
        return "ces"
    if _is_json(first):
        return "jsonl"
    return next((form for form, endings in _ENDINGS.items() if _plain(name).endswith(endings)), "text")


def _plain(name: str) -> str:
    """The name in small letters, without the ending of a compressed file."""
    name = name.lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    return name


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


def check_no_output(source: str) -> None:
    """Refuse to write to an input through standard output: `tokenlab ... text.txt >> text.txt` would never end."""
    try:
        output = os.fstat(sys.stdout.fileno())
        given = os.fstat(0) if source == "-" else Path(source).stat()
    except (OSError, AttributeError, ValueError):  # No file: closed, missing, or an object of Python in its place.
        return
    if stat.S_ISREG(output.st_mode) and os.path.samestat(given, output):
        raise ParameterError(f"standard output goes to {source}, which is an input; send it elsewhere")
