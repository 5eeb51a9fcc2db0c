"""Which characters may stand in a segment with others."""

import unicodedata

import numpy as np
import regex
from numpy.typing import NDArray

from tokenlab.segment.utility import Isolate

FREE, SPACE, ALONE, WHOLE = range(4)
"""Segmented by statistics; separates; a segment of its own; a run of these is one segment."""

_WHOLE = regex.compile(r"[0-9A-Za-z０-９Ａ-Ｚａ-ｚ.．%％@·]")
_HAN = regex.compile(r"[\p{Script=Han}○]")


class CharacterClasses:
    """Class of every code point under one way of isolation, looked up once a distinct character."""

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
