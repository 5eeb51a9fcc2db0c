"""The registry of metrics.

`tokenlab score` prints the metrics of segmentations in this order. Evaluation stages, tables and MLflow take their
columns from here.

A new metric is a function in a module of its own and a line in `SEGMENTATION` or `TOKENIZATION`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from tokenlab.metrics.known_words import iv_recall, oov_rate, oov_recall
from tokenlab.metrics.segmentation import SegmentationScore
from tokenlab.metrics.tokenization import TokenCounts, bigram_perplexity, bits_per_character

COUNT, SHARE = "count", "share"
"""Units of integers, and of numbers from 0 to 1, which are shown as percentages."""


@dataclass(frozen=True)
class Metric:
    """A named number computed from counts.

    function: of a `SegmentationScore` or of `TokenCounts`; None where it is undefined.
    unit: `COUNT`, `SHARE`, or a unit such as "bits per character".
    better: None where a difference is neither.
    needs_known_words: undefined without the words of the training text.
    """

    name: str
    function: Callable[[Any], Any]
    unit: str
    better: Literal["higher", "lower"] | None
    needs_known_words: bool = False


SEGMENTATION: tuple[Metric, ...] = (
    Metric("sentences", attrgetter("sentences"), COUNT, None),
    Metric("gold_words", attrgetter("words.gold"), COUNT, None),
    Metric("predicted_words", attrgetter("words.predicted"), COUNT, None),
    Metric("precision", attrgetter("words.precision"), SHARE, "higher"),
    Metric("recall", attrgetter("words.recall"), SHARE, "higher"),
    Metric("f1", attrgetter("words.f1"), SHARE, "higher"),
    Metric("han_f1", attrgetter("han_words.f1"), SHARE, "higher"),
    Metric("boundary_precision", attrgetter("boundaries.precision"), SHARE, "higher"),
    Metric("boundary_recall", attrgetter("boundaries.recall"), SHARE, "higher"),
    Metric("boundary_f1", attrgetter("boundaries.f1"), SHARE, "higher"),
    Metric("oov_rate", oov_rate, SHARE, None, needs_known_words=True),
    Metric("oov_recall", oov_recall, SHARE, "higher", needs_known_words=True),
    Metric("iv_recall", iv_recall, SHARE, "higher", needs_known_words=True),
)

TOKENIZATION: tuple[Metric, ...] = (
    Metric("tokens", attrgetter("tokens"), COUNT, "lower"),
    Metric("perplexity", lambda counts: bigram_perplexity(counts.bits, counts.tokens), "tokens", "lower"),
    Metric(
        "bits_per_character",
        lambda counts: bits_per_character(counts.bits, counts.characters),
        "bits per character",
        "lower",
    ),
)


def of_segmentation(score: SegmentationScore | None) -> dict[str, float | int | None]:
    """Every metric of a segmentation by name; all None where there is no score, as for text without gold words."""
    return {metric.name: None if score is None else metric.function(score) for metric in SEGMENTATION}


def of_tokenization(tokens: int | np.ndarray, bits: float | np.ndarray, characters: int | np.ndarray) -> dict[str, Any]:
    """Every metric of a tokenized text by name; arrays of equal shape give arrays."""
    counts = TokenCounts(tokens, bits, characters)
    return {metric.name: metric.function(counts) for metric in TOKENIZATION}


def find_metric(name: str) -> Metric | None:
    """The metric with this name, or None."""
    return next((metric for metric in (*SEGMENTATION, *TOKENIZATION) if metric.name == name), None)
