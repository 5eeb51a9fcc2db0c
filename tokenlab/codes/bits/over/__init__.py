"""Bit-level codes over the vocabulary of a base tokenizer that falls back to bytes."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "bases": ["Base", "base_of"],
        "hugging_face": ["BitLevelTokenizer"],
        "reading": ["read_base"],
        "recycling": ["DeadToken", "dead_tokens"],
        "tokenizer": ["BitTokenizer"],
        "training": ["train_byte_fallback"],
    },
)
