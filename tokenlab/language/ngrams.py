"""Interpolated Kneser-Ney n-gram models of symbols: the baseline that a trained language model has to beat.

Orders are computed one after the other, each from sorted arrays of the distinct n-grams of the training text, so memory
is that of one order: some 60 bytes a symbol of the training text.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_least

Texts = Sequence[NDArray[np.integer[Any]]]
"""int[symbols] of each text: its symbols, from 0."""

_KEY_BITS = 64


def kneser_ney_nats(training: Texts, evaluated: Texts, symbols: int, largest: int) -> NDArray[np.float64]:
    """float64[largest, symbols of `evaluated`]: -ln P, in nats, of each symbol given those before it in its text, by
    the models of the orders 1 to `largest`.

    P is interpolated with the order below down to the uniform distribution. Below the highest order an n-gram counts as
    often as different symbols precede it; before a text stands a symbol of its own. Each order has one discount,
    n1 / (n1 + 2 n2) of its numbers of n-grams counted once and twice, or a half where none is counted once (Chen and
    Goodman 1999, sections 2.7 and 3.1; Ney, Essen and Kneser 1994).

    Args:
        training: texts that are counted; at least one symbol.
        evaluated: texts to score; they may have symbols that training lacks.
        symbols: number of different symbols.
        largest: the highest order.

    Raises ParameterError for an order below 1, or one whose n-grams do not fit in 64 bits.
    """
    check_least("largest", largest, 1)
    bits = symbols.bit_length()  # `symbols` itself stands before each text.
    if largest * bits > _KEY_BITS:
        raise ParameterError(
            f"largest is {largest}; n-grams of {symbols} symbols have at most {_KEY_BITS // bits} symbols"
        )
    seen, asked = _Symbols.of(training), _Symbols.of(evaluated)
    below = np.full(len(asked.ids), 1 / symbols)
    nats = np.empty((largest, len(asked.ids)))
    counted, queries = _extended(seen, None, 0, bits, symbols), _extended(asked, None, 0, bits, symbols)
    for n in range(1, largest + 1):
        nats[n - 1] = -np.log(_interpolated(counted, queries, below, bits))
        if n < largest:
            # Of one longer: each distinct one is a symbol that precedes its last n symbols.
            counted = _extended(seen, counted, n, bits, symbols)
            below = _interpolated(np.unique(counted) & np.uint64((1 << n * bits) - 1), queries, below, bits)
            queries = _extended(asked, queries, n, bits, symbols)
    return nats


def fewest_nats(training: Sequence[str], evaluated: Sequence[str], largest: int = 7) -> float:
    """Nats of all evaluated texts by the n-grams of bytes of the training texts, of the order that gives the fewest.

    Args:
        training, evaluated, largest: as in `kneser_ney_nats`; with what ends a text, if it is to be predicted.
    """
    counted, scored = ([np.frombuffer(text.encode(), np.uint8) for text in texts] for texts in (training, evaluated))
    return float(kneser_ney_nats(counted, scored, 256, largest).sum(axis=1).min())


class _Symbols(NamedTuple):
    """Texts end to end. place: of each symbol in its text, from 0."""

    ids: NDArray[np.uint64]
    place: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Texts) -> "_Symbols":
        sizes = np.array([*map(len, texts)], np.int64)
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        ids = np.concatenate([np.zeros(0, np.uint64), *texts], dtype=np.uint64, casting="unsafe")
        return cls(ids, np.arange(len(ids)) - starts)


def _extended(text: _Symbols, shorter: NDArray[np.uint64] | None, n: int, bits: int, before: int) -> NDArray[np.uint64]:
    """uint64[symbols]: the n + 1 symbols that end at each place as one number, the last symbol in its lowest bits.

    shorter: the same of n symbols. before: the symbol before a text.
    """
    if shorter is None:
        return text.ids
    earlier = np.full(len(text.ids), before, np.uint64)
    inside = np.flatnonzero(text.place >= n)
    earlier[inside] = text.ids[inside - n]
    return shorter | earlier << np.uint64(n * bits)


def _interpolated(
    counted: NDArray[np.uint64], queries: NDArray[np.uint64], below: NDArray[np.float64], bits: int
) -> NDArray[np.float64]:
    """P of the last symbol of each query. counted: n-grams, each as often as it counts. below: P by the order below."""
    ngrams, counts = np.unique(counted, return_counts=True)
    once, twice = (int((counts == count).sum()) for count in (1, 2))
    discount = once / (once + 2 * twice) if once else 0.5
    contexts, first = np.unique(ngrams >> np.uint64(bits), return_index=True)
    totals, kinds = np.add.reduceat(counts, first), np.diff(first, append=len(ngrams))
    count = _looked_up(ngrams, counts, queries)
    of_context = queries >> np.uint64(bits)
    total = _looked_up(contexts, totals, of_context)
    left = discount * _looked_up(contexts, kinds, of_context) * below
    known = np.maximum(count - discount, 0) + left
    return np.where(total > 0, known / np.maximum(total, 1), below)


def _looked_up(keys: NDArray[np.uint64], values: NDArray[np.int64], asked: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The values of ascending keys; 0 for one that is not there."""
    places = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.where(keys[places] == asked, values[places], 0)
