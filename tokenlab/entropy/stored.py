"""Stored entropies of a corpus: for each of its shards a Parquet file of the same name.

Columns: id (string), entropy (list<float32>, in nats, a value per character or byte, null where there is none); rows as
in the corpus. `manifest.json` names the model, the corpus and the options of the values; so does each shard, under
`tokenlab.entropy` in the metadata of its schema. `scored_corpus` writes them.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.text.store import parquet_batches

ENTROPY = pa.field("entropy", pa.list_(pa.float32()), nullable=False)
SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), ENTROPY])
METADATA = b"tokenlab.entropy"
MANIFEST = "manifest.json"

_ROWS = 1 << 10  # Per batch when reading: about 200 kB for sentences.


def read_entropies(folder: str | Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """The id and the entropies of each document, in the order of the corpus; NaN where there is none.

    Raises:
        InputError: no entropies in `folder`, a shard missing or damaged.
    """
    folder = Path(folder)
    try:
        names = sorted(json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["corpus"])
    except (OSError, ValueError, LookupError, TypeError):
        raise InputError(f"{folder}: no entropies of a corpus (no valid {MANIFEST}); check the path") from None
    for name in names:
        for batch in parquet_batches(folder / name, SCHEMA, _ROWS):
            yield from zip(batch.column("id").to_pylist(), entropy_lists(batch.column("entropy")), strict=True)


def entropy_column(entropies: Sequence[NDArray[np.float32]]) -> pa.Array:
    """Arrays of values as one list column, NaN as null."""
    offsets = np.cumsum([0, *map(len, entropies)], dtype=np.int64)
    flat = np.concatenate([np.empty(0, np.float32), *entropies])
    values = pa.array(flat, pa.float32(), mask=np.isnan(flat))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)


def entropy_lists(column: pa.Array) -> list[NDArray[np.float32]]:
    """The rows of a list column as arrays, null as NaN."""
    offsets = column.offsets.to_numpy()
    flat = column.values.to_numpy(zero_copy_only=False).astype(np.float32)
    return [flat[start:end] for start, end in pairwise(offsets.tolist())]
