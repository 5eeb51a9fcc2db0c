"""Bit-level codes over the vocabulary of a base tokenizer that falls back to bytes."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "bases": ["Base", "base_of", "read_base"],
        "hugging_face": ["BitLevelTokenizer"],
        "tokenizer": ["BitTokenizer", "DeadToken", "dead_tokens"],
        "training": ["train_byte_fallback"],
    },
)
