"""Options of segmentation by n-gram statistics, and by the entropy of a language model."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, option

Decoder = Literal["viterbi", "greedy"]
Isolate = Literal["script", "punctuation", "none"]
SingleCharacter = Literal["literal", "self", "fallback"]
Tie = Literal["short", "long"]
BoundaryRule = Literal["maxima", "prominence", "threshold", "rise"]
"""Of `tokenlab.segment.boundaries`; `maxima`, the paper's, alone has no threshold."""

LARGEST_WEIGHT = 1e6
"""Above this, rounding errors of sums exceed the tolerance of ties."""


@dataclass(frozen=True)
class SegmentOptions:
    """Utilities of spans, and how segments are chosen by them.

    weight: lambda of the paper.

    entropy_only: U(w) = min(H_left, H_right), without PMI.

    single_character: the utility of a lone character c, which contains no pair:

    - `literal`: lambda min(H_left, H_right), the formula without its first term;
    - `self`: log(T / f(c)), the PMI of the character with itself as one token, without entropy;
    - a number: that number, without entropy;
    - `fallback`: chosen only where no longer candidate begins (decoder `greedy` only).

    With entropy_only, `self` and numbers become 0.

    decoder: `greedy` is Algorithm 1; `viterbi` maximises the sum of length times utility.

    isolate: `punctuation`: no span of several characters contains a character of Unicode category P, S or Z;
    `script`: runs of letters and digits of scripts with spaces stay whole; each run of a script without spaces (Han and
    kana, Thai, Lao, Khmer, Burmese, Tibetan) is segmented by itself; everything else is a segment by itself. Both never
    cut a cluster, and for both a character is a cluster (`tokenlab.ngrams.clusters`). `none` cuts clusters where the
    units of the statistics are code points.

    split_kana: whether a change between Han and kana ends a run; with isolate `script` only.

    tie: which span wins where utilities are within 1e-9 of each other.

    vbe_weight: mu, the weight of the variation of branching entropy (`utilities`). Where it is not 0, n-grams of three
    and more characters that occur once are no candidates: their branching entropy is 0, so V carries no information.
    For a single character, V is taken against the entropy of the characters of the text; only `literal` adds it.
    """

    weight: float = option("weight of the entropies", 1.25, flag="--lambda", metavar="X")
    entropy_only: bool = option("no PMI, entropies alone", False)
    single_character: SingleCharacter | float = option(
        "utility of a single character: lambda times its entropy (literal), log(T / f) (self), or a number; fallback, "
        "with the decoder greedy: it is chosen only where nothing longer begins",
        "literal",
    )
    decoder: Decoder = option(
        "viterbi: the segments with the largest sum of length times utility; greedy: from left to right, always the "
        "one with the highest utility",
        "viterbi",
    )
    isolate: Isolate = option(
        "script: runs of Chinese, Japanese, Thai, Lao, Khmer, Burmese and Tibetan are cut, words of other scripts and "
        "numbers stay whole, every other character is a segment; punctuation: only punctuation and symbols are "
        "segments by themselves; none: everything is cut alike",
        "script",
    )
    split_kana: bool = option("where scripts are isolated: a change between Han and kana is a boundary", False)
    tie: Tie = option("which of segments with equal utilities wins", "short")
    vbe_weight: float = option(
        "weight of the variation of branching entropy, which is not in the paper",
        0.5,
        metavar="X",
        aliases=("--variation",),
    )

    def __post_init__(self) -> None:
        for name, value in (("lambda", self.weight), ("vbe_weight", self.vbe_weight)):
            if not 0 <= value <= LARGEST_WEIGHT:
                raise ParameterError(f"{name} is {value}; it must be from 0 to {LARGEST_WEIGHT:g}")
        check_choice("decoder", self.decoder, Decoder)
        check_isolation(self.isolate, self.split_kana)
        check_choice("tie", self.tie, Tie)
        single = self.single_character
        if isinstance(single, str):
            if single not in get_args(SingleCharacter):
                raise ParameterError(
                    f"single_character is {single!r}; use one of {', '.join(get_args(SingleCharacter))} or a number"
                )
        elif not abs(single) <= LARGEST_WEIGHT:
            raise ParameterError(f"single_character is {single}; a number must be within ±{LARGEST_WEIGHT:g}")
        if single == "fallback" and self.decoder == "viterbi":
            raise ParameterError("single_character `fallback` has no utility to add up; use decoder `greedy` with it")


def check_isolation(isolate: Isolate, split_kana: bool) -> None:
    """Raises ParameterError for an unknown kind of isolation, and for runs that are split without any."""
    check_choice("isolate", isolate, Isolate)
    if split_kana and isolate != "script":
        raise ParameterError(f"split_kana has no meaning where isolate is `{isolate}`; leave it out")


@dataclass(frozen=True)
class BoundaryOptions:
    """The rule that turns entropies into boundaries.

    threshold: in nats; required by the rules that have one, and an error with `maxima`.
    """

    rule: BoundaryRule = option(
        "boundary before a character whose entropy is a local maximum (maxima), one of at least the threshold's "
        "prominence, above the threshold, or higher than the one before by more than it (rise)",
        "maxima",
        flag="--boundaries",
    )
    threshold: float | None = option(
        "least prominence, entropy or rise at a boundary; needed by all but maxima", None, metavar="NATS"
    )

    def __post_init__(self) -> None:
        check_choice("rule", self.rule, BoundaryRule)
        if self.rule == "maxima" and self.threshold is not None:
            raise ParameterError(f"threshold has no meaning with the rule `{self.rule}`; leave it out")
        if self.rule != "maxima" and (self.threshold is None or not math.isfinite(self.threshold)):
            given = "missing" if self.threshold is None else self.threshold
            raise ParameterError(f"threshold is {given}; the rule `{self.rule}` needs a number, in nats")
