"""The unit of a corpus: a text, with its words where they are marked, and its sentences.

Whitespace is never part of a word: it separates words and is not counted as a character.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple
from unicodedata import east_asian_width

from tokenlab.core.errors import ParameterError


class Document(NamedTuple):
    """A text as it was read, and its gold words.

    `boundaries` are the character offsets inside `text` (0 < offset < len(text), ascending) at which a word ends or
    the next begins; None means that words are not marked. Slices of pure whitespace are not words.
    """

    id: str
    text: str
    boundaries: tuple[int, ...] | None = None
    source: str | None = None


def words(text: str, boundaries: Sequence[int]) -> list[str]:
    """Cut `text` at `boundaries` and drop the whitespace around and between words."""
    pieces = (text[start:end].strip() for start, end in pairwise((0, *boundaries, len(text))))
    return [piece for piece in pieces if piece]


def join_words(items: Iterable[str]) -> tuple[str, tuple[int, ...]]:
    """Join words without spaces: the text and its boundaries."""
    pieces = list(items)
    boundaries, offset = [], 0
    for piece in pieces[:-1]:
        offset += len(piece)
        boundaries.append(offset)
    return "".join(pieces), tuple(boundaries)


def split_sentences(document: Document, ends: str = "。！？") -> Iterator[Document]:
    """Cut a document into sentences; text after the last end is a sentence, too.

    With gold words, a sentence ends after each word whose last character is in `ends`. Without them it ends after a run
    of such characters; a run whose last character belongs to scripts with spaces (`.`, `!`, `?`; recognised by its East
    Asian width) counts only before whitespace or the end of the text. A closing quotation mark after the end belongs to
    the next sentence.

    Surrounding whitespace is removed and boundaries are moved accordingly; sentences of whitespace alone are dropped.
    Ids are "{document.id}.{k}", k from 0; the source is kept.

    Raises:
        ParameterError: `ends` is empty or holds whitespace.
    """
    if not ends or any(character.isspace() for character in ends):
        raise ParameterError(f"ends: {ends!r} must be one or more characters without whitespace, such as '。！？'")
    text, boundaries = document.text, document.boundaries
    cuts = _ends_of_runs(text, ends) if boundaries is None else _ends_of_words(text, boundaries, ends)
    number = 0
    for cut_start, cut_end in pairwise((0, *cuts, len(text))):
        sentence = text[cut_start:cut_end].lstrip()
        start = cut_end - len(sentence)
        sentence = sentence.rstrip()
        if sentence:
            gold = None if boundaries is None else _inside(boundaries, start, start + len(sentence))
            yield Document(f"{document.id}.{number}", sentence, gold, document.source)
            number += 1


def _ends_of_words(text: str, boundaries: tuple[int, ...], ends: str) -> Iterator[int]:
    for start, end in pairwise((0, *boundaries, len(text))):
        word = text[start:end].rstrip()
        if word and word[-1] in ends:
            yield end


def _ends_of_runs(text: str, ends: str) -> Iterator[int]:
    for run in re.finditer(f"[{re.escape(ends)}]+", text):
        end = run.end()
        if east_asian_width(text[end - 1]) in "WFH" or end == len(text) or text[end].isspace():
            yield end


def _inside(boundaries: tuple[int, ...], start: int, end: int) -> tuple[int, ...]:
    """The boundaries strictly between `start` and `end`, counted from `start`."""
    first, last = bisect_right(boundaries, start), bisect_left(boundaries, end)
    return tuple(offset - start for offset in boundaries[first:last])
