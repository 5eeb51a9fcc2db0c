"""Texts from a file, a folder or standard input, in the formats of public corpora: how every command reads a text.

    text     one sentence or text per line
    sighan   the same, its words separated by spaces, which are taken out
    ces      a Bible in CES XML, a verse each
    jsonl    a document per line, in the key `text`
    parquet  a document per row, in the column `text`

All are plain, gzip or zstd, and read as streams: memory does not grow with the corpus. Standard input and pipes, which
can be read only once, are copied to a temporary file, since commands read a text twice or more: to check it before
anything is written, to count in it, and to work on it.
"""

import argparse
import io
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tokenlab.cli.inputs.formats import FORMATS, Format, guessed_format
from tokenlab.cli.output import room_for_copy, temporary_file, with_progress
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.text.documents import Document, join_words

_HELP = (
    "format of {name}: auto (default), by its name and first bytes; text, one {unit} per line; sighan, the same with "
    "words separated by spaces, which are taken out (never guessed); ces, a Bible in CES XML (or a folder of them); "
    "jsonl or parquet, documents"
)
_BYTES_TO_GUESS_FROM = 1 << 16


def add_corpus(
    parser: argparse.ArgumentParser,
    unit: str = "text",
    *,
    name: str = "INPUT",
    optional: bool = False,
    flags: Sequence[str] = ("json",),
) -> None:
    """Add the argument that names a corpus, its format, and the flag for output as JSON.

    Args:
        unit: what a line is.
        optional: standard input is read where nothing is named.
        flags: of the output, which `--format` once named: `--format json` still is `--json`.
    """
    kinds = f"UTF-8 text, one {unit} per line, or another format (--format); plain, gzip or zstd"
    if optional:
        parser.add_argument("input", metavar=name, nargs="?", default="-", help=f"{kinds}; default: standard input")
    else:
        parser.add_argument("input", metavar=name, help=f"{kinds}; `-` is standard input")
    parser.add_argument(
        "--format",
        action=_FormatAction,
        choices=["auto", *FORMATS, *flags],
        metavar="FORMAT",
        default=argparse.SUPPRESS,
        help=_HELP.format(name=name, unit=unit) + "".join(f"; {flag}, as --{flag}" for flag in flags),
    )
    parser.add_argument(
        "--text-key", metavar="KEY", default=None, help="key or column of the text in jsonl and parquet (default text)"
    )
    parser.set_defaults(corpus_format="auto", json=False)


def add_json(target: argparse._ActionsContainer, what: str) -> None:
    """Add `--json`. `what` is printed with it."""
    target.add_argument("--json", action="store_true", default=False, help=what)


def add_former_json(parser: argparse.ArgumentParser) -> None:
    """Add `--format json`, which still is `--json` of commands that read no corpus."""
    parser.add_argument(
        "--format", action=_FormatAction, choices=["text", "json"], default=argparse.SUPPRESS, help=argparse.SUPPRESS
    )


class _FormatAction(argparse.Action):
    def __call__(self, parser: Any, options: argparse.Namespace, value: Any, option: str | None = None) -> None:
        if value in ("auto", *FORMATS):
            options.corpus_format = value
        else:
            setattr(options, value, True)


@dataclass(frozen=True)
class Corpus:
    """A corpus that can be read any number of times."""

    name: str
    """In error messages."""
    path: Path
    format: Format
    guessed: bool = False
    text_key: str | None = None

    def lines(self) -> Iterator[str]:
        """The sentences: lines, blank ones too, verses, or the lines of documents.

        Raises InputError for unreadable input, naming file and line.
        """
        if self.format in ("jsonl", "parquet"):
            for _, text in self._texts():
                yield from (line.removesuffix("\r") for line in text.split("\n"))
        else:
            yield from (text for _, text in self._texts())

    def read(self, what: str) -> Iterator[tuple[int | str, str]]:
        """The texts with their places: lines and documents with their numbers, verses with their ids.

        what: the title of the progress bar. Raises InputError as `lines`.
        """
        return with_progress(self._texts(), what, size=lambda found: len(found[1]))

    def texts(self, what: str) -> Iterator[str]:
        """The texts alone."""
        return (text for _, text in self.read(what))

    def where(self, place: int | str) -> str:
        """The place of a text in an error message."""
        if isinstance(place, str):
            return f"{self.name}, verse {place}"
        return f"{self.name}, row {place}" if self.format == "parquet" else f"{self.name}:{place}"

    def named(self, error: InputError) -> InputError:
        """An error about the texts, with the corpus's name in front; errors of reading have it already."""
        return error if str(error).startswith(f"{self.name}:") else InputError(f"{self.name}: {error}")

    def documents(self, what: str) -> Iterator[Document]:
        """The texts as documents, with gold words where the corpus has them."""
        return (
            document for _, document in with_progress(self._documents(), what, size=lambda found: len(found[1].text))
        )

    def check(self) -> None:
        """Read everything once, so that errors of reading come before anything is written."""
        for _ in self._documents():
            pass

    def _texts(self) -> Iterator[tuple[int | str, str]]:
        return ((place, document.text) for place, document in self._documents())

    def _documents(self) -> Iterator[tuple[int | str, Document]]:
        from tokenlab.text.lines import read_lines

        if self.format == "text":
            for number, line in enumerate(read_lines(self.path, self.name), 1):
                yield number, Document(str(number), line)
        elif self.format == "sighan":  # Not by `read_documents`, which drops blank lines: lines stay lines.
            for number, line in enumerate(read_lines(self.path, self.name), 1):
                yield number, Document(str(number), *join_words(line.split()))
        else:
            yield from self._of_others()

    def _of_others(self) -> Iterator[tuple[int | str, Document]]:
        from tokenlab.text.readers import read_documents

        try:
            for number, document in enumerate(read_documents(self.path, self.format, text_key=self.text_key), 1):
                if self.format == "ces":
                    yield document.id, document
                else:  # Blank lines of JSONL are no documents; the id is that of its line.
                    yield int(document.id.rpartition(":")[2]) if self.format == "jsonl" else number, document
        except InputError as error:
            message = str(error).replace(str(self.path), self.name)
            hint = f"; it was read as {self.format} by its name and first bytes, so name another --format if it is not"
            raise InputError(message + (hint if self.guessed else "")) from None


@contextmanager
def open_corpus(options: argparse.Namespace, *, checked: bool = False) -> Iterator[Corpus]:
    """The corpus that the options of `add_corpus` name, inside the `with` block.

    Args:
        checked: read it once to its end first, so that errors come before anything is written.

    Raises:
        InputError: nothing to read, or, where it is checked, as `Corpus.lines`.
        ParameterError: an option that the format does not have, or an output that is the input.
    """
    with open_source(options.input, options.corpus_format, options.text_key) as corpus:
        if checked:
            corpus.check()
        yield corpus


@contextmanager
def open_source(source: str, form: str = "auto", text_key: str | None = None) -> Iterator[Corpus]:
    """The corpus in a file, in a folder, or in `-`, standard input. Raises as `open_corpus`."""
    name, path = ("standard input" if source == "-" else source), Path(source)
    check_no_output([source])
    if source != "-" and (path.is_file() or (path.is_dir() and form in ("ces", "jsonl", "parquet"))):
        yield _corpus(name, path, form, text_key)
        return
    with temporary_file() as spool:
        from tokenlab.text.lines import read_blocks

        given: Any = _InPieces() if source == "-" and sys.stdin is not None else source
        for block in read_blocks(given, name, decompress=False):
            with room_for_copy(name):
                spool.write(block)
        with room_for_copy(name):
            spool.flush()
        yield _corpus(name, Path(spool.name), form, text_key)


class _InPieces:
    """Standard input, read as it comes: a long read in C would not see Ctrl-C until all of it is there."""

    def read(self, size: int) -> bytes:
        return cast(io.BufferedReader, sys.stdin.buffer).read1(size)


def _corpus(name: str, path: Path, form: str, text_key: str | None) -> Corpus:
    from tokenlab.text.lines import read_blocks

    guessed = form == "auto"
    if guessed:
        first = next(read_blocks(path, name), b"") if path.is_file() else b""
        form = guessed_format(name, first[:_BYTES_TO_GUESS_FROM])
    if text_key is not None and form not in ("jsonl", "parquet"):
        raise ParameterError(f"--text-key has no meaning with the format {form}, only with jsonl and parquet")
    return Corpus(name, path, form, guessed, text_key)  # type: ignore[arg-type]


def check_no_output(sources: Sequence[str]) -> None:
    """Refuse to write to an input through standard output: `tokenlab ... text.txt >> text.txt` would never end.

    Raises ParameterError naming the input.
    """
    try:
        output = os.fstat(sys.stdout.fileno())
    except (OSError, AttributeError, ValueError):  # No file: closed, or an object of Python in its place.
        return
    if not stat.S_ISREG(output.st_mode):
        return
    for source in sources:
        try:
            given = os.fstat(0) if source == "-" else Path(source).stat()
        except OSError:
            continue
        if os.path.samestat(given, output):
            raise ParameterError(f"standard output goes to {source}, which is an input; send it elsewhere")
