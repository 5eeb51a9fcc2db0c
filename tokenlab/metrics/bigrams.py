"""Bits of token sequences under their own maximum-likelihood bigram model (Latom, section 4.3.2).

The model is not smoothed and has no end of sequence; the first token of a sequence follows BOS. It is estimated on the
tokens that it scores, so it measures how regular they are, not how well a model would generalise.
"""

import numpy as np

from tokenlab.core.errors import InputError
from tokenlab.metrics.kernels import bigram_keys, bigram_table, sum_n_log_n

_DENSE = 1 << 24
"""Entries of the largest table of all pairs; above this size, the occurring pairs are sorted instead."""


def bigram_bits(symbols: np.ndarray, offsets: np.ndarray) -> float:
    """Bits of all tokens, - sum log2 c(previous, token) / c(previous as context).

    Args:
        symbols: int32[total], from 0.
        offsets: int64[sequences + 1]; sequence i is symbols[offsets[i]:offsets[i+1]]; empty sequences are skipped.

    Returns:
        Bits, 0.0 where there are no tokens. They depend only on the counts: the same counts in another order give the
        same float.

    Raises InputError for offsets that do not ascend from 0 to the number of symbols, and for a negative symbol.
    """
    if offsets[0] != 0 or offsets[-1] != len(symbols) or (np.diff(offsets) < 0).any() or symbols.min(initial=0) < 0:
        raise InputError("offsets must ascend from 0 to the number of symbols, and symbols count from 0")
    base = int(symbols.max()) + 1 if symbols.size else 1
    if (base + 1) * base <= _DENSE:
        table = bigram_table(symbols, offsets, base)
        return bits_of_counts(table.ravel(), table.sum(axis=1))
    keys = bigram_keys(symbols, offsets, base)
    keys.sort()
    pairs = _count_sorted(keys)
    keys //= base
    return bits_of_counts(pairs, _count_sorted(keys))


def bits_of_counts(pairs: np.ndarray, contexts: np.ndarray) -> float:
    """The same bits from the counts of pairs (BOS among the first members) and of contexts, in any order."""
    return max(sum_n_log_n(contexts) - sum_n_log_n(pairs), 0.0)


def _count_sorted(keys: np.ndarray) -> np.ndarray:
    """Counts of the distinct keys, from sorted keys, at least one: int64[distinct keys]."""
    return np.diff(np.flatnonzero(keys[1:] != keys[:-1]) + 1, prepend=0, append=keys.size)
