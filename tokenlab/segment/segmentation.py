"""Segments of a batch of sentences, found by any method."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError


class Segmentation(NamedTuple):
    """Segments of a batch of sentences, in one array of characters with a line feed after every sentence."""

    code_points: NDArray[np.uint32]  # [length]
    is_space: NDArray[np.bool_]  # [length]
    begins: NDArray[np.bool_]  # [length] whether a segment begins at this character
    sentence: NDArray[np.int64]  # [sentences + 1] offset of each sentence, and the length

    def sentences(self) -> list[str]:
        """The sentences as given."""
        text = self.code_points.tobytes().decode("utf-32-le")
        return [text[start : end - 1] for start, end in pairwise(self.sentence.tolist())]

    def spans(self) -> list[list[tuple[int, int]]]:
        """For each sentence the character offsets [start, end) of its segments."""
        starts = np.flatnonzero(self.begins)
        inside = ~self.is_space
        ends = np.flatnonzero(inside & np.append(self.begins[1:] | self.is_space[1:], True)) + 1
        first = np.searchsorted(starts, self.sentence)
        return [
            list(zip((starts[a:b] - origin).tolist(), (ends[a:b] - origin).tolist(), strict=True))
            for a, b, origin in zip(first[:-1], first[1:], self.sentence[:-1], strict=True)
        ]

    def text(self) -> str:
        """The sentences, a line each, with one space between segments and none around them."""
        is_feed = np.zeros(len(self.code_points), bool)
        is_feed[self.sentence[1:] - 1] = True
        kept = np.flatnonzero(~self.is_space | is_feed)
        after_feed = np.append(True, is_feed[kept[:-1]])
        spaced = self.begins[kept] & ~after_feed
        place = np.arange(len(kept)) + np.cumsum(spaced)
        out = np.full(len(kept) + int(spaced.sum()), ord(" "), np.uint32)
        out[place] = self.code_points[kept]
        return out.tobytes().decode("utf-32-le")

    def delimited(self, delimiter: str) -> str:
        """The sentences as given, a line each, with `delimiter` between segments that no whitespace separates.

        Raises InputError where a sentence contains the delimiter.
        """
        mark = ord(delimiter)
        if (self.code_points == mark).any():
            raise InputError(f"the text contains {delimiter!r}; choose a delimiter that it does not have")
        marked = self.begins & ~np.append(True, self.is_space[:-1])
        return np.insert(self.code_points, np.flatnonzero(marked), mark).tobytes().decode("utf-32-le")
