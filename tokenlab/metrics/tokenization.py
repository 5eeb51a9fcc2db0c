"""Metrics of tokenized text from its counts: tokens, bits under their own bigram model, and characters.

The functions take numbers or NumPy arrays of equal shape.
"""

from typing import NamedTuple, TypeVar

import numpy as np

Numbers = TypeVar("Numbers", float, np.ndarray)


class TokenCounts(NamedTuple):
    """Counts of one tokenized text, or of several as arrays."""

    tokens: int | np.ndarray
    bits: float | np.ndarray
    """Bits of all tokens under their own bigram model, as `tokenlab.metrics.bigram_bits`."""
    characters: int | np.ndarray


def bigram_perplexity(bits: Numbers, tokens: Numbers) -> Numbers:
    """2 to the power of bits per token.

    It rises when the same text is cut into fewer tokens, so compare texts by bits per character.
    """
    return 2.0 ** (bits / tokens)


def bits_per_character(bits: Numbers, characters: Numbers) -> Numbers:
    """Bits of all tokens, divided by the characters they encode: comparable across codes and vocabularies."""
    return bits / characters
