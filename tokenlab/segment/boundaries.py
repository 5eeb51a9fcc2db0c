"""Rules that place boundaries from entropies: pure functions of one text's values, in characters or in bytes alike.

A rule gets values without gaps: float32[positions], the entropy in nats at every position that has one. It returns the
indices of the values before which a boundary stands, ascending. A new rule is a function, a line in `RULES` and a name
in `tokenlab.segment.options.BoundaryRule`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float32]
Indices = NDArray[np.int64]
Rule = Callable[[Values, float], Indices]


def maxima(values: Values, threshold: float = 0.0) -> Indices:
    """Strict local maxima: higher than the values on both sides; of a plateau, its first position.

    The first and the last value have only one neighbour and never count. As `scipy.signal.find_peaks`, except that the
    latter returns the middle of a plateau.
    """
    if len(values) < 3:
        return np.empty(0, np.int64)
    first = np.concatenate(([0], np.flatnonzero(values[1:] != values[:-1]) + 1))  # of each run of equal values
    level = values[first]
    peaks = (level[1:-1] > level[:-2]) & (level[1:-1] > level[2:])
    return first[1:-1][peaks]


def prominent_maxima(values: Values, threshold: float) -> Indices:
    """Strict local maxima of at least this prominence."""
    peaks = maxima(values)
    return peaks[prominences(values, peaks) >= threshold]


def above_threshold(values: Values, threshold: float) -> Indices:
    """Values above the threshold."""
    return np.flatnonzero(values > threshold)


def rises(values: Values, threshold: float) -> Indices:
    """Values above the one before by more than the threshold (the monotone rule of the Byte Latent Transformer)."""
    return 1 + np.flatnonzero(np.diff(values.astype(np.float64)) > threshold)


RULES: dict[str, Rule] = {
    "maxima": maxima,
    "prominence": prominent_maxima,
    "threshold": above_threshold,
    "rise": rises,
}
"""The rules by the names that parameters and command line use; `maxima` ignores the threshold."""


def prominences(values: Values, peaks: Indices) -> Values:
    """Height of each peak above the higher of its two bases, as `scipy.signal.peak_prominences`.

    A base is the lowest value between the peak and the nearest higher value on that side, or the end of the text.
    """
    if not len(peaks):
        return np.empty(0, np.float32)
    cuts = np.concatenate(([0], peaks))
    valleys = np.minimum.reduceat(values, cuts)  # The lowest values before, between and after the peaks.
    heights = values[peaks]
    left = _bases(heights, valleys[:-1])
    right = _bases(heights[::-1], valleys[:0:-1])[::-1]
    return heights - np.maximum(left, right)


def _bases(heights: Values, valleys: Values) -> Values:
    """The lowest value between each peak and the last higher peak before it; `valleys[i]` lies before peak i."""
    bases = np.empty_like(heights)
    higher: list[tuple[float, float]] = []  # (height, base) of peaks that no later peak has reached, descending
    for number, (height, base) in enumerate(zip(heights.tolist(), valleys.tolist(), strict=True)):
        while higher and higher[-1][0] <= height:
            base = min(base, higher.pop()[1])
        higher.append((height, base))
        bases[number] = base
    return bases
