"""Metrics of segmentations, of tokenized text and of tokenizers, independent of methods and corpora."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
