"""Files of encoded corpora and of their tokenizers: the numbers of the atoms of every sequence, and BPE's merges."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tokenlab.core.errors import InputError

_COLUMN = "atoms"
_MERGES = "merges.npy"


class Sequences(NamedTuple):
    """Encoded sequences, the atoms that occur numbered without gaps."""

    symbols: np.ndarray
    """int32[total], 0 to len(atoms) - 1."""
    offsets: np.ndarray
    """int64[sequences + 1]: sequence i is symbols[offsets[i]:offsets[i + 1]]."""
    atoms: np.ndarray
    """int64[symbols]: the number of the atom of each symbol, ascending."""


def write_sequences(path: Path, numbers: np.ndarray, lengths: Sequence[int]) -> None:
    """Write the numbers of the atoms of all sequences as Parquet, a list for each.

    Args:
        numbers: integers[total], from 0.
        lengths: atoms of each sequence.
    """
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    smallest = numbers.astype(np.min_scalar_type(numbers.max(initial=0)))
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(smallest))
    pq.write_table(pa.table({_COLUMN: lists}), path, compression="zstd")


def read_sequences(path: Path, atoms: np.ndarray | None = None) -> Sequences:
    """Read what `write_sequences` wrote.

    Args:
        atoms: those of other sequences, whose symbols are used here, too.

    Raises InputError for an atom that is not among them.
    """
    lists = pq.read_table(path).column(_COLUMN).combine_chunks()
    numbers = lists.values.to_numpy(zero_copy_only=False)
    offsets = lists.offsets.to_numpy()
    if atoms is None:
        atoms = np.flatnonzero(np.bincount(numbers))
    symbol = np.full(max(int(atoms.max()), int(numbers.max(initial=0))) + 1, -1, np.int32)
    symbol[atoms] = np.arange(len(atoms))
    symbols = symbol[numbers]
    if (symbols < 0).any():
        number = numbers[symbols < 0][0]
        raise InputError(
            f"{path}: atom {number} is not in the training text; set held_out to false, or leave the code out"
        )
    return Sequences(symbols, offsets, atoms)


def write_merges(folder: Path, merges: np.ndarray) -> None:
    """Write the merges of a variant's BPE tokenizer into its folder."""
    np.save(folder / _MERGES, merges, allow_pickle=False)


def read_merges(folder: Path) -> np.ndarray:
    """The merges of a variant: int32[merges, 2], as `bpe_sweep` returned them."""
    return np.load(folder / _MERGES, allow_pickle=False)
