"""Text as runs of units between context symbols.

A run is a maximal stretch of one script written without spaces; its units are clusters. Everything else is a
context symbol of the run beside it: an edge or space, a whole run of letters and digits (all alike), a run of another
script (all alike), or the isolated cluster itself. Runs longer than `LONGEST_RUN` units are cut there, which bounds the
memory of the sampler.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.ngrams.clusters import PropertyTable, cluster_starts
from tokenlab.segment import isolation
from tokenlab.segment.isolation import ALONE, FREE, SPACE, WHOLE, CharacterClasses
from tokenlab.segment.segmentation import Segmentation
from tokenlab.text.code_points import code_points

_SCRIPTS = PropertyTable([(isolation.HIRAGANA, 1), (isolation.KATAKANA + "ーｰ", 2), (isolation.HAN, 0)], 3)

EDGE, WHOLE_RUN, OTHER_RUN, UNKNOWN = range(4)
"""Symbols that every model has; those of isolated clusters follow."""
SPECIAL_SYMBOLS = 4
LONGEST_RUN = 4096
HAN, HIRAGANA, KATAKANA, ALPHABETIC = range(4)
"""Scripts of units; ALPHABETIC are Thai and all others, where words have more units."""
_MAY_BE_NEW = np.array([2, 2, 2, 4], np.int8)
LARGEST_TEXT = 2**31 - 2 * LONGEST_RUN  # positions are int32


class Alphabet:
    """Numbers of clusters: those of an alphabet from 0, all others `unknown`."""

    def __init__(self, clusters: Sequence[str], first: int = 0, unknown: int | None = None) -> None:
        """`first` is the number of the first cluster; `unknown` by default the number after the last one."""
        self.clusters = list(clusters)
        self.unknown = first + len(self.clusters) if unknown is None else unknown
        self._number = {cluster: first + i for i, cluster in enumerate(self.clusters)}
        self._single = np.full(0x110000, self.unknown, np.int32)
        for cluster, number in self._number.items():
            if len(cluster) == 1:
                self._single[ord(cluster)] = number

    def numbers(self, points: NDArray[np.uint32], starts: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.int32]:
        """int32[clusters]: the numbers of the clusters points[start:end]."""
        numbers = self._single[points[starts]]
        for rows, clusters, which in _longer_clusters(points, starts, ends):
            known = np.array([self._number.get(cluster, self.unknown) for cluster in clusters], np.int32)
            numbers[rows] = known[which]
        return numbers


def alphabet_of(points: NDArray[np.uint32], starts: NDArray[Any], ends: NDArray[Any]) -> list[str]:
    """The distinct clusters points[start:end], in the order of code points."""
    single = np.zeros(0x110000, bool)
    single[points[starts[ends - starts == 1]]] = True
    found = [chr(point) for point in np.flatnonzero(single).tolist()]
    for _, clusters, _ in _longer_clusters(points, starts, ends):
        found += clusters
    return sorted(found)


def _longer_clusters(
    points: NDArray[np.uint32], starts: NDArray[Any], ends: NDArray[Any]
) -> Iterable[tuple[NDArray[np.int64], list[str], NDArray[np.int64]]]:
    """Clusters of several code points, by length: their rows, the distinct ones, and which of these each row is."""
    sizes = ends - starts
    for size in np.unique(sizes[sizes > 1]).tolist():
        rows = np.flatnonzero(sizes == size)
        spelled = points[starts[rows][:, None] + np.arange(size)]
        distinct, which = np.unique(spelled, axis=0, return_inverse=True)
        yield rows, [row.tobytes().decode("utf-32-le") for row in distinct], which.reshape(-1)


class Runs(NamedTuple):
    """The runs of a text, and what is needed to put segments back into it."""

    points: NDArray[np.uint32]  # [length] code points, a line feed after every sentence
    is_space: NDArray[np.bool_]  # [length]
    begins: NDArray[np.bool_]  # [length] whether a segment begins here for certain
    sentence: NDArray[np.int64]  # [sentences + 1]
    place: NDArray[np.int32]  # [units] where each unit of a run begins in `points`
    place_end: NDArray[np.int32]  # [units] where it ends
    script: NDArray[np.int8]  # [units] HAN, HIRAGANA, KATAKANA or ALPHABETIC
    may_be_new: NDArray[np.int8]  # [units] the longest span from here that is a candidate though it occurs once
    first: NDArray[np.int64]  # [runs + 1] the first unit of each run, and the number of units
    before: NDArray[np.int64]  # [runs] the cluster left of each run; below 0: -1 - a special symbol
    after: NDArray[np.int64]  # [runs] the cluster right of it
    cluster: NDArray[np.int64]  # [clusters + 1] where each cluster begins in `points`

    def check(self) -> None:
        """Raises InputError where the text has no run."""
        if not len(self.place):
            raise InputError(
                "the text has no character of a script written without spaces (Han, kana, Thai, ...), so no words can "
                "be found; segment it by statistics"
            )

    def segmentation(self, begins: NDArray[np.bool_]) -> Segmentation:
        """The segments of the text. `begins`: bool[units], whether a word begins at a unit."""
        all_begins = self.begins.copy()
        all_begins[self.place[begins]] = True
        return Segmentation(self.points, self.is_space, all_begins, self.sentence)


def find_runs(sentences: Sequence[str], split_kana: bool = False) -> Runs:
    """Find runs and their neighbours; split_kana: whether a change between Han and kana ends a run.

    Raises InputError for a lone surrogate or more text than int32 can count.
    """
    points = code_points("".join(sentence + "\n" for sentence in sentences))
    if len(points) > LARGEST_TEXT:
        raise InputError(f"the text has {len(points):,} characters, more than {LARGEST_TEXT:,}; fit a part of it")
    lengths = np.fromiter((len(sentence) + 1 for sentence in sentences), np.int64, len(sentences))
    starts_of_clusters = cluster_starts(points)
    cluster = np.flatnonzero(starts_of_clusters)
    kind = CharacterClasses("script", split_kana)(points, starts_of_clusters)[cluster]
    cluster_bounds = np.append(cluster, len(points))
    previous = np.append(SPACE, kind[:-1]) if len(kind) else kind
    first_of_stretch = (kind != previous) | (kind == ALONE)
    begins = np.zeros(len(points), bool)
    begins[cluster[first_of_stretch & (kind != SPACE)]] = True
    free = np.flatnonzero(kind >= FREE)
    starts = first_of_stretch[free]  # of runs, among the units
    run = np.flatnonzero(starts)
    if len(run):  # cut runs that are too long
        offset = np.arange(len(free)) - run[np.cumsum(starts) - 1]
        starts = offset % LONGEST_RUN == 0
        run = np.flatnonzero(starts)
        begins[cluster[free[run]]] = True
    first = np.append(run, len(free)).astype(np.int64)
    script = _SCRIPTS(points[cluster[free]])
    before = _neighbours(kind, free[run] - 1)
    after = _neighbours(kind, free[first[1:] - 1] + 1) if len(run) else before.copy()
    return Runs(
        points=points,
        is_space=np.repeat(kind == SPACE, np.diff(cluster_bounds)),
        begins=begins,
        sentence=np.concatenate(([0], np.cumsum(lengths))),
        place=cluster[free].astype(np.int32),
        place_end=cluster_bounds[free + 1].astype(np.int32),
        script=script,
        # Spans of Katakana alone may be new at any length: they are mostly names and loan words.
        may_be_new=np.maximum(_MAY_BE_NEW[script], _stretches(script == KATAKANA, first)),
        first=first,
        before=before,
        after=after,
        cluster=cluster_bounds,
    )


def _stretches(flags: NDArray[np.bool_], first: NDArray[np.int64]) -> NDArray[np.int8]:
    """How many units from each on have the flag, to the end of the run; at most 100."""
    places = np.arange(len(flags))
    without = np.minimum.accumulate(np.where(flags, len(flags), places)[::-1])[::-1]  # the next one without it
    end = np.repeat(first[1:], np.diff(first))
    return np.minimum(np.minimum(without, end) - places, 100).astype(np.int8)


def _neighbours(kind: NDArray[np.int8], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The clusters at `places`, or -1 - symbol where they are no isolated cluster."""
    inside = (places >= 0) & (places < len(kind))
    found = np.where(inside, kind[np.clip(places, 0, len(kind) - 1)] if len(kind) else SPACE, SPACE)
    symbols = np.full(len(places), EDGE, np.int64)
    symbols[found == WHOLE] = WHOLE_RUN
    symbols[found >= FREE] = OTHER_RUN
    return np.where(found == ALONE, places, -1 - symbols)


def symbols_of(runs: Runs) -> list[str]:
    """The distinct isolated clusters beside runs, in the order of code points."""
    places = np.unique(np.concatenate((runs.before, runs.after)))
    places = places[places >= 0]
    return alphabet_of(runs.points, runs.cluster[places], runs.cluster[places + 1])


def number_symbols(runs: Runs, alphabet: Alphabet) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The symbols left and right of each run, int32[runs] each; `alphabet` begins at `SPECIAL_SYMBOLS`."""
    return _numbered(runs, runs.before, alphabet), _numbered(runs, runs.after, alphabet)


def _numbered(runs: Runs, places: NDArray[np.int64], alphabet: Alphabet) -> NDArray[np.int32]:
    numbers = (-1 - places).astype(np.int32)
    isolated = np.flatnonzero(places >= 0)
    at = places[isolated]
    numbers[isolated] = alphabet.numbers(runs.points, runs.cluster[at], runs.cluster[at + 1])
    return numbers
