"""How good a span is as a segment.

U(w) = min PMI + lambda min(H_left, H_right) (Entropy-driven pre-tokenization, section 3.1). Our own addition is a third
term, mu min(V_left, V_right), with the variation of branching entropy of Magistry and Sagot (2012): V_right(w) is
H_right(w) less H_right of w without its last character, V_left(w) is H_left(w) less H_left of w without its first.
Where a word ends the entropy rises, whatever the length and the frequency of the word.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tokenlab.errors import ParameterError
from tokenlab.ngrams import NgramStatistics

Decoder = Literal["viterbi", "greedy"]
Isolate = Literal["script", "punctuation", "none"]
Tie = Literal["short", "long"]
SingleCharacter = Literal["literal", "self", "fallback"]

LARGEST_WEIGHT = 1e6
"""Above it the tolerance of ties is lost in the rounding of sums."""


@dataclass(frozen=True)
class SegmentOptions:
    """How segments are valued and chosen.

    weight: lambda of the paper. entropy_only: U(w) = min(H_left, H_right), no PMI. single_character: utility of a
    lone character c, which has no pair inside:

    - `literal`: lambda min(H_left, H_right), the formula without its first term;
    - `self`: log(T / f(c)), the PMI of the character with itself as one token, no entropy;
    - a number: that number, no entropy;
    - `fallback`: chosen only where no longer candidate begins (decoder `greedy` alone).

    With entropy_only, `self` and numbers become 0. decoder: `greedy` is Algorithm 1, `viterbi` maximises the sum of
    length times utility. isolate: `punctuation`: no longer span holds a character of Unicode category P, S or Z;
    `script`: runs of Latin letters and digits stay whole, every other character that is not Han stands alone, and
    runs of Han are segmented each by itself. tie: of utilities within 1e-9 the shorter or the longer span wins.

    variation: mu. Where it is not 0, n-grams of three and more characters that were seen once are no candidates:
    nothing branches there, so V is 0 and says nothing. A single character has the entropy of the characters of the
    text to rise from, and has the term with `literal` alone.
    """

    weight: float = 1.0
    entropy_only: bool = False
    single_character: SingleCharacter | float = "literal"
    decoder: Decoder = "viterbi"
    isolate: Isolate = "script"
    tie: Tie = "short"
    variation: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("lambda", self.weight), ("variation", self.variation)):
            if not 0 <= value <= LARGEST_WEIGHT:
                raise ParameterError(f"{name} is {value}; it must be from 0 to {LARGEST_WEIGHT:g}")
        for name, allowed in (("decoder", Decoder), ("isolate", Isolate), ("tie", Tie)):
            if getattr(self, name) not in get_args(allowed):
                raise ParameterError(f"{name} is {getattr(self, name)!r}; use one of {', '.join(get_args(allowed))}")
        single = self.single_character
        if isinstance(single, str):
            if single not in get_args(SingleCharacter):
                raise ParameterError(
                    f"single_character is {single!r}; use one of {', '.join(get_args(SingleCharacter))} or a number"
                )
        elif not abs(single) <= LARGEST_WEIGHT:
            raise ParameterError(f"single_character is {single}; a number must be within ±{LARGEST_WEIGHT:g}")
        if single == "fallback" and self.decoder == "viterbi":
            raise ParameterError(
                "single_character `fallback` has no utility that a sum could hold; use decoder `greedy` with it"
            )


def utilities(statistics: NgramStatistics, options: SegmentOptions) -> NDArray[np.float64]:
    """U of every n-gram, float64[rows], in the unit of the statistics."""
    contexts = np.minimum(statistics.left_entropy, statistics.right_entropy)
    weighted = contexts if options.entropy_only else options.weight * contexts
    if options.variation:
        weighted = weighted + options.variation * _variations(statistics)
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
    if options.variation:
        longer = statistics.level[min(2, statistics.options.n_max)]
        utility[longer:][statistics.count[longer:] == 1] = -np.inf
    return utility


def _variations(statistics: NgramStatistics) -> NDArray[np.float64]:
    """min(V_left, V_right) of every n-gram, float64[rows]."""
    characters = int(statistics.level[1])
    share = statistics.count[:characters] / statistics.count[:characters].sum()
    unit = 1.0 if statistics.options.log_base == "e" else math.log(2.0)
    at_start = -float((share * np.log(share)).sum()) / unit  # entropy behind and before the empty string
    left, right = statistics.left_entropy, statistics.right_entropy
    left_before = np.where(statistics.suffix < 0, at_start, left[statistics.suffix])
    right_before = np.where(statistics.parent < 0, at_start, right[statistics.parent])
    return np.minimum(left - left_before, right - right_before)
