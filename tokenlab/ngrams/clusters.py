"""Extended grapheme clusters: what a reader takes for one character (Unicode Standard Annex #29).

A cluster is never empty and, in most text, a single code point. Those of several are letters with marks (Thai, Burmese,
Hindi, decomposed Latin), Hangul in separate jamo, and sequences of emoji.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tokenlab.ngrams.properties import SPACE_SET, PropertyTable

# Kinds of code points: the values of Grapheme_Cluster_Break and Indic_Conjunct_Break that the rules tell apart. Text
# without kinds from L on has no cluster of several code points; those from SPACING on join whatever stands before them.
_OTHER, _CONTROL, _CONSONANT, _PICTOGRAPH, _LV, _LVT, _L, _V, _T = range(9)
_REGIONAL, _PREPEND, _BARE_LINKER, _SPACING, _EXTEND, _NONJOINER, _LINKER, _ZWJ = range(9, 17)

_KINDS = PropertyTable(
    [
        (SPACE_SET + r"\p{GCB=Control}\p{GCB=CR}\p{GCB=LF}", _CONTROL),
        (r"\p{GCB=ZWJ}", _ZWJ),
        (r"\p{GCB=Extend}&&\p{InCB=Linker}", _LINKER),
        (r"\p{GCB=Extend}&&\p{InCB=Extend}", _EXTEND),
        (r"\p{GCB=Extend}", _NONJOINER),
        (r"\p{InCB=Linker}", _BARE_LINKER),
        (r"\p{GCB=SpacingMark}", _SPACING),
        (r"\p{GCB=Prepend}", _PREPEND),
        (r"\p{GCB=Regional_Indicator}", _REGIONAL),
        (r"\p{GCB=L}", _L),
        (r"\p{GCB=V}", _V),
        (r"\p{GCB=T}", _T),
        (r"\p{GCB=LV}", _LV),
        (r"\p{GCB=LVT}", _LVT),
        (r"\p{InCB=Consonant}", _CONSONANT),
        (r"\p{Extended_Pictographic}", _PICTOGRAPH),
    ],
    _OTHER,
)


def cluster_starts(points: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Where an extended grapheme cluster begins, bool[length]; points: uint32[length].

    The rules are GB1 to GB13 of the annex, with the properties and the form of GB9c that the installed module `regex`
    has, whose `\\X` finds the same clusters. The one deviation: whitespace (`str.isspace`) always is a cluster by
    itself, where the annex would add a mark after a space to it.
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
            )
        linked = kind in (_LINKER, _BARE_LINKER) or (linked and kind in (_EXTEND, _ZWJ))
        if kind == _PICTOGRAPH:
            pictograph = 1
        elif pictograph == 1 and kind == _ZWJ:
            pictograph = 2
        elif pictograph == 2 or kind not in (_EXTEND, _NONJOINER, _LINKER):
            pictograph = 0
        odd = kind == _REGIONAL and not odd
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
