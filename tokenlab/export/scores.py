"""Scores of pieces: the terms of the sum that the segmenter maximises."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tokenlab.ngrams.clusters import cluster_starts
from tokenlab.ngrams.counting import NgramStatistics
from tokenlab.ngrams.units import cluster_symbols, composed_symbols
from tokenlab.segment.isolation import FREE, CharacterClasses
from tokenlab.segment.options import SegmentOptions
from tokenlab.segment.utility import utilities
from tokenlab.text.code_points import code_points

TIE = 1e-7
"""Of equal sums, the one with the smaller (tie `long`: larger) sum of squared lengths wins by this much per unit."""

_MARGIN = 10.0  # of scores that only what cannot be avoided has; as Unigram's own penalty of unknown characters


class Ngrams:
    """The units of each text, and the row of each text among the n-grams of the statistics."""

    def __init__(self, statistics: NgramStatistics, texts: Sequence[str]) -> None:
        self._statistics = statistics
        points = code_points("".join(f"{text}\n" for text in texts))
        symbols = self._symbols(points)
        ends = np.flatnonzero(symbols == ord("\n"))
        first = np.concatenate(([0], ends[:-1] + 1))[: len(ends)]
        self.lengths: NDArray[np.int64] = ends - first
        """int64[texts]: units of each."""
        self.rows: NDArray[np.int64] = self._rows(symbols, first)
        """int64[texts]: -1 for a text that is no n-gram of the statistics."""

    def _symbols(self, points: NDArray[np.uint32]) -> NDArray[np.uint32]:
        if self._statistics.options.unit == "character":
            return points
        return cluster_symbols(points, cluster_starts(points), composed_symbols(self._statistics.composed))

    def _rows(self, symbols: NDArray[np.uint32], first: NDArray[np.int64]) -> NDArray[np.int64]:
        """Walk down the trie, a unit of every text at a time. The rows of one length are sorted by parent and unit."""
        statistics = self._statistics
        unit, last, _ = statistics.trie
        units, singles = unit[symbols], int(statistics.level[1])
        rows = np.where(self.lengths > 0, units[first], -1).astype(np.int64)
        rows[self.lengths > statistics.options.n_max] = -1
        for n in range(2, statistics.options.n_max + 1):
            going = np.flatnonzero((rows >= 0) & (self.lengths >= n))
            if not len(going):
                break
            level = statistics.rows(n)
            keys = statistics.parent[level].astype(np.int64) * singles + last[level]
            following = units[first[going] + n - 1]
            wanted = rows[going] * singles + following
            places = np.searchsorted(keys, wanted)
            found = (following >= 0) & (keys[np.minimum(places, len(keys) - 1)] == wanted) if len(keys) else False
            rows[going] = np.where(found, places + level.start, -1)
        return rows


def piece_scores(
    pieces: Sequence[str], counts: NDArray[np.int64], statistics: NgramStatistics, options: SegmentOptions
) -> NDArray[np.float64]:
    """The score of each piece, float64[pieces]; scores of one kind of run are compared only with each other.

    - A segment of a run that the segmenter cuts: len(w) U(w), less 1e-7 len(w)^2 so that of equal sums the one with
      shorter segments wins, as it does (nearly always) by the segmenter's rule. The length is in units.
    - A character of such a run that the statistics do not contain, or that is only a mark of others: less than all
      of those, so that it is used only where nothing else fits.
    - Everything else, such as words of Latin letters: -1, and up to 0.4 more for frequent pieces. A run is one piece
      where there is such a piece, else it has the fewest, and the most frequent of those.

    Args:
        counts: how often each is a segment of the training text.
    """
    found = Ngrams(statistics, pieces)
    utility = np.append(utilities(statistics, options), -np.inf)[found.rows]  # row -1 is the one appended
    tie = TIE if options.tie == "short" else -TIE
    sums = found.lengths * utility - tie * found.lengths.astype(np.float64) ** 2
    return _with_others(sums, pieces, counts, options)


def log_probability_scores(
    pieces: Sequence[str], counts: NDArray[np.int64], options: SegmentOptions, bonus: float
) -> NDArray[np.float64]:
    """Scores for the words of any other segmenter, float64[pieces]: log P(w) + bonus, P(w) by relative frequency.

    A character that was never a word counts as 0.3 of one. Pieces outside of the runs that are cut: see `piece_scores`.

    Args:
        bonus: in nats, for each piece; the higher, the more and shorter pieces are chosen.
    """
    total = max(int(counts.sum()), 1)
    return _with_others(np.log(np.maximum(counts, 0.3) / total) + bonus, pieces, counts, options)


def _with_others(
    sums: NDArray[np.float64], pieces: Sequence[str], counts: NDArray[np.int64], options: SegmentOptions
) -> NDArray[np.float64]:
    """The scores, given those of pieces of runs that are cut (-inf for unknown ones)."""
    points = code_points("".join(f"{piece}\n" for piece in pieces))
    first = np.concatenate(([0], np.flatnonzero(points == ord("\n"))[:-1] + 1))
    classes = CharacterClasses(options.isolate, options.split_kana)(points)[first]
    frequent = 0.4 * np.log1p(counts) / np.log1p(max(int(counts.max(initial=1)), 1))
    scores = np.where(classes >= FREE, sums, frequent - 1.0)
    avoided = np.isneginf(scores)
    if options.isolate != "none":
        avoided |= (classes >= FREE) & _joining(points[first])
    scores[avoided] = min(scores[~avoided].min(initial=0.0), 0.0) - _MARGIN
    return scores


def unmatched_score(scores: NDArray[np.float64], length: int) -> float:
    """A score so low that a piece of `length` characters is never used where its characters are pieces."""
    return length * (min(float(scores.min(initial=0.0)), 0.0) - _MARGIN)


def _joining(points: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which code points, such as marks, belong to the character before them: bool[points]."""
    pairs = np.full(2 * len(points), ord("a"), np.uint32)
    pairs[1::2] = points
    return ~cluster_starts(pairs)[1::2]
