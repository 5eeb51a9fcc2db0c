"""The words of a text for measures of words: gold words, else what stands between whitespace, else none.

Whitespace marks words only in scripts that put it between words. A corpus without gold words has none where more than
a tenth of its letters are of scripts that do not (Han, kana, Thai, Lao, Khmer, Myanmar, Tibetan).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Literal, NamedTuple, Protocol

import numpy as np
import regex
from numpy.typing import NDArray

WordRule = Literal["gold", "whitespace", "none"]

OTHER_UNSPACED_SCRIPTS = ("Thai", "Lao", "Khmer", "Myanmar", "Tibetan")
UNSPACED_SCRIPTS = ("Han", "Hiragana", "Katakana", *OTHER_UNSPACED_SCRIPTS)
"""Scripts that are written without spaces: values of the property Script."""
_LOOKED_AT = 1 << 10
_MOST_UNSPACED = 0.1
_LETTER = regex.compile(r"\p{L}")
_UNSPACED = regex.compile(
    "[" + "".join(rf"\p{{Script={script}}}" for script in UNSPACED_SCRIPTS) + r"&&\p{L}]", regex.V1
)
_WORD = re.compile(r"\S+")


class Document(Protocol):
    """A text of a corpus, such as `tokenlab.text.Document`."""

    @property
    def text(self) -> str:
        """The text."""

    @property
    def boundaries(self) -> Sequence[int] | None:
        """Where its gold words end, in characters; None without gold words."""


class TextWithWords(NamedTuple):
    """A text, and the spans of its words."""

    text: str
    words: NDArray[np.int32] | None
    """int32[words, 2]: [start, end) in characters, ascending, without whitespace; None where words are not known."""


def texts_with_words(documents: Iterable[Document]) -> Iterator[TextWithWords]:
    """The texts of a corpus with their words, by one rule for all, which the first 1,024 documents decide."""
    remaining = iter(documents)
    first = list(islice(remaining, _LOOKED_AT))
    rule = word_rule(first)
    return (TextWithWords(document.text, word_spans(document, rule)) for document in chain(first, remaining))


def word_rule(documents: Iterable[Document]) -> WordRule:
    """How the words of these documents are found."""
    letters = unspaced = 0
    gold = True
    for document in documents:
        gold = gold and document.boundaries is not None
        letters += len(_LETTER.findall(document.text))
        unspaced += len(_UNSPACED.findall(document.text))
    if gold:
        return "gold"
    return "none" if unspaced > _MOST_UNSPACED * letters else "whitespace"


def word_spans(document: Document, rule: WordRule) -> NDArray[np.int32] | None:
    """The words of a document, int32[words, 2]; None where the rule gives none."""
    if rule == "none" or (rule == "gold" and document.boundaries is None):
        return None
    text = document.text
    if rule == "whitespace":
        spans = [match.span() for match in _WORD.finditer(text)]
    else:
        pieces = pairwise((0, *(document.boundaries or ()), len(text)))
        spans = [_trimmed(text, start, end) for start, end in pieces if text[start:end].strip()]
    return np.array(spans, np.int32).reshape(-1, 2)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the whitespace at its ends."""
    piece = text[start:end]
    return end - len(piece.lstrip()), start + len(piece.rstrip())
