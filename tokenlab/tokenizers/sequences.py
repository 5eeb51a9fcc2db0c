"""Sequences of atoms: symbols 0 to alphabet-1 in the order of the alphabet, and where each sequence begins.

`symbols` is int32[total] and `offsets` int64[sequences + 1]: sequence i is symbols[offsets[i]:offsets[i+1]]. No token
crosses the end of a sequence; empty sequences are allowed and change no result.
"""

from collections.abc import Sequence

import numpy as np

from tokenlab.core.errors import InputError, ParameterError

LARGEST_TOTAL = 2**30
"""Largest number of symbols and sequences together, whose positions are int32."""


def check_sequences(
    symbols: np.ndarray, offsets: np.ndarray, alphabet: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The two arrays as contiguous int32 and int64.

    Raises InputError where the offsets do not fit the symbols, or a symbol is outside 0..alphabet-1.
    """
    symbols, offsets = np.asarray(symbols), np.asarray(offsets)
    if symbols.ndim != 1 or offsets.ndim != 1 or not offsets.size:
        raise InputError("symbols and offsets must have one dimension, and offsets one entry more than sequences")
    for name, values in (("symbols", symbols), ("offsets", offsets)):
        if values.size and not np.issubdtype(values.dtype, np.integer):
            raise InputError(f"{name} are {values.dtype}; they must be integers")
    if offsets[0] != 0 or offsets[-1] != symbols.size or np.any(np.diff(offsets) < 0):
        raise InputError(f"offsets must rise from 0 to the number of symbols, {symbols.size}")
    if symbols.size + offsets.size > LARGEST_TOTAL:
        raise InputError(f"{symbols.size:,} symbols are too many at once; {LARGEST_TOTAL:,} are possible")
    if symbols.size:
        low, high = int(symbols.min()), int(symbols.max())
        if low < 0 or (alphabet is not None and high >= alphabet):
            wrong, limit = (low, "") if low < 0 else (high, f" to {alphabet} - 1")
            raise InputError(f"symbol {wrong} at {int(np.argmax(symbols == wrong))}: symbols go from 0{limit}")
    return np.ascontiguousarray(symbols, np.int32), np.ascontiguousarray(offsets, np.int64)


def check_sizes(sizes: Sequence[int], alphabet: int) -> np.ndarray:
    """Vocabulary sizes as int64.

    Raises ParameterError where there are none, they do not ascend, or one is below the alphabet.
    """
    if alphabet < 1:
        raise ParameterError(f"alphabet is {alphabet}; it must be at least 1")
    values = np.asarray(sizes, np.int64)
    if values.ndim != 1 or not values.size:
        raise ParameterError("sizes: name at least one vocabulary size")
    if np.any(np.diff(values) <= 0):
        raise ParameterError("sizes: vocabulary sizes must ascend, each named once")
    if values[0] < alphabet:
        raise ParameterError(f"sizes: {values[0]} is smaller than the alphabet, {alphabet}; use at least that")
    return values
