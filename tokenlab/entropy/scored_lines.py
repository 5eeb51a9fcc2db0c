"""Files of text lines with their entropies: written by `tokenlab entropy`, read by `tokenlab segment --entropies`.

JSON: a line `{"text": ..., "entropy": [...]}` for each line of text, null where there is no value. Parquet: columns
text and entropy (list<float32>). Values are in nats, one per character, and exact in both formats.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_file
from tokenlab.entropy.stored import ENTROPY, entropy_column, entropy_lists
from tokenlab.ngrams.table import is_parquet
from tokenlab.text.lines import read_lines
from tokenlab.text.options import LONGEST_LINE
from tokenlab.text.store import parquet_batches

Line = tuple[str, NDArray[np.float32]]

_SCHEMA = pa.schema([pa.field("text", pa.large_string(), nullable=False), ENTROPY])
_ROWS = 1 << 10


def json_line(text: str, entropy: NDArray[np.float32]) -> str:
    """One line of JSON, line feed included."""
    return json.dumps({"text": text, "entropy": _numbers(entropy)}, ensure_ascii=False) + "\n"


def write_parquet(lines: Iterable[Line], path: str | Path) -> None:
    """Write lines as Parquet, atomically."""
    written = {"compression": "zstd", "use_dictionary": False, "write_page_checksum": True}
    lines = iter(lines)
    with atomic_file(path) as temporary, pq.ParquetWriter(temporary, _SCHEMA, **written) as writer:
        while rows := list(islice(lines, _ROWS)):
            columns = [pa.array([text for text, _ in rows], pa.large_string()), entropy_column([e for _, e in rows])]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=_SCHEMA))


def read_entropy_lines(path: str | Path, longest_line: int = LONGEST_LINE) -> Iterator[Line]:
    """The lines of a file in either format, which is recognised by its first bytes.

    longest_line: MiB that a line of JSON or a text of Parquet may have.

    Raises:
        InputError: no such file, or a file that `tokenlab entropy` did not write.
    """
    read = _parquet_lines if is_parquet(path) else _json_lines
    for number, line in enumerate(read(path, longest_line), 1):
        if line is None or line[1].shape != (len(line[0]),):
            raise InputError(
                f"{path}:{number}: no text with an entropy for each character; give a file written by `tokenlab "
                "entropy --json` or `-o FILE.parquet`"
            )
        yield line


def _parquet_lines(path: str | Path, longest_line: int) -> Iterator[Line]:
    for batch in parquet_batches(path, _SCHEMA, _ROWS, longest_line):
        yield from zip(batch.column("text").to_pylist(), entropy_lists(batch.column("entropy")), strict=True)


def _json_lines(path: str | Path, longest_line: int) -> Iterator[Line | None]:
    """None for lines of anything else."""
    for line in read_lines(path, longest_line=longest_line):
        try:
            record = json.loads(line)
            values = np.array([np.nan if value is None else value for value in record["entropy"]], np.float32)
            yield (record["text"], values) if isinstance(record["text"], str) else None
        except (ValueError, TypeError, LookupError, RecursionError, OverflowError):
            yield None


def _numbers(entropy: NDArray[np.float32]) -> list[float | None]:
    """Python numbers with nine digits, enough to recover each float32 exactly."""
    return [None if value != value else float(f"{value:.9g}") for value in entropy.tolist()]
