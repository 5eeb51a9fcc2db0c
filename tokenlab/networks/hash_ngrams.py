"""Hash n-gram embeddings (BLT, Pagnoni et al. 2024, section 3.2.1): a rolling polynomial hash of the last symbols
chooses rows of a table, which are added to the embedding of a symbol.

One table serves all lengths; the length is part of the hash. The paper has no such detail; as there, the sum of
symbol and n-gram embeddings is divided by the number of lengths plus one.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tokenlab.networks.blocks import matrix
from tokenlab.networks.options import HashShape

_PRIME = np.uint64(1_000_000_007)
_MIX = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier that spreads hashes over the table (2^64 divided by the golden ratio; Knuth, volume 3, 6.4)."""
NONE = -1
"""Instead of a row, where fewer symbols stand before."""


def ngram_rows(ids: NDArray[np.int64], offsets: NDArray[np.int64], shape: HashShape) -> NDArray[np.int64]:
    """The row of each n-gram that ends at each symbol, int64[symbols, lengths]; NONE where it would begin before its
    passage.

    Args:
        ids: int64[symbols], passages end to end.
        offsets: int64[passages + 1], where each passage begins.
        shape: of the table.
    """
    position = np.arange(len(ids)) - np.repeat(offsets[:-1], np.diff(offsets))
    rows = np.full((len(ids), shape.largest - shape.smallest + 1), NONE, np.int64)
    symbols = ids.astype(np.uint64) + np.uint64(1)
    rolling = np.zeros(len(ids), np.uint64)
    power = np.uint64(1)
    with np.errstate(over="ignore"):
        for n in range(1, shape.largest + 1):
            # rolling[i] = sum over j < n of symbols[i - j] * prime^j; what lies before a passage is masked below.
            rolling[n - 1 :] += symbols[: max(0, len(ids) - n + 1)] * power
            power *= _PRIME
            if n >= shape.smallest:
                mixed = (rolling + np.uint64(n)) * _MIX
                found = ((mixed >> np.uint64(16)) % np.uint64(shape.rows)).astype(np.int64)
                rows[:, n - shape.smallest] = np.where(position >= n - 1, found, NONE)
    return rows


class HashNgrams(nn.Module):
    """The table of embeddings, float32[rows, width]."""

    def __init__(self, shape: HashShape, width: int) -> None:
        super().__init__()
        self.shape = shape
        self.table = matrix(shape.rows, width)

    def forward(self, states: Tensor, rows: Tensor) -> Tensor:
        """Embeddings of symbols [symbols, width] with those of their n-grams (`ngram_rows`) added."""
        there = (rows != NONE).to(self.table.dtype)
        with torch.autocast(states.device.type, enabled=False):
            added = functional.embedding_bag(rows.clamp(min=0), self.table, mode="sum", per_sample_weights=there)
        return (states + added) / (rows.shape[1] + 1)
