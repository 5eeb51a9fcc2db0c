"""Metrics of a segmentation by whether the training text contains the gold words.

All are None where no list of known words was given, or where there is no gold word of the kind.
"""

from tokenlab.metrics.segmentation import SegmentationScore


def oov_rate(score: SegmentationScore) -> float | None:
    """Share of the gold words missing from the training text (out of vocabulary), 0..1."""
    return score.unknown.gold / score.words.gold if score.unknown and score.words.gold else None


def oov_recall(score: SegmentationScore) -> float | None:
    """Share of these words that were found, 0..1."""
    return score.unknown.recall if score.unknown else None


def iv_recall(score: SegmentationScore) -> float | None:
    """Share of the gold words in the training text (in vocabulary) that were found, 0..1."""
    return score.known.recall if score.known else None
