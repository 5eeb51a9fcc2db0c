"""BPE over sequences of atoms, at every vocabulary size from one training (Latom, section 4.3).

Atoms are symbols 0 to alphabet - 1 in the order of the alphabet: `symbols` is int32[total] and `offsets`
int64[sequences + 1], sequence i is symbols[offsets[i]:offsets[i + 1]]. No token crosses the end of a sequence; empty
sequences are allowed and change no result.

The merges of a smaller vocabulary are the first merges of a larger one, so one training gives the curve. There is no
pre-tokenization: merges cross whitespace, but not the end of a sequence. The merges are those of Hugging Face's
trainer, whose conventions are used: every adjacent position counts, the smallest pair of ids wins a tie, pairs are
replaced from left to right, and training continues while any pair is left.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.tokenizers.bpe_kernels import collect_tokens, lay_out, merge_all

Progress = Callable[[int, int], None]
"""Is told of steps that are done, and of all."""

_SHORT = 2**31
"""Cells from which on positions are int64."""
_LARGEST_COUNT = 2**62
_ONCE = np.empty(0, np.int64)
"""The weights of sequences that occur once each."""
_LOOK = 0.2
"""Seconds between looks at the merges that are being learned."""


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


class SizeRows(NamedTuple):
    """A text at several vocabulary sizes; sizes that the merges do not reach have no row."""

    sizes: np.ndarray
    """int64[rows]: entries of the vocabulary, including the alphabet."""
    tokens: np.ndarray
    """int64[rows]: tokens of the text."""
    bits: np.ndarray
    """float64[rows]: bits of the text under its own bigram model, as `tokenlab.metrics.bigram_bits` computes them."""


class BpeSweep(NamedTuple):
    """The merges that BPE learned, and the training text at each size that was reached."""

    sizes: np.ndarray
    tokens: np.ndarray
    bits: np.ndarray
    merges: np.ndarray
    """int32[merges, 2]: left and right token; the merge of rank r makes token alphabet + r. A vocabulary of n entries
    has the first n - alphabet merges."""


def bpe_sweep(
    symbols: np.ndarray,
    offsets: np.ndarray,
    alphabet: int,
    sizes: Sequence[int],
    weights: np.ndarray | None = None,
    progress: Progress | None = None,
) -> BpeSweep:
    """Train BPE once, up to the largest size, and record token count and bigram bits at every size.

    Args:
        symbols: int32[total], 0..alphabet-1, ids in the order of the alphabet.
        offsets: int64[sequences + 1], where sequences begin.
        alphabet: number of symbols; all of them are in the vocabulary, used or not.
        sizes: ascending vocabulary sizes, not below the alphabet. Training stops at the last one, or when nothing is
            left to merge; larger sizes get no row.
        weights: int64[sequences], how often each sequence occurs, at least 1; once by default. The result is that of
            the repeated sequences, in the memory of the distinct ones.
        progress: called now and then with the merges learned and the most that there can be.

    Raises:
        InputError: symbols and offsets are not sequences over the alphabet; weights are not their numbers, or the
            symbols of all repetitions are more than int64 can count.
        ParameterError: no sizes, or sizes out of order or below the alphabet.
    """
    wanted = check_sizes(sizes, alphabet)
    symbols, offsets = check_sequences(symbols, offsets, alphabet)
    repeated = check_weights(weights, np.diff(offsets))
    cells, starts = _cells(symbols, offsets)
    merges = np.full((min(int(wanted[-1]) - alphabet, symbols.size), 2), -1, np.int32)
    with ThreadPoolExecutor(1) as pool:  # The kernel holds no lock of Python's, so that `merges` can be looked at.
        work = pool.submit(merge_all, cells, starts, repeated, alphabet, wanted, merges, True)
        while progress is not None and wait([work], _LOOK).not_done:
            progress(int(np.count_nonzero(merges[:, 0] >= 0)), len(merges))
        learned, tokens, bits = work.result()
    return BpeSweep(wanted[: tokens.size], tokens, bits, merges[:learned].copy())


def _cells(symbols: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cells of `lay_out`, with positions of the shortest type that is enough."""
    return lay_out(symbols, offsets, np.empty(0, np.int32 if symbols.size + offsets.size < _SHORT else np.int64))


def check_weights(weights: np.ndarray | None, lengths: np.ndarray) -> np.ndarray:
    """The weights of sequences that are not empty, int64. Raises InputError as `bpe_sweep`."""
    if weights is None:
        return _ONCE
    weights = np.asarray(weights)
    if weights.shape != lengths.shape or not np.issubdtype(weights.dtype, np.integer) or np.any(weights < 1):
        raise InputError(f"weights must be {len(lengths)} whole numbers, one for each sequence, at least 1")
    if sum(map(int.__mul__, weights.tolist(), lengths.tolist())) >= _LARGEST_COUNT:
        raise InputError("the counts are too large: all pieces together have 2^62 symbols or more; divide the counts")
    return weights[lengths > 0].astype(np.int64)


def apply_merges(
    symbols: np.ndarray, offsets: np.ndarray, alphabet: int, merges: np.ndarray, sizes: Sequence[int]
) -> SizeRows:
    """Token count and bigram bits of another text at every size, with merges that were learned before.

    The bits are of this text under its own bigram model. On the training text the result equals that of `bpe_sweep`.

    Raises:
        InputError: symbols and offsets are not sequences over the alphabet.
        ParameterError: merges over another alphabet, or sizes as in `bpe_sweep`.
    """
    wanted = check_sizes(sizes, alphabet)
    merges = check_merges(merges, alphabet)
    cells, starts = _cells(*check_sequences(symbols, offsets, alphabet))
    _, tokens, bits = merge_all(cells, starts, _ONCE, alphabet, wanted, merges, False)
    return SizeRows(wanted[: tokens.size], tokens, bits)


def tokenize(
    symbols: np.ndarray, offsets: np.ndarray, alphabet: int, merges: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The ids of the tokens (int32) and the offsets of the sequences among them (int64), as Hugging Face encodes.

    merges: int32[merges, 2] of `bpe_sweep`, or the first of them. Raises InputError and ParameterError as
    `apply_merges`.
    """
    merges = check_merges(merges, alphabet)
    symbols, offsets = check_sequences(symbols, offsets, alphabet)
    cells, starts = _cells(symbols, offsets)
    merge_all(cells, starts, _ONCE, alphabet, np.empty(0, np.int64), merges, False)
    return collect_tokens(cells, token_widths(alphabet, merges), offsets)


def token_widths(alphabet: int, merges: np.ndarray) -> np.ndarray:
    """Symbols in each token: int64[vocabulary]."""
    widths = [1] * alphabet
    for left, right in merges.tolist():
        widths.append(widths[left] + widths[right])
    return np.array(widths, np.int64)


def check_merges(merges: np.ndarray, alphabet: int) -> np.ndarray:
    """The merges as contiguous int32. Raises ParameterError where they are not merges over this alphabet."""
    merges = np.ascontiguousarray(merges, np.int32)
    if merges.ndim != 2 or merges.shape[1] != 2:
        raise ParameterError(f"merges have the shape {merges.shape}; they must be left and right token, one row each")
    wrong = (merges.min(axis=1) < 0) | (merges.max(axis=1) >= alphabet + np.arange(len(merges)))
    if wrong.any():
        rank = int(np.argmax(wrong))
        left, right = merges[rank].tolist()
        raise ParameterError(f"merges: {left} + {right} (rank {rank}) cannot be over an alphabet of {alphabet} symbols")
    return merges
