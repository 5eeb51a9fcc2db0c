"""Segmentation of text by the n-gram statistics of the same or another corpus.

The utility of a span w as a segment is U(w) = min PMI + lambda min(H_left, H_right) (Entropy-driven pre-tokenization,
section 3.1). Our own addition is a third term, mu min(V_left, V_right), with the variation of branching entropy of
Magistry and Sagot (2012): V_right(w) is H_right(w) minus H_right of w without its last character, V_left(w) is
H_left(w) minus H_left of w without its first. The entropy rises where a word ends, whatever the length and the
frequency of the word.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.batches import in_batches
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.ngrams.clusters import cluster_starts, cluster_symbols, composed_symbols
from tokenlab.ngrams.counting import NgramStatistics
from tokenlab.segment.isolation import SPACE, CharacterClasses
from tokenlab.segment.kernels import look_up_spans, mark_segments, restrict_to_clusters
from tokenlab.segment.options import SegmentOptions
from tokenlab.segment.segmentation import Segmentation
from tokenlab.text.code_points import code_points

DEFAULT = SegmentOptions()
_CHARACTERS_PER_BATCH = 1 << 18


def utilities(statistics: NgramStatistics, options: SegmentOptions) -> NDArray[np.float64]:
    """U of every n-gram, float64[rows], in the unit of the statistics."""
    contexts = np.minimum(statistics.left_entropy, statistics.right_entropy)
    weighted = contexts if options.entropy_only else options.weight * contexts
    if options.vbe_weight:
        weighted = weighted + options.vbe_weight * _variations(statistics)
    singles = statistics.rows(1)
    utility = weighted.copy() if options.entropy_only else statistics.min_pmi + weighted
    if options.single_character == "literal":
        utility[singles] = weighted[singles]
    elif options.single_character == "fallback":
        utility[singles] = -np.inf
    elif options.entropy_only:
        utility[singles] = 0.0
    elif options.single_character == "self":
        if not statistics.tokens:
            raise ParameterError("single_character is 'self', but T is 0: the text has no pair of characters to count")
        information = np.log(statistics.tokens / statistics.count[singles])
        utility[singles] = information / (1.0 if statistics.options.log_base == "e" else math.log(2.0))
    else:
        utility[singles] = float(options.single_character)
    if options.vbe_weight:
        longer = statistics.level[min(2, statistics.options.n_max)]
        utility[longer:][statistics.count[longer:] == 1] = -np.inf
    return utility


def _variations(statistics: NgramStatistics) -> NDArray[np.float64]:
    """min(V_left, V_right) of every n-gram, float64[rows]."""
    characters = int(statistics.level[1])
    share = statistics.count[:characters] / statistics.count[:characters].sum()
    unit = 1.0 if statistics.options.log_base == "e" else math.log(2.0)
    at_start = -float((share * np.log(share)).sum()) / unit  # entropy after and before the empty string
    left, right = statistics.left_entropy, statistics.right_entropy
    left_before = np.where(statistics.suffix < 0, at_start, left[statistics.suffix])
    right_before = np.where(statistics.parent < 0, at_start, right[statistics.parent])
    return np.minimum(left - left_before, right - right_before)


class Segmenter:
    """Segments sentences by the utilities of their spans, in time linear in the length of the text."""

    def __init__(self, statistics: NgramStatistics, options: SegmentOptions = DEFAULT) -> None:
        self.options = options
        self._n_max = statistics.options.n_max
        self._utility = utilities(statistics, options)
        self._trie = statistics.trie
        self._classes = CharacterClasses(options.isolate, options.split_kana)
        self._counts_clusters = statistics.options.unit == "cluster"
        self._symbol_of = composed_symbols(statistics.composed)

    def segment(
        self, sentences: Iterable[str], boundary_scores: Iterable[NDArray[np.floating]] | None = None
    ) -> Iterator[Segmentation]:
        """Segment sentences, a batch of about a quarter of a million characters at a time.

        Whitespace inside a sentence is a boundary and belongs to no segment. A unit missing from the statistics is a
        segment by itself. Where units are code points and clusters are not to be cut, that holds for a cluster that is
        no n-gram of the statistics, and spans that begin or end inside a cluster are no candidates.

        Args:
            boundary_scores: for each sentence a value per character, floats[characters], in units of the utility: what
                a segment that begins at the character adds to the sum that `viterbi` maximises, negative where a
                boundary is unlikely. NaN adds nothing, nor do values inside a cluster that cannot be cut.

        Raises:
            InputError: a lone surrogate; the numbers of scores and characters of a sentence differ; more scores than
                sentences.
            ParameterError: boundary scores without decoder `viterbi`.
        """
        if boundary_scores is not None and self.options.decoder != "viterbi":
            raise ParameterError(
                f"decoder is {self.options.decoder!r}; boundary scores are added to a sum, so use decoder `viterbi`"
            )
        remaining = None if boundary_scores is None else iter(boundary_scores)
        numbers = count(1)
        for batch in self.batches(sentences):
            scores: list[NDArray[np.floating]] = []
            if remaining is not None:
                scores = [_checked(next(remaining, None), sentence, next(numbers)) for sentence in batch]
            yield self.segment_batch(batch, scores)
        if remaining is not None and next(remaining, None) is not None:
            raise InputError(f"more boundary scores than the {next(numbers) - 1} sentences; score this text again")

    def batches(self, sentences: Iterable[str]) -> Iterator[list[str]]:
        """The sentences as `segment` takes them at once."""
        return in_batches(sentences, _CHARACTERS_PER_BATCH, size=lambda sentence: len(sentence) + 1)

    def spans(self, sentence: str) -> list[tuple[int, int]]:
        """The character offsets [start, end) of the segments of one sentence."""
        return self.segment_batch([sentence]).spans()[0]

    def segment_batch(self, sentences: Sequence[str], scores: Sequence[NDArray[np.floating]] = ()) -> Segmentation:
        """Segment sentences at once; see `segment`."""
        points = code_points("\n".join(sentences) + "\n")
        added = np.concatenate([np.append(of_sentence, 0.0) for of_sentence in scores]) if scores else None
        starts = cluster_starts(points)
        classes = self._classes(points, starts)
        if starts.all():
            begins = self._decode(points, classes, added)
        elif self._counts_clusters:
            symbols = cluster_symbols(points, starts, self._symbol_of)
            begins = np.zeros(len(points), bool)
            begins[starts] = self._decode(symbols, classes[starts], None if added is None else added[starts])
        else:
            begins = self._decode(points, classes, added, None if self.options.isolate == "none" else starts)
        origin = np.cumsum([0, *(len(sentence) + 1 for sentence in sentences)], dtype=np.int64)
        return Segmentation(points, classes == SPACE, begins, origin)

    def _decode(
        self,
        symbols: NDArray[np.uint32],
        classes: NDArray[np.int8],
        added: NDArray[np.floating] | None,
        starts: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.bool_]:
        """Where segments begin, bool[length].

        Args:
            added: boundary scores.
            starts: where clusters begin that consist of several symbols and must not be cut.
        """
        begins = np.zeros(len(symbols), bool)
        unit, last, first_child = self._trie
        units = unit[symbols]
        values = look_up_spans(units, classes, last, first_child, self._utility, self._n_max)
        if starts is not None:
            restrict_to_clusters(units, values, starts)
        if added is not None:
            values += added[:, None] / np.arange(1, self._n_max + 1)  # The decoder multiplies by the length.
        mark_segments(units, classes, values, self.options.decoder == "viterbi", self.options.tie == "long", begins)
        return begins if starts is None else begins & starts


def _checked(scores: NDArray[np.floating] | None, sentence: str, number: int) -> NDArray[np.float64]:
    """The boundary scores of one sentence, with 0 for NaN."""
    found = 0 if scores is None else len(scores)
    if scores is None or found != len(sentence):
        raise InputError(
            f"sentence {number}: {len(sentence)} characters but {found} boundary scores; score this text again"
        )
    return np.nan_to_num(np.asarray(scores, np.float64), nan=0.0)
