"""Metrics of segmentations and of tokenized text, independent of methods and corpora."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "bigrams": ["bigram_bits", "bits_of_counts"],
        "registry": ["Metric", "find_metric", "of_segmentation", "of_tokenization"],
        "segmentation": ["Counts", "SegmentationScore", "score_segmentation"],
        "tokenization": ["bigram_perplexity", "bits_per_character"],
    },
)
