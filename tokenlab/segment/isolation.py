"""Isolation: which characters may share a segment with others.

Characters are clusters (`tokenlab.ngrams.clusters`), and a cluster has one class. With `isolate: script`, by the first
rule that applies:

1. whitespace separates;
2. characters of scripts that are written without spaces are FREE: runs of them are segmented, each by itself. That
   holds for digits, signs and marks too, but not for punctuation; the marks between Tibetan syllables are none;
3. letters and decimal digits of all other scripts, or shared by several (Script=Common, Inherited), are WHOLE: a run of
   them is one segment, with one of `.．%％@·'’` between two of them or a comma between two digits (`3.14`, `don't`);
4. everything else is ALONE: punctuation, symbols, emoji, marks without a base.

Scripts are those of the property Script, not Script_Extensions.
"""

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tokenlab.metrics.words import OTHER_UNSPACED_SCRIPTS
from tokenlab.ngrams.clusters import SPACE_SET, PropertyTable, cluster_starts
from tokenlab.segment.options import Isolate

SPACE, ALONE, WHOLE, FREE = range(4)
"""A separator; always a segment by itself; part of a run that is one segment; free to be segmented.

Each class from FREE on is a kind of run: segments do not cross from one to another.
"""

# What stands inside the brackets of a set of the module `regex`.
HAN, HIRAGANA, KATAKANA = r"\p{Script=Han}○", r"\p{Script=Hiragana}", r"\p{Script=Katakana}"
KANA = HIRAGANA + KATAKANA + "ーｰ"
SIGNS = ".．%％@·'’"
DIGITS = r"\p{Nd}"
# Marks that extend no cluster, such as vowel signs of Tai Tham, are characters of their own within a word.
_LETTERS_OF_WORDS = r"\p{L}[\p{M}&&\p{GCB=Other}]"
_PUNCTUATION = r"\p{P}--[\u0F0B\u0F0C]"

# Until a class is known: a sign's and a comma's is that of what stands around it, a format character's of its cluster.
_DIGIT, _SIGN, _COMMA, _FORMAT = range(124, 128)
_NUMBERS = "0-9０-９\u2160-\u2179％．＋＞∶‰+㈨℃."
_LETTERS = "A-Za-zＡ-Ｚａ-ｚ\u03b1-\u03d0＆"
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002ceaf\U0002f800-\U0002fa1f○"
_JOINED = re.compile(rf"[{_NUMBERS}]+|[{_LETTERS}]+|([^{_NUMBERS}{_LETTERS}{_HAN}])\1*")


def run_sets(split_kana: bool = False) -> tuple[str, ...]:
    """The members of each kind of run, FREE, FREE + 1, ..., as they stand inside the brackets of a set of `regex`.

    Args:
        split_kana: whether Han and kana are two kinds or one.
    """
    others = [rf"\p{{Script={script}}}" for script in OTHER_UNSPACED_SCRIPTS]
    return (HAN, KANA, *others) if split_kana else (HAN + KANA, *others)


class CharacterClasses:
    """The class of every code point under one kind of isolation."""

    def __init__(self, isolate: Isolate, split_kana: bool = False) -> None:
        space = (SPACE_SET, SPACE)
        self._by_script = isolate == "script"
        if isolate == "script":
            runs = [(members, FREE + number) for number, members in enumerate(run_sets(split_kana))]
            marks = [(r"\p{Cf}", _FORMAT), (SIGNS, _SIGN), (",", _COMMA), (_PUNCTUATION, ALONE)]
            self._table = PropertyTable([space, *marks, *runs, (DIGITS, _DIGIT), (_LETTERS_OF_WORDS, WHOLE)], ALONE)
        elif isolate == "punctuation":
            self._table = PropertyTable([space, (r"\p{P}\p{S}\p{Z}", ALONE)], FREE)
        else:
            self._table = PropertyTable([space], FREE)

    def __call__(self, points: NDArray[np.uint32], starts: NDArray[np.bool_] | None = None) -> NDArray[np.int8]:
        """SPACE, ALONE, WHOLE, or a kind of run from FREE on for each code point, int8[length].

        A code point inside a cluster has the class of the cluster, which is that of the cluster's first code point that
        is not of category Cf; where punctuation alone is isolated, ALONE if any of its code points is punctuation.

        Args:
            starts: the `cluster_starts` of the points, where they are known.
        """
        classes = self._table(points)
        starts = cluster_starts(points) if starts is None else starts
        if starts.all():
            return _in_context(classes)
        first = np.flatnonzero(starts)
        clusters = _of_clusters(classes, first) if self._by_script else np.minimum.reduceat(classes, first)
        return np.repeat(_in_context(clusters), np.diff(first, append=len(classes)))


def _of_clusters(classes: NDArray[np.int8], first: NDArray[np.int64]) -> NDArray[np.int8]:
    """The class of each cluster, given where they begin."""
    with_class = np.where(classes == _FORMAT, len(classes), np.arange(len(classes)))
    deciding = np.minimum.reduceat(with_class, first)
    return np.append(classes, _FORMAT)[deciding].astype(np.int8)


def _in_context(classes: NDArray[np.int8]) -> NDArray[np.int8]:
    """The classes of clusters, with those that the neighbours decide."""
    digits = classes == _DIGIT
    classes[digits] = WHOLE
    classes[classes == _FORMAT] = ALONE
    signs = np.flatnonzero(classes >= _SIGN)
    inside = _between(classes == WHOLE, signs) & ((classes[signs] == _SIGN) | _between(digits, signs))
    classes[signs] = np.where(inside, WHOLE, ALONE)
    return classes


def _between(flags: NDArray[np.bool_], places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the flag stands on both sides of each place."""
    padded = np.pad(flags, 1)
    return padded[places] & padded[places + 2]


def apply_slm_rules(text: str, boundaries: Iterable[int]) -> list[int]:
    """The boundaries inside a text, with these changed: a run of digits and signs of numbers is one segment, a run of
    Latin or Greek letters is one, and a run of the same punctuation mark is one.

    Args:
        text: without whitespace.
        boundaries: offsets in code points at which the second and later segments begin.
    """
    kept = set(boundaries)
    for run in _JOINED.finditer(text):
        kept.difference_update(range(run.start() + 1, run.end()))
        kept.update(run.span())
    return sorted(kept - {0, len(text)})
