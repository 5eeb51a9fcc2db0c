"""Utility of a span as a segment.

U(w) = min PMI + lambda min(H_left, H_right) (Entropy-driven pre-tokenization, section 3.1). Our own addition is a third
term, mu min(V_left, V_right), with the variation of branching entropy of Magistry and Sagot (2012): V_right(w) is
H_right(w) minus H_right of w without its last character, V_left(w) is H_left(w) minus H_left of w without its first.
The entropy rises where a word ends, whatever the length and the frequency of the word.
"""

import math

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import ParameterError
from tokenlab.ngrams.counting import NgramStatistics
from tokenlab.segment.options import SegmentOptions


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
