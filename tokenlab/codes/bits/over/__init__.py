"""Bit-level codes over the vocabulary of a base tokenizer that falls back to bytes."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
