"""Entropies of a corpus at rest, beside it: for each of its shards a Parquet file of the same name.

Columns: id (string), entropy (list<float32>, a value per character or byte, null where there is none), rows as in the
corpus. `manifest.json` says which model, corpus and options the values belong to, and so does each shard, under
`tokenlab.entropy` in the metadata of its schema. A shard is there whole or not at all: after an interruption only the
missing ones are made, and the result is the same. Memory does not grow with the corpus.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokenlab.entropy.windows import text_blocks
from tokenlab.errors import InputError
from tokenlab.files import atomic_file, write_text
from tokenlab.text.documents import Document
from tokenlab.text.store import corpus_batches, parquet_batches, read_shard

if TYPE_CHECKING:
    from tokenlab.entropy.scorer import Scorer, ScoringOptions

ENTROPY = pa.field("entropy", pa.list_(pa.float32()), nullable=False)
SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), ENTROPY])
METADATA = b"tokenlab.entropy"
MANIFEST = "manifest.json"

_ROWS = 1 << 10  # Values are read back a batch at a time: of sentences, some 200 kB.


class ScoredCorpus(NamedTuple):
    """How much was scored. `shards_found`: those that an earlier run had made."""

    shards: int
    shards_found: int
    documents: int
    """In the shards made by this run."""
    values: int
    """Entropies in the shards made by this run, those that are missing included."""


def score_corpus(
    scorer: "Scorer",
    corpus: str | Path,
    folder: str | Path,
    options: "ScoringOptions",
    progress: Callable[[int], object] = lambda characters: None,
) -> ScoredCorpus:
    """Write the entropies of a corpus into `folder`, which is made; what is there of the same run is kept.

    Args:
        corpus: a folder that `write_corpus` wrote.
        progress: told of characters as they are scored.

    Raises:
        InputError: no corpus, a damaged one, or `folder` holds entropies of another model, corpus or other options.
        ParameterError: as `Scorer.window`.
    """
    corpus_batches(corpus)  # Says what is wrong with the folder.
    shards = sorted(Path(corpus).glob("part-*.parquet"))
    folder = Path(folder)
    manifest = _manifest(scorer, shards, options)
    _check_manifest(folder, manifest)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / MANIFEST, json.dumps(manifest, indent=2, sort_keys=True) + "\n")
    found = documents = values = 0
    for shard in shards:
        facts = {**manifest, "corpus": manifest["corpus"][shard.name]}
        if _has_facts(folder / shard.name, facts):
            found += 1
            continue
        scored = _scored(scorer, read_shard(shard), options, progress)
        for rows, length in _write_shard(folder / shard.name, facts, scored):
            documents, values = documents + rows, values + length
    return ScoredCorpus(len(shards), found, documents, values)


def read_entropies(folder: str | Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """The id and the entropies of each document, in the order of the corpus; NaN where there is none.

    Raises:
        InputError: no entropies in `folder`, a shard missing or damaged.
    """
    folder = Path(folder)
    try:
        names = sorted(json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["corpus"])
    except (OSError, ValueError, LookupError, TypeError):
        raise InputError(f"{folder}: no entropies of a corpus (no {MANIFEST} that says so); check the path") from None
    for name in names:
        for batch in parquet_batches(folder / name, SCHEMA, _ROWS):
            yield from zip(batch.column("id").to_pylist(), entropy_lists(batch.column("entropy")), strict=True)


def entropy_column(entropies: Sequence[NDArray[np.float32]]) -> pa.Array:
    """Arrays of values as one list column, NaN as null."""
    offsets = np.concatenate(([0], np.cumsum([len(values) for values in entropies], dtype=np.int64)))
    flat = np.concatenate([np.empty(0, np.float32), *entropies])
    values = pa.array(flat, pa.float32(), mask=np.isnan(flat))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)


def entropy_lists(column: pa.Array) -> list[NDArray[np.float32]]:
    """The rows of a list column as arrays, null as NaN."""
    offsets = column.offsets.to_numpy()
    flat = column.values.to_numpy(zero_copy_only=False).astype(np.float32)
    return [flat[start:end] for start, end in pairwise(offsets.tolist())]


def file_hash(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest(scorer: "Scorer", shards: Iterable[Path], options: "ScoringOptions") -> dict[str, Any]:
    """What decides the values: the model's files and the corpus's by hash, the window and the precision."""
    context, stride = scorer.window(options)
    return {
        "model": {path.name: file_hash(path) for path in scorer.loaded.files()},
        "corpus": {path.name: file_hash(path) for path in shards},
        "context": context,
        "stride": stride,
        "unit": options.unit,
        "dtype": str(scorer.dtype).removeprefix("torch."),
    }


def _check_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    path = folder / MANIFEST
    if not path.exists():
        return
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
        differences = [name for name in manifest if there.get(name) != manifest[name]]
    except (OSError, ValueError, AttributeError):
        raise InputError(f"{path}: not the manifest of entropies; name another folder or remove this one") from None
    if differences:
        raise InputError(
            f"{folder}: holds entropies made with another {', '.join(differences)}; name another folder or remove it"
        )


def _has_facts(path: Path, facts: dict[str, Any]) -> bool:
    if not path.exists():
        return False
    try:
        metadata = pq.read_schema(path).metadata or {}
        return json.loads(metadata.get(METADATA, b"null")) == facts
    except (pa.ArrowException, OSError, ValueError):
        return False  # Damaged: made again.


def _scored(
    scorer: "Scorer", documents: Iterator[Document], options: "ScoringOptions", progress: Callable[[int], object]
) -> Iterator[tuple[list[str], list[NDArray[np.float32]]]]:
    """Ids and entropies, a block of documents at a time."""
    size = scorer.block_characters(options)
    for block in text_blocks(documents, lambda document: len(document.text), size):
        yield [document.id for document in block], scorer.score([document.text for document in block], options)
        progress(sum(len(document.text) for document in block))


def _write_shard(
    path: Path, facts: dict[str, Any], blocks: Iterable[tuple[list[str], list[NDArray[np.float32]]]]
) -> Iterator[tuple[int, int]]:
    """Write a shard; yields rows and values of each block."""
    schema = SCHEMA.with_metadata({METADATA: json.dumps(facts, sort_keys=True).encode()})
    written = {"compression": "zstd", "use_dictionary": False, "write_page_checksum": True}
    with atomic_file(path) as temporary, pq.ParquetWriter(temporary, schema, **written) as writer:
        for ids, entropies in blocks:
            columns = [pa.array(ids, pa.string()), entropy_column(entropies)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            yield len(ids), sum(map(len, entropies))
