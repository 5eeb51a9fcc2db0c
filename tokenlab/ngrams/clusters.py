"""Orthographic units: what a reader takes for one character, and never cuts; units of n-grams, called clusters.

They are the extended grapheme clusters of Unicode Standard Annex #29, which it allows to be tailored, with these kept
together, too: a preposed vowel of Thai or Lao and its consonant, and a following vowel; a Burmese letter and its vowel
or visarga; a consonant of Burmese or Khmer and the one subjoined to it; small kana and the long mark, and the kana or
Han before them.

A cluster is never empty and, in most text, a single code point. Those of several are letters with marks (Thai, Burmese,
Hindi, decomposed Latin), Hangul in separate jamo, syllables such as しょ, and sequences of emoji.

A unit of an n-gram is a number, its symbol: a code point, or that of a cluster of several. The symbols of clusters come
after all code points, in the order of their text, so that a table of n-grams of single code points is the same whether
it counts clusters or characters.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np
import regex
from numba import njit
from numpy.typing import NDArray

SPACE_SET = r"\s\x1C-\x1F"
"""The characters for which `str.isspace` is true, inside the brackets of a set of the module `regex`."""

_UNKNOWN = -128
# Kinds of code points: the values of Grapheme_Cluster_Break and Indic_Conjunct_Break that the rules tell apart. Text
# without kinds from L on has no cluster of several code points; those from SPACING on join whatever stands before them.
_OTHER, _CONTROL, _CONSONANT, _PICTOGRAPH, _KANA, _LV, _LVT, _L, _V, _T = range(10)
_REGIONAL, _PREPEND, _BARE_LINKER, _SMALL_KANA, _SPACING, _EXTEND, _NONJOINER, _LINKER, _ZWJ = range(10, 19)
COMPOSED = 0x110000
"""The symbol of the first cluster of several code points; the next one has the next number."""
_CLUSTERS_PER_STEP = 1 << 16


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


# Beyond the annex. Vowels that are written before their consonant had its kind Prepend up to Unicode 6.0.
_PREPOSED = r"\p{Logical_Order_Exception}"
_FOLLOWING = "ะาๅະາ"
_BURMESE = r"\p{Script=Myanmar}&&\p{Mc}"
_SMALL = (
    "ぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶㇰ-ㇿｧ-ｯ"
    "\U0001b132\U0001b150-\U0001b152\U0001b155\U0001b164-\U0001b167ーｰ"
)

_KINDS = PropertyTable(
    [
        (SPACE_SET + r"\p{GCB=Control}\p{GCB=CR}\p{GCB=LF}", _CONTROL),
        (r"\p{GCB=ZWJ}", _ZWJ),
        (r"\p{GCB=Extend}&&\p{InCB=Linker}", _LINKER),
        (r"\p{GCB=Extend}&&\p{InCB=Extend}", _EXTEND),
        (r"\p{GCB=Extend}", _NONJOINER),
        (r"\p{InCB=Linker}", _BARE_LINKER),
        (r"\p{GCB=SpacingMark}" + _FOLLOWING, _SPACING),
        (_BURMESE, _SPACING),
        (r"\p{GCB=Prepend}" + _PREPOSED, _PREPEND),
        (_SMALL, _SMALL_KANA),
        (r"\p{GCB=Regional_Indicator}", _REGIONAL),
        (r"\p{GCB=L}", _L),
        (r"\p{GCB=V}", _V),
        (r"\p{GCB=T}", _T),
        (r"\p{GCB=LV}", _LV),
        (r"\p{GCB=LVT}", _LVT),
        (r"\p{InCB=Consonant}", _CONSONANT),
        (r"\p{Extended_Pictographic}", _PICTOGRAPH),
        (r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}", _KANA),
    ],
    _OTHER,
)


def cluster_starts(points: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Where a cluster begins, bool[length]; points: uint32[length].

    The rules are GB1 to GB13 of the annex, with the properties and the form of GB9c that the installed module `regex`
    has. What is kept together beyond its `\\X`: preposed vowels count as Prepend (GB9b), following vowels and signs of
    Thai, Lao and Burmese as SpacingMark (GB9a), and small kana join kana and Han. And whitespace (`str.isspace`) always
    is a cluster by itself, where the annex would add a mark after a space to it.
    """
    kinds = _KINDS(points)
    if not len(kinds) or kinds.max() < _L:
        return np.ones(len(points), bool)
    return _starts(kinds)


@njit(cache=True, nogil=True)
def _starts(kinds):  # type: ignore[no-untyped-def]
    starts = np.empty(kinds.size, np.bool_)
    before = _CONTROL
    linked = False  # by a linker and any number of extending marks (GB9c)
    pictograph = 0  # 1: a pictograph and any number of extending marks, 2: a joiner after them (GB11)
    odd = False  # number of regional indicators (GB12, GB13)
    kana = False  # kana or Han and any number of marks
    for i in range(kinds.size):
        kind = kinds[i]
        if before == _CONTROL or kind == _CONTROL:
            starts[i] = True
        elif kind >= _SPACING:
            starts[i] = False
        else:
            starts[i] = not (
                before == _PREPEND
                or _in_syllable(before, kind)
                or (kind == _CONSONANT and linked)
                or (kind == _PICTOGRAPH and pictograph == 2)
                or (kind == _REGIONAL and odd)
                or (kind == _SMALL_KANA and kana)
            )
        linked = kind in (_LINKER, _BARE_LINKER) or (linked and kind in (_EXTEND, _ZWJ))
        if kind == _PICTOGRAPH:
            pictograph = 1
        elif pictograph == 1 and kind == _ZWJ:
            pictograph = 2
        elif pictograph == 2 or kind not in (_EXTEND, _NONJOINER, _LINKER):
            pictograph = 0
        odd = kind == _REGIONAL and not odd
        kana = kind in (_KANA, _SMALL_KANA) or (kana and kind >= _SPACING)
        before = kind
    return starts


@njit(cache=True, nogil=True)
def _in_syllable(before, kind):  # type: ignore[no-untyped-def]
    """Whether two code points belong to one syllable of Hangul (GB6 to GB8)."""
    if before == _L:
        return kind in (_L, _V, _LV, _LVT)
    if before in (_LV, _V):
        return kind in (_V, _T)
    return before in (_LVT, _T) and kind == _T


def number_clusters(
    points: NDArray[np.uint32], starts: NDArray[np.bool_]
) -> tuple[NDArray[np.uint32], tuple[str, ...]]:
    """A text as symbols, uint32[clusters], and its clusters of several code points, sorted.

    Args:
        starts: the `cluster_starts` of the points.
    """
    found: defaultdict[str, int] = defaultdict(lambda: COMPOSED + len(found))
    symbols = cluster_symbols(points, starts, found.__getitem__)
    composed = tuple(sorted(found))
    final = np.empty(len(composed), np.uint32)
    final[[found[cluster] - COMPOSED for cluster in composed]] = np.arange(COMPOSED, COMPOSED + len(composed))
    several = symbols >= COMPOSED
    symbols[several] = final[symbols[several] - COMPOSED]
    return symbols, composed


def cluster_symbols(
    points: NDArray[np.uint32], starts: NDArray[np.bool_], symbol_of: Callable[[str], int]
) -> NDArray[np.uint32]:
    """The symbol of each cluster, uint32[clusters].

    Args:
        starts: the `cluster_starts` of the points.
        symbol_of: the symbol of a cluster of several code points.
    """
    first = np.flatnonzero(starts)
    ends = np.append(first[1:], len(points))
    symbols = points[first]
    several = np.flatnonzero(ends - first > 1)
    text = points.tobytes().decode("utf-32-le") if len(several) else ""
    for step in range(0, len(several), _CLUSTERS_PER_STEP):
        part = several[step : step + _CLUSTERS_PER_STEP]
        edges = zip(first[part].tolist(), ends[part].tolist(), strict=True)
        symbols[part] = [symbol_of(text[start:end]) for start, end in edges]
    return symbols


def composed_symbols(composed: Sequence[str]) -> Callable[[str], int]:
    """The symbol of each of these clusters of several code points, sorted; that of any other is `unseen_symbol`."""
    symbol_of = {cluster: COMPOSED + number for number, cluster in enumerate(composed)}
    return partial(_symbol_of, symbol_of, unseen_symbol(composed))


def _symbol_of(symbol_of: dict[str, int], unseen: int, cluster: str) -> int:
    return symbol_of.get(cluster, unseen)


def unseen_symbol(composed: Sequence[str]) -> int:
    """The symbol of every cluster that is not among these: the one after the last."""
    return COMPOSED + len(composed)


def spell(symbols: NDArray[np.uint32], composed: Sequence[str]) -> Iterator[str]:
    """The text of each row of symbols, uint32[rows, n]."""
    n = symbols.shape[1]
    flat = symbols.ravel().tolist()
    units = [chr(symbol) if symbol < COMPOSED else composed[symbol - COMPOSED] for symbol in flat]
    return ("".join(units[start : start + n]) for start in range(0, len(units), n))
