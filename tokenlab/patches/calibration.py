"""Thresholds of the entropy patcher, calibrated on a corpus to a stated mean patch length."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.patches.options import EntropyOptions
from tokenlab.patches.rules import entropy_starts


def mean_length(entropies: Sequence[NDArray[np.float32]], options: EntropyOptions) -> float:
    """Bytes per patch over all texts."""
    patches = sum(len(entropy_starts(text, options)) for text in entropies)
    return sum(map(len, entropies)) / patches if patches else 0.0


def calibrated(
    entropies: Sequence[NDArray[np.float32]], options: EntropyOptions, target: float = 4.0, tolerance: float = 0.1
) -> EntropyOptions:
    """The options with the threshold (rule `monotone`: the rise) that brings the mean patch length nearest to `target`.

    Args:
        entropies: float32[bytes] of each text of the corpus, in nats.
        options: rule and cap, and for `both` the rise, which stays.
        target: bytes per patch.
        tolerance: how far from the target the mean may be.

    The threshold lies halfway between two neighbouring values that occur, so that rounding errors below half their
    distance change no patch. Raises ParameterError for a target below 1, InputError where the mean cannot come so near.
    """
    if not target >= 1:
        raise ParameterError(f"target is {target}; a patch has at least 1 byte")
    name = "rise" if options.rule == "monotone" else "threshold"
    compared = [np.diff(text) if options.rule == "monotone" else text[1:] for text in entropies]
    values = np.unique(np.concatenate([np.zeros(0, np.float32), *compared])).astype(np.float64)
    if not len(values):
        raise InputError("no text with two bytes or more; there is nothing to calibrate on")
    between = np.concatenate([values[:1] - 1, (values[:-1] + values[1:]) / 2, values[-1:] + 1])

    def at(place: int) -> EntropyOptions:
        value = float(np.float32(between[place]))
        return replace(options, rise=value) if options.rule == "monotone" else replace(options, threshold=value)

    # More patches with a lower threshold, also under a cap, since two patches in one need no more cuts than apart.
    low, high = 0, len(between) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if mean_length(entropies, at(middle)) < target else (low, middle)
    found = min((at(low), at(high)), key=lambda chosen: abs(mean_length(entropies, chosen) - target))
    mean = mean_length(entropies, found)
    if abs(mean - target) > tolerance:
        raise InputError(
            f"patches of {mean:.2f} bytes come nearest to {target:g}: no {name} comes within {tolerance:g}; "
            "use another target, a larger cap or more text"
        )
    return found


def calibrated_threshold(
    entropies: Sequence[NDArray[np.float32]], options: EntropyOptions, target: float = 4.0, tolerance: float = 0.1
) -> float:
    """The number that `calibrated` finds, in nats."""
    found = calibrated(entropies, options, target, tolerance)
    return found.rise if options.rule == "monotone" else found.threshold
