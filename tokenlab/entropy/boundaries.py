"""Boundaries from entropies: pure functions of one text's values, in characters or in bytes alike.

`entropy[t]` is H(x_t | x_<t) in nats, NaN where there is none (inside a token, at dropped whitespace, at a start that
has nothing before it). A boundary at t stands before t. Positions without a value are passed over: neighbours are the
nearest values on either side, and no boundary stands where there is no value.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokenlab.errors import ParameterError

Rule = Literal["maxima", "prominence", "threshold", "rise"]


@dataclass(frozen=True)
class BoundaryOptions:
    """Which positions are boundaries.

    rule: `maxima`: strict local maxima (the paper's "peaks"); `prominence`: those of at least this prominence;
    `threshold`: values above it; `rise`: values that exceed the one before by more than it (BLT's monotone rule).
    threshold: in nats; `maxima` has none, the others need one.
    """

    rule: Rule = "maxima"
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise ParameterError(f"boundaries is {self.rule!r}; use one of {', '.join(get_args(Rule))}")
        if self.rule == "maxima" and self.threshold is not None:
            raise ParameterError("threshold has no meaning with boundaries `maxima`; leave it out")
        if self.rule != "maxima" and (self.threshold is None or not np.isfinite(self.threshold)):
            raise ParameterError(f"threshold is {self.threshold}; boundaries `{self.rule}` need a number, in nats")


def entropy_boundaries(entropy: ArrayLike, options: BoundaryOptions) -> NDArray[np.int64]:
    """The positions at which boundaries stand, ascending."""
    values = np.asarray(entropy, np.float32)
    places = np.flatnonzero(~np.isnan(values))
    values = values[places]
    if options.rule == "maxima":
        return places[local_maxima(values)]
    limit = float(options.threshold or 0.0)
    if options.rule == "prominence":
        peaks = local_maxima(values)
        return places[peaks[prominences(values, peaks) >= limit]]
    if options.rule == "threshold":
        return places[values > limit]
    return places[1:][np.diff(values.astype(np.float64)) > limit]


def local_maxima(values: NDArray[np.float32]) -> NDArray[np.int64]:
    """Strict local maxima: higher than the values on both sides; of a plateau, its first position.

    The first and the last value have a neighbour on one side only and are none. As `scipy.signal.find_peaks`, which
    gives the middle of a plateau.
    """
    if len(values) < 3:
        return np.empty(0, np.int64)
    first = np.concatenate(([0], np.flatnonzero(values[1:] != values[:-1]) + 1))  # of each run of equal values
    level = values[first]
    peaks = (level[1:-1] > level[:-2]) & (level[1:-1] > level[2:])
    return first[1:-1][peaks]


def prominences(values: NDArray[np.float32], peaks: NDArray[np.int64]) -> NDArray[np.float32]:
    """How far each peak stands above the higher of its two bases, as `scipy.signal.peak_prominences`.

    A base is the lowest value between the peak and the nearest higher value on that side, or the end of the text.
    """
    if not len(peaks):
        return np.empty(0, np.float32)
    cuts = np.concatenate(([0], peaks))
    valleys = np.minimum.reduceat(values, cuts)  # before, between and behind the peaks: lowest values
    heights = values[peaks]
    left = _bases(heights, valleys[:-1])
    right = _bases(heights[::-1], valleys[:0:-1])[::-1]
    return heights - np.maximum(left, right)


def _bases(heights: NDArray[np.float32], valleys: NDArray[np.float32]) -> NDArray[np.float32]:
    """The lowest value before each peak and behind the last higher peak; `valleys[i]` lies before peak i."""
    bases = np.empty_like(heights)
    higher: list[tuple[float, float]] = []  # (height, base) of peaks that none behind them has reached, descending
    for number, (height, base) in enumerate(zip(heights.tolist(), valleys.tolist(), strict=True)):
        while higher and higher[-1][0] <= height:
            base = min(base, higher.pop()[1])
        higher.append((height, base))
        bases[number] = base
    return bases
