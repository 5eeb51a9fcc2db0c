"""How often each symbol occurs in texts, by plain byte fallback and by bit-level codes over the same vocabulary.

In mode `paper`, encoding goes on at a place where the code would raise, so that every text counts.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple, get_args

import numpy as np

from tokenlab.codes.bits.options import BitOptions, Emission, Mode
from tokenlab.codes.bits.stream import rewrite_batch
from tokenlab.codes.bits.symbols import LONG, OTHER, RESET, is_first

VARIANTS = tuple(
    BitOptions(mode, prefixes, emission)
    for emission, prefixes, mode in product(get_args(Emission), (3, 4), get_args(Mode))
)
"""Every bit-level code."""


class SymbolCounts(NamedTuple):
    """The symbols of texts: int64[517 + ids]."""

    plain: np.ndarray
    """By plain byte fallback."""
    rewritten: dict[BitOptions, np.ndarray]
    """By each of `VARIANTS`."""
    ambiguous: dict[BitOptions, int]
    """The texts at which mode `paper` raises, for each code of mode `lossless`."""


def count_symbols(batches: Iterable[Sequence[np.ndarray]], others: int) -> SymbolCounts:
    """Encode all texts, each by itself. Memory does not grow with their number.

    Args:
        batches: texts by plain byte fallback, int32 symbols (`tokenlab.codes.bits.symbols`) of each.
        others: the ids of tokens other than bytes are below it.
    """
    size = OTHER + others
    found = SymbolCounts(
        np.zeros(size, np.int64),
        {options: np.zeros(size, np.int64) for options in VARIANTS},
        {options: 0 for options in VARIANTS if options.mode == "lossless"},
    )
    for batch in batches:
        symbols, starts = joined(batch)
        found.plain[:] += np.bincount(symbols, minlength=size)
        shielded = _shielded(symbols, size)
        for options in VARIANTS:
            if options.mode == "paper":
                rewritten, _ = rewrite_batch(shielded, starts, options)
                found.rewritten[options][:] += _unshielded(np.bincount(rewritten, minlength=size + LONG), size)
            else:
                rewritten, ends = rewrite_batch(symbols, starts, options)
                found.rewritten[options][:] += np.bincount(rewritten, minlength=size)
                resets = np.searchsorted(ends, np.flatnonzero(rewritten == RESET), "right")
                found.ambiguous[options] += len(np.unique(resets))
    return found


def joined(texts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The symbols of texts one after the other, int32[n], and where each begins and the last ends, int64[texts + 1]."""
    return np.concatenate([np.zeros(0, np.int32), *texts]), np.cumsum([0, *map(len, texts)], dtype=np.int64)


def _shielded(symbols: np.ndarray, size: int) -> np.ndarray:
    """Bytes that could be misread as payloads, as tokens from `size` on: they end runs alike, and are never misread.
    No three-byte character has such a byte."""
    return np.where((symbols < LONG) & is_first(symbols), symbols + size, symbols)


def _unshielded(counts: np.ndarray, size: int) -> np.ndarray:
    """Counts with these tokens among the bytes again."""
    found = counts[:size].copy()
    found[:LONG] += counts[size:]
    return found
