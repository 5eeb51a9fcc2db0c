"""Bigram perplexity of sequences of tokens under their own maximum-likelihood model (Latom, section 4.3.2).

The model is not smoothed and not told the end of a sequence; the first token of a sequence follows BOS. It is estimated
on the very tokens that it scores, so what it says is how regular they are, not how well a model would generalise.
"""

import numpy as np

from tokenlab.metrics.kernels import bigram_keys, bigram_table, count_sorted, sum_n_log_n

_DENSE = 1 << 24
"""Entries of the largest table of all pairs; beyond that the pairs that occur are sorted."""


def bigram_bits(symbols: np.ndarray, offsets: np.ndarray) -> float:
    """Bits of all tokens, - sum log2 c(previous, token) / c(previous as context).

    Args:
        symbols: int32[total], from 0.
        offsets: int64[sequences + 1]; sequence i is symbols[offsets[i]:offsets[i+1]], empty ones are passed over.

    Returns:
        Bits, 0.0 where there are no tokens. Of the counts alone, in whatever order they come: the same counts give the
        same float.
    """
    base = int(symbols.max()) + 1 if symbols.size else 1
    if (base + 1) * base <= _DENSE:
        table = bigram_table(symbols, offsets, base)
        return bits_of_counts(table.ravel(), table.sum(axis=1))
    keys = bigram_keys(symbols, offsets, base)
    keys.sort()
    pairs = count_sorted(keys)
    keys //= base
    return bits_of_counts(pairs, count_sorted(keys))


def bits_of_counts(pairs: np.ndarray, contexts: np.ndarray) -> float:
    """The same from counts of the pairs (BOS among the first members) and of the contexts, in any order."""
    return max(sum_n_log_n(contexts) - sum_n_log_n(pairs), 0.0)


def bigram_perplexity(bits: float, tokens: int) -> float:
    """2 to the bits per token; it rises when the same text is cut into fewer tokens, so compare bits per character."""
    return 2.0 ** (bits / tokens)


def bits_per_character(bits: float, characters: int) -> float:
    """Bits of all tokens over the characters that they stand for: comparable across codes and vocabularies."""
    return bits / characters
