"""Unicode properties of code points, as tables."""

from collections.abc import Iterable

import numpy as np
import regex
from numpy.typing import NDArray

SPACE_SET = r"\s\x1C-\x1F"
"""The characters for which `str.isspace` is true, inside the brackets of a set of the module `regex`."""

_UNKNOWN = -128


class PropertyTable:
    """A small number for every code point. A code point is matched when it is first met, and looked up from then on."""

    def __init__(self, kinds: Iterable[tuple[str, int]], otherwise: int) -> None:
        """Declare the numbers.

        Args:
            kinds: what stands inside the brackets of a set of the module `regex` (version 1 of its syntax), and the
                number of its members, from -127 to 127. The first set that contains a code point decides.
            otherwise: the number of all others.
        """
        self._kinds = [(regex.compile(f"(?V1)[{members}]+"), number) for members, number in kinds]
        self._otherwise = otherwise
        self._table = np.full(0x110000, _UNKNOWN, np.int8)

    def __call__(self, points: NDArray[np.uint32]) -> NDArray[np.int8]:
        """The number of each code point, int8[length]."""
        numbers = self._table[points]
        unknown = numbers == _UNKNOWN
        if unknown.any():
            distinct = np.unique(points[unknown])
            self._table[distinct] = self._match(distinct)
            numbers = self._table[points]
        return numbers

    def _match(self, points: NDArray[np.uint32]) -> NDArray[np.int8]:
        text = points.tobytes().decode("utf-32-le", "surrogatepass")
        numbers = np.full(len(points), self._otherwise, np.int8)
        for members, number in reversed(self._kinds):
            for found in members.finditer(text):
                numbers[found.start() : found.end()] = number
        return numbers
