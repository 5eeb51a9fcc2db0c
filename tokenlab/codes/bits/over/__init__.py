"""Bit-level codes over the vocabulary of a base tokenizer that falls back to bytes."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "bases": ["Base", "base_of", "read_base"],
        "hugging_face": ["BitLevelTokenizer"],
        "recycling": ["DeadToken", "dead_tokens"],
        "tokenizer": ["BitTokenizer"],
        "training": ["train_byte_fallback"],
    },
)
