"""The regular expression that keeps apart what the segmenter's isolation keeps apart.

It is made from the segmenter's own tables, code point by code point: there is one definition, with the segmenter's
version of Unicode, whatever program reads the tokenizer. It has sets, groups and repetition, but no properties, so that
Oniguruma, Rust and JavaScript read it alike.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from tokenlab.ngrams.clusters import cluster_starts
from tokenlab.segment.isolation import ALONE, SPACE, CharacterClasses
from tokenlab.segment.options import Isolate

Members = NDArray[np.bool_]
"""bool[0x110000]: which code points are in a set; no surrogate is in any."""

_LINE_FEED, _LETTER, _ACCENT, _REGIONAL, _PICTOGRAPH, _JOINER = 0x0A, 0x61, 0x301, 0x1F1E6, 0x1F468, 0x200D


@cache
def split_pattern(isolate: Isolate, split_kana: bool = False) -> str:
    """A regular expression whose matches follow each other without gaps in every text.

    A match is a run of whitespace, a run that the segmenter cuts, a run that it keeps whole, or a grapheme cluster that
    is a segment by itself. Clusters are recognised by rules GB9 and GB11 to GB13 of Unicode Standard Annex #29, since
    all others join letters of one kind of run. Exceptions, all of them outside of ordinary text: conjuncts of
    consonants of two scripts, punctuation after a letter that joins whatever follows (such as the Malayalam dot reph),
    and a joiner (U+200C, U+200D) without a character before it.
    """
    points = np.arange(0x110000, dtype=np.uint32)
    alone = np.ones(len(points), bool)
    classes = CharacterClasses(isolate, split_kana)(points, alone)
    classes[0xD800:0xE000] = SPACE - 1
    space = classes == SPACE
    kinds = [classes == kind for kind in range(ALONE + 1, int(classes.max()) + 1) if (classes == kind).any()]
    if isolate == "none":
        return "|".join(f"{_set(members)}+" for members in [space, *kinds])
    return "|".join([f"{_set(space)}+", *_clusters(kinds, (classes == ALONE) & ~space)])


def _clusters(kinds: list[Members], alone: Members) -> list[str]:
    joining = _joins([_LETTER])
    control = ~_joins([], [_ACCENT]) & alone
    prepended = _joins([], [_LETTER]) & alone
    prefix = f"{_set(prepended)}*" if prepended.any() else ""
    marks = f"{_set(joining)}*"
    patterns = [_run(members, joining, prefix) for members in kinds]
    flag, picture = _set(_joins([_REGIONAL]) & ~joining), _set(_joins([_PICTOGRAPH, _JOINER]) & ~joining)
    pictures = f"{picture}(?:{marks}{chr(_JOINER)}{picture})*"
    others = _set(alone & ~control)
    patterns.append(f"{prefix}(?:{flag}{flag}|{pictures}|{others}){marks}")
    return [*patterns, _set(control)] if control.any() else patterns


def _run(members: Members, joining: Members, prefix: str) -> str:
    """A maximal run of clusters of one kind."""
    if not prefix and not (joining & ~members).any():
        return f"{_set(members)}+"
    return f"(?:{prefix}{_set(members)}{_set(members | joining)}*)+"


def _joins(before: list[int], after: list[int] | None = None) -> Members:
    """The code points that share a cluster with the one before, or, where `after` is given, with the one after."""
    points = np.arange(0x110000, dtype=np.uint32)
    points[0xD800:0xE000] = _LINE_FEED
    rows = [_LINE_FEED, *before], [*(after or [])]
    columns = [np.full(len(points), point, np.uint32) for point in rows[0]]
    columns += [points, *(np.full(len(points), point, np.uint32) for point in rows[1])]
    starts = cluster_starts(np.stack(columns, axis=1).ravel()).reshape(len(points), -1)
    return ~starts[:, len(rows[0]) + (after is not None)]


def _set(members: Members) -> str:
    """The set in the brackets of a regular expression."""
    edges = np.flatnonzero(np.diff(members.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    ranges = [(_escaped(first), _escaped(end - 1), end - first) for first, end in edges.tolist()]
    spelled = (first if size == 1 else first + ("-" if size > 2 else "") + last for first, last, size in ranges)
    return f"[{''.join(spelled)}]"


def _escaped(point: int) -> str:
    character = chr(point)
    return f"\\{character}" if character in r"\[]^-" else character
