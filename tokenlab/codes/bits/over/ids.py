"""Ids of a bit-level code over a base vocabulary of V ids.

A payload v below 100h has the id of byte v; from 100h up, V + v - 100h. Prefix p has V + 100h + p - 38h, all four of
them; the reset has V + 260. A byte that has no token but is a payload (C0, C1) has the next id.

Recycled ids (the paper's open question 3): the 128 long payloads that can occur, the prefixes and the reset take the
given ids of the base, in this order, and what is left over takes ids from V up. The other long payloads have no id.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tokenlab.codes.bits.symbols import ADDED, LONG, OTHER, PREFIX, RESET, is_first, is_second, live_payloads
from tokenlab.core.errors import ParameterError


@dataclass(frozen=True, eq=False)
class BitIds:
    """Tables between ids and symbols.

    Attributes:
        base: int32[V], the symbol of each id in an encoding of the base.
        symbols: int32[size], the symbol of each id of the code.
        ids: int32[OTHER + V], the id of each symbol, -1 for those that cannot occur and have none.
    """

    base: np.ndarray
    symbols: np.ndarray
    ids: np.ndarray

    @property
    def size(self) -> int:
        """The number of ids."""
        return len(self.symbols)


def bit_ids(base_size: int, byte_ids: np.ndarray, recycled: Sequence[int] | None = None) -> BitIds:
    """The ids of a code.

    Args:
        base_size: V.
        byte_ids: int32[256], -1 for a byte without a token.
        recycled: ids of the base that can never occur, which are given away; None to leave all where they are.

    Raises ParameterError for recycled ids that are out of range or there twice.
    """
    if recycled and (len(set(recycled)) < len(recycled) or not 0 <= min(recycled) <= max(recycled) < base_size):
        raise ParameterError(f"recycled ids must be different ids of the base, 0 to {base_size - 1}")
    base = np.arange(OTHER, OTHER + base_size, dtype=np.int32)
    present = np.flatnonzero(byte_ids >= 0)
    base[byte_ids[present]] = present
    added = np.arange(LONG, LONG + ADDED) if recycled is None else np.r_[live_payloads(), PREFIX : RESET + 1]
    absent = np.flatnonzero(byte_ids < 0)
    added = np.r_[added, absent[is_first(absent) | is_second(absent)]]
    given = np.array(recycled or (), np.int64)[: len(added)]
    symbols = np.r_[base, added[len(given) :]].astype(np.int32)
    symbols[given] = added[: len(given)]
    ids = np.full(OTHER + base_size, -1, np.int32)
    ids[symbols] = np.arange(len(symbols))
    return BitIds(base, symbols, ids)
