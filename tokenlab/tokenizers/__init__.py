"""Tokenizers: training, spans of tokens in the text, export in the format of Hugging Face, and a second BPE inside the
tokens of another one (`learn_hierarchical`)."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
