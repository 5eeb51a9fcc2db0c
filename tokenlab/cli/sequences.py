"""Sequences of text from a file or stream."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import tee
from pathlib import Path
from typing import Literal

from tokenlab.cli.output import with_progress
from tokenlab.core.errors import InputError
from tokenlab.text.documents import Document
from tokenlab.text.lines import read_blocks, read_lines
from tokenlab.text.readers import read_documents

Format = Literal["auto", "text", "ces"]
"""`auto`: CES where the name ends in .xml (compressed or not) or the text begins as XML does, else text."""

_XML = (b"<?xml", b"\xef\xbb\xbf<?xml", b"<cesDoc")


@dataclass(frozen=True)
class Sequences:
    """The place that the sequences of an input are read from."""

    name: str
    """In error messages."""
    path: Path
    format: Literal["text", "ces"]

    def read(self, what: str) -> Iterator[tuple[int | str, str]]:
        """The sequences with their places: every line with its number, blank ones too, or every verse with its id.

        what: the title of the progress bar. Raises InputError for unreadable input, naming file and line.
        """
        if self.format == "text":
            return enumerate(with_progress(read_lines(self.path, self.name), what), 1)
        verses, again = tee(self._verses())
        return zip((verse.id for verse in verses), with_progress((verse.text for verse in again), what), strict=True)

    def texts(self, what: str) -> Iterator[str]:
        """The sequences alone."""
        return (text for _, text in self.read(what))

    def where(self, place: int | str) -> str:
        """The place of a sequence in an error message."""
        return f"{self.name}:{place}" if isinstance(place, int) else f"{self.name}, verse {place}"

    def named(self, error: InputError) -> InputError:
        """An error about the sequences, with their name in front; errors of reading have it already."""
        return error if str(error).startswith(f"{self.name}:") else InputError(f"{self.name}: {error}")

    def _verses(self) -> Iterator[Document]:
        try:
            yield from read_documents(self.path, "ces")
        except InputError as error:
            raise InputError(str(error).replace(str(self.path), self.name)) from None


@contextmanager
def open_sequences(source: str, form: Format) -> Iterator[Sequences]:
    """The sequences of a file, of a folder of XML files, or of `-`, standard input, inside the `with` block.

    Input that can be read only once is copied to a temporary file. Raises InputError if there is nothing to read.
    """
    name, path = ("standard input" if source == "-" else source), Path(source)
    if source != "-" and (path.is_file() or (path.is_dir() and form == "ces")):
        yield Sequences(name, path, _format(path, name, form))
        return
    with tempfile.NamedTemporaryFile() as spool:
        for block in read_blocks(source, name, decompress=False):
            spool.write(block)
        spool.flush()
        yield Sequences(name, Path(spool.name), _format(Path(spool.name), name, form))


def _format(path: Path, name: str, form: Format) -> Literal["text", "ces"]:
    if form != "auto":
        return form
    if name.removesuffix(".gz").removesuffix(".zst").endswith(".xml"):
        return "ces"
    first = next(read_blocks(path, name), b"")
    return "ces" if first.lstrip().startswith(_XML) else "text"
