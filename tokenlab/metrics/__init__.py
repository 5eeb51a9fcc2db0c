"""Metrics of segmentations, of tokenized text and of tokenizers, independent of methods and corpora."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "bigrams": ["bigram_bits", "bits_of_counts"],
        "classification": ["PairedDifference", "confusion_counts", "paired_difference", "weighted_f1"],
        "counting": ["TextTokenizer", "Tokens", "count_tokens"],
        "registry": ["Metric", "find_metric", "of_segmentation", "of_tokenization", "of_tokenizer"],
        "renyi": ["renyi_efficiency", "renyi_entropy"],
        "segmentation": ["Counts", "SegmentationScore", "score_segmentation"],
        "tokenization": [
            "bigram_perplexity",
            "bits_per_character",
            "perceived_tps",
            "relative_gain",
            "tokens_per_second",
        ],
        "tokenizer_measures": ["TokenizerCounts", "gini"],
        "words": ["TextWithWords", "texts_with_words"],
    },
)
