"""Scoring of a stored corpus, shard by shard, into a folder of stored entropies (`stored`).

Shards are written atomically: after an interruption only the missing shards are scored, with the same result. Memory
use does not grow with the corpus.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokenlab.core.batches import in_batches
from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_file, write_text
from tokenlab.entropy.stored import MANIFEST, METADATA, SCHEMA, entropy_column
from tokenlab.text.documents import Document
from tokenlab.text.store import corpus_batches, read_shard

if TYPE_CHECKING:
    from tokenlab.entropy.options import ScoringOptions
    from tokenlab.entropy.scorer import Scorer


class ScoredCorpus(NamedTuple):
    """Numbers of a scoring run."""

    shards: int
    shards_found: int
    """Shards of an earlier run, which were kept."""
    documents: int
    """Documents scored by this run."""
    values: int
    """Characters or bytes of these documents."""


def score_corpus(
    scorer: "Scorer",
    corpus: str | Path,
    folder: str | Path,
    options: "ScoringOptions",
    progress: Callable[[int], object] = lambda characters: None,
) -> ScoredCorpus:
    """Write the entropies of a corpus into `folder`; shards of an interrupted run of the same scoring are kept.

    Args:
        corpus: a folder written by `write_corpus`.
        progress: called with the number of characters that were just scored.

    Raises:
        InputError: no corpus or a damaged one; `folder` holds entropies of another model, corpus or other options.
        ParameterError: as `Scorer.window`.
    """
    corpus_batches(corpus)  # Raises an error where the folder is no corpus.
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


def file_hash(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest(scorer: "Scorer", shards: Iterable[Path], options: "ScoringOptions") -> dict[str, Any]:
    """The inputs of the values: hashes of the files of model and corpus, the window and the precision."""
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
        return False  # Damaged: written again.


def _scored(
    scorer: "Scorer", documents: Iterator[Document], options: "ScoringOptions", progress: Callable[[int], object]
) -> Iterator[tuple[list[str], list[NDArray[np.float32]]]]:
    """Ids and entropies, a block of documents at a time."""
    most = scorer.block_characters(options)
    for block in in_batches(documents, most, size=lambda document: len(document.text) + 1):
        yield [document.id for document in block], scorer.score([document.text for document in block], options)
        progress(sum(len(document.text) for document in block))


def _write_shard(
    path: Path, facts: dict[str, Any], blocks: Iterable[tuple[list[str], list[NDArray[np.float32]]]]
) -> Iterator[tuple[int, int]]:
    """Write a shard; yields the numbers of rows and values of each block."""
    schema = SCHEMA.with_metadata({METADATA: json.dumps(facts, sort_keys=True).encode()})
    written = {"compression": "zstd", "use_dictionary": False, "write_page_checksum": True}
    with atomic_file(path) as temporary, pq.ParquetWriter(temporary, schema, **written) as writer:
        for ids, entropies in blocks:
            columns = [pa.array(ids, pa.string()), entropy_column(entropies)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            yield len(ids), sum(map(len, entropies))
