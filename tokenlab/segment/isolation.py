"""Classes of characters: which may share a segment with others."""

import unicodedata

import numpy as np
import regex
from numpy.typing import NDArray

from tokenlab.segment.options import Isolate

FREE, SPACE, ALONE, WHOLE = range(4)
"""Free to be segmented; a separator; always a segment by itself; part of a run that is one segment."""

_WHOLE = regex.compile(r"[0-9A-Za-z０-９Ａ-Ｚａ-ｚ.．%％@·]")
_HAN = regex.compile(r"[\p{Script=Han}○]")


class CharacterClasses:
    """The class of every code point under one kind of isolation; each distinct character is classified once."""

    def __init__(self, isolate: Isolate) -> None:
        self._isolate = isolate
        self._table = np.full(0x110000, -1, np.int8)

    def __call__(self, points: NDArray[np.uint32]) -> NDArray[np.int8]:
        """FREE, SPACE, ALONE or WHOLE for each code point."""
        classes = self._table[points]
        if (classes < 0).any():
            for point in np.unique(points[classes < 0]):
                self._table[point] = _classify(chr(point), self._isolate)
            classes = self._table[points]
        return classes


def _classify(character: str, isolate: Isolate) -> int:
    if character.isspace():
        return SPACE
    if isolate == "punctuation":
        return ALONE if unicodedata.category(character)[0] in "PSZ" else FREE
    if isolate == "script":
        if _WHOLE.match(character):
            return WHOLE
        return FREE if _HAN.match(character) else ALONE
    return FREE
