"""Metrics of tokenized text: from its counts (tokens, bits under their own bigram model, characters), and from the time
that its generation took (Bit-level BPE, section 5).

A tokenizer that needs fewer tokens for the same text may give fewer tokens a second and still be faster; its speed is
made comparable in tokens of a baseline. The functions take numbers or NumPy arrays of equal shape.
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


def tokens_per_second(tokens: Numbers, seconds: Numbers) -> Numbers:
    """TPS: generated tokens, special tokens included, divided by the seconds of generating them."""
    return tokens / seconds


def relative_gain(baseline_tokens: Numbers, tokens: Numbers) -> Numbers:
    """Tokens of the baseline divided by tokens of this tokenizer on the same text; above 1 where this is shorter."""
    return baseline_tokens / tokens


def perceived_tps(tps: Numbers, baseline_tokens: Numbers, tokens: Numbers) -> Numbers:
    """Perceived TPS = TPS x tokens(baseline) / tokens(this) on the same text: speed in tokens of the baseline."""
    return tps * relative_gain(baseline_tokens, tokens)
