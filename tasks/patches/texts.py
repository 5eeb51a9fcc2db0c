"""Documents of a corpus as bytes with their words, and their parts for training, validation and test."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple
from unicodedata import east_asian_width

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from tasks.runtime.stage import Parameters
from tasks.runtime.tables import write_table
from tokenlab.core.errors import InputError
from tokenlab.language.passages import PassageBlock, cut_passages
from tokenlab.patches.by_bytes import character_starts
from tokenlab.text.documents import Document
from tokenlab.text.store import read_corpus

Part = Literal["training", "validation", "test"]

Words = NDArray[np.int64]
"""int64[words, 2]: the byte offsets at which words begin and end, in order."""


class Texts(Parameters):
    """How documents are made and divided. join: consecutive texts of a corpus are joined into documents of at least so
    many bytes; null takes each text as a document. validation, test: the share of the documents that is drawn for them.
    training: at most so many bytes of the others; null takes all of them."""

    join: int | None = Field(ge=1)
    validation: float = Field(gt=0, lt=0.5)
    test: float = Field(gt=0, lt=0.5)
    training: int | None = Field(ge=1)
    seed: int = Field(ge=0)


class Text(NamedTuple):
    """A document, or a passage of one. words: gold words where they are marked, otherwise what whitespace separates."""

    id: str
    data: bytes
    words: Words


def part_documents(corpus: Path, texts: Texts, part: Part) -> Iterator[Document]:
    """The documents of one part of a corpus, as a stream.

    Each document belongs to a part by a draw of its own, so a part needs no more memory than a document. Raises
    InputError where the part is empty.
    """
    draws = np.random.default_rng(texts.seed)
    size = 0
    for document in joined(read_corpus(corpus), texts.join):
        draw = draws.random()
        if part != (
            "test" if draw < texts.test else "validation" if draw < texts.test + texts.validation else "training"
        ):
            continue
        size += len(document.text.encode())
        yield document
        if part == "training" and texts.training is not None and size >= texts.training:
            return
    if not size:
        raise InputError(f"{corpus}: no document is drawn for {part}; give it a larger share, or take a larger corpus")


def joined(documents: Iterable[Document], size: int | None) -> Iterator[Document]:
    """Consecutive documents joined until they have at least `size` bytes; None: as they are.

    A space goes between two texts, but none after a character of a script without spaces (told by its East Asian
    width). Gold words stay what they are: the joint is a boundary. The id is that of the first.
    """
    if size is None:
        yield from documents
        return
    waiting: list[Document] = []
    length = 0
    for document in documents:
        waiting.append(document)
        length += len(document.text.encode())
        if length >= size:
            yield _join(waiting)
            waiting, length = [], 0
    if waiting:
        yield _join(waiting)


def _join(documents: list[Document]) -> Document:
    text, boundaries = "", []
    for document in documents:
        if text:
            boundaries.append(len(text))
            if east_asian_width(text[-1]) not in "WFH":
                text += " "
        boundaries += [len(text) + offset for offset in document.boundaries or ()]
        text += document.text
    marked = all(document.boundaries is not None for document in documents)
    return Document(documents[0].id, text, tuple(boundaries) if marked else None, documents[0].source)


def words_of(document: Document) -> Words:
    """The words of a document: gold words where they are marked, otherwise what whitespace separates."""
    text = document.text
    spans = [match.span() for match in re.finditer(r"\S+", text)]
    if document.boundaries:
        spans = [*_cut(spans, document.boundaries)]
    return byte_offsets(text)[np.array(spans, np.int64).reshape(-1, 2)]


def byte_offsets(text: str) -> NDArray[np.int64]:
    """int64[characters + 1]: the byte at which each character begins, and the end."""
    data = text.encode()
    return np.append(character_starts(data), len(data))


def _cut(spans: Iterable[tuple[int, int]], boundaries: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Runs without whitespace, cut at the boundaries inside them; a boundary in whitespace cuts nothing."""
    number = 0
    for begin, end in spans:
        while number < len(boundaries) and boundaries[number] <= begin:
            number += 1
        start = begin
        while number < len(boundaries) and boundaries[number] < end:
            yield start, boundaries[number]
            start = boundaries[number]
            number += 1
        yield start, end


def passages_of(document: Document, context: int) -> Iterator[Text]:
    """A document as passages of at most `context` bytes, each with the words that lie wholly in it."""
    words = words_of(document)
    offset = 0
    for number, data in enumerate(cut_passages(document.text.encode(), context)):
        first = np.searchsorted(words[:, 0], offset)
        last = np.searchsorted(words[:, 1], offset + len(data), side="right")
        yield Text(f"{document.id}:{number}", data, words[first : max(first, last)] - offset)
        offset += len(data)


def whitespace_words(data: bytes) -> Words:
    """What whitespace separates in a text."""
    return words_of(Document("", data.decode()))


def block_of(texts: Sequence[Text]) -> PassageBlock:
    """Passages without patches, to be stored."""
    words = np.array([len(text.words) for text in texts], np.int32)
    return PassageBlock([text.id for text in texts], [text.data for text in texts], words, {})


def write_texts(texts: Sequence[Text], path: Path) -> None:
    """Write texts with their words as a Parquet file."""
    columns: dict[str, Any] = {
        "id": [text.id for text in texts],
        "data": [text.data for text in texts],
        "begins": [text.words[:, 0].tolist() for text in texts],
        "ends": [text.words[:, 1].tolist() for text in texts],
    }
    write_table(path, pl.DataFrame(columns, schema=_SCHEMA))


def read_texts(path: Path) -> list[Text]:
    """Texts with their words that `write_texts` wrote."""
    rows = pl.read_parquet(path).iter_rows()
    return [Text(id, data, np.array([begins, ends], np.int64).reshape(2, -1).T) for id, data, begins, ends in rows]


_OFFSETS = pl.List(pl.Int64)
_SCHEMA = pl.Schema([("id", pl.String()), ("data", pl.Binary()), ("begins", _OFFSETS), ("ends", _OFFSETS)])
