"""The unit of a corpus: a text, with its words where they are marked.

Whitespace is never part of a word: it separates words and is not counted as a character.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple


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
