"""Metrics. They know no method and no corpus."""

from tokenlab.metrics.bigrams import bigram_bits, bigram_perplexity, bits_of_counts, bits_per_character
from tokenlab.metrics.segmentation import Counts, SegmentationScore, score_segmentation

__all__ = [
    "Counts",
    "SegmentationScore",
    "bigram_bits",
    "bigram_perplexity",
    "bits_of_counts",
    "bits_per_character",
    "score_segmentation",
]
