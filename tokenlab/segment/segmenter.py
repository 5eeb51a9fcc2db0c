"""Segment text with the statistics of a corpus: the same one, or another."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.errors import InputError, ParameterError
from tokenlab.ngrams import NgramStatistics
from tokenlab.segment.isolation import SPACE, CharacterClasses
from tokenlab.segment.kernels import look_up_spans, mark_segments
from tokenlab.segment.utility import SegmentOptions, utilities
from tokenlab.text.points import code_points

DEFAULT = SegmentOptions()
_CHARACTERS_PER_BATCH = 1 << 18


class Segmentation(NamedTuple):
    """Segments of a batch of sentences, in one array of characters with a line feed behind every sentence."""

    points: NDArray[np.uint32]  # [length] code points
    is_space: NDArray[np.bool_]  # [length]
    begins: NDArray[np.bool_]  # [length] a segment begins here
    sentence: NDArray[np.int64]  # [sentences + 1] where sentences begin

    def sentences(self) -> list[str]:
        """The sentences as they were given."""
        text = self.points.tobytes().decode("utf-32-le")
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
        is_feed = np.zeros(len(self.points), bool)
        is_feed[self.sentence[1:] - 1] = True
        kept = np.flatnonzero(~self.is_space | is_feed)
        after_feed = np.append(True, is_feed[kept[:-1]])
        spaced = self.begins[kept] & ~after_feed
        place = np.arange(len(kept)) + np.cumsum(spaced)
        out = np.full(len(kept) + int(spaced.sum()), ord(" "), np.uint32)
        out[place] = self.points[kept]
        return out.tobytes().decode("utf-32-le")


class Segmenter:
    """Cuts sentences into segments by the utilities of their spans. Linear in the text."""

    def __init__(self, statistics: NgramStatistics, options: SegmentOptions = DEFAULT) -> None:
        self.options = options
        self._n_max = statistics.options.n_max
        self._utility = utilities(statistics, options)
        self._trie = statistics.trie
        self._classes = CharacterClasses(options.isolate)

    def segment(
        self, sentences: Iterable[str], evidence: Iterable[NDArray[np.floating]] | None = None
    ) -> Iterator[Segmentation]:
        """Segment sentences, a batch of about a quarter of a million characters at a time.

        Whitespace inside a sentence is a boundary and belongs to no segment. A character that the statistics never
        saw is a segment of its own.

        Args:
            evidence: of each sentence a value per character, floats[characters]: what a segment that begins there adds
                to the sum that `viterbi` maximises, negative where a boundary is unlikely. NaN adds nothing.

        Raises:
            InputError: a sentence with a lone surrogate, or with fewer or more values than characters.
            ParameterError: evidence without decoder `viterbi`.
        """
        if evidence is not None and self.options.decoder != "viterbi":
            raise ParameterError(f"decoder is {self.options.decoder!r}; evidence needs a sum, so use decoder `viterbi`")
        remaining = None if evidence is None else iter(evidence)
        batch: list[str] = []
        values: list[NDArray[np.floating]] = []
        characters = 0
        for number, sentence in enumerate(sentences, 1):
            batch.append(sentence)
            if remaining is not None:
                values.append(_of_sentence(next(remaining, None), sentence, number))
            characters += len(sentence) + 1
            if characters >= _CHARACTERS_PER_BATCH:
                yield self._segment_batch(batch, values)
                batch, values, characters = [], [], 0
        if batch:
            yield self._segment_batch(batch, values)

    def spans(self, sentence: str) -> list[tuple[int, int]]:
        """The character offsets [start, end) of the segments of one sentence."""
        return self._segment_batch([sentence], []).spans()[0]

    def _segment_batch(self, sentences: list[str], evidence: Sequence[NDArray[np.floating]]) -> Segmentation:
        points = code_points("\n".join(sentences) + "\n")
        classes = self._classes(points)
        begins = np.zeros(len(points), bool)
        unit, last, first_child = self._trie
        units = unit[points]
        values = look_up_spans(units, classes, last, first_child, self._utility, self._n_max)
        if evidence:
            joined = np.concatenate([np.append(of_sentence, 0.0) for of_sentence in evidence])
            values += joined[:, None] / np.arange(1, self._n_max + 1)  # The decoder multiplies by the length.
        mark_segments(units, classes, values, self.options.decoder == "viterbi", self.options.tie == "long", begins)
        lengths = np.array([len(sentence) + 1 for sentence in sentences], np.int64)
        return Segmentation(points, classes == SPACE, begins, np.concatenate(([0], np.cumsum(lengths))))


def _of_sentence(evidence: NDArray[np.floating] | None, sentence: str, number: int) -> NDArray[np.float64]:
    """The evidence of one sentence, checked, with 0 where there is none."""
    found = 0 if evidence is None else len(evidence)
    if evidence is None or found != len(sentence):
        raise InputError(
            f"sentence {number}: {len(sentence)} characters but {found} values of evidence; score this text again"
        )
    return np.nan_to_num(np.asarray(evidence, np.float64), nan=0.0)
