"""tokenlab: how should this text be cut?

The library of the project: text in, numbers and tokenizers out. It is independent of DVC, Prefect and MLflow.

The names below are those that most programs need; docs/api.md lists those of all packages.
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "core.errors": ["InputError", "TokenlabError"],
        "codes": ["BitLevelTokenizer", "LatomOptions", "character_corpus", "learn_latom", "read_code", "write_code"],
        "exact": ["CharacterModel", "complete", "score_text"],
        "tokenizers.export.hugging_face": ["export_tokenizer", "save_tokenizer_folder"],
        "tokenizers.export.options": ["ExportOptions"],
        "metrics": ["count_tokens", "renyi_efficiency", "score_segmentation"],
        "ngrams": ["NgramStatistics", "StatisticsOptions", "ngram_statistics", "read_statistics", "write_statistics"],
        "patches": ["EntropyPatcher", "SpaceOptions", "SpacePatcher", "read_patcher"],
        "segment": ["BoundaryOptions", "SegmentOptions", "Segmenter", "segment_by_entropy"],
        "segment.words": ["WordModel", "WordOptions"],
        "tokenizers": ["BpeOptions", "learn_hierarchical", "read_text_tokenizer", "save_tokenizer", "train_bpe"],
    },
)
