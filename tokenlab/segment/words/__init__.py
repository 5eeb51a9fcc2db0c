"""A word model: segmentation by a bigram of words with word classes, learned from unsegmented text by sampling."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
