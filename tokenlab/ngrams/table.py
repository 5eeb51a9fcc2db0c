"""n-gram statistics as a Parquet table, one row per n-gram.

Columns: ngram (string), n (int32), count (int64), min_pmi (float64, null for n = 1), left_entropy, right_entropy
(float64). Rows are ordered by length, then unit by unit, so that one pass rebuilds the trie: units of one code point by
that code point, and after all of these the clusters of several, by their text. The options, T and the size of
the corpus are in the metadata of the schema, under `tokenlab.ngrams`; tables that do not name the unit are from before
there was a choice and hold n-grams of code points.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import atomic_file
from tokenlab.ngrams.clusters import COMPOSED, cluster_starts, cluster_symbols, composed_symbols, spell, unseen_symbol
from tokenlab.ngrams.counting import NgramStatistics
from tokenlab.ngrams.kernels import link_parents
from tokenlab.ngrams.options import StatisticsOptions
from tokenlab.text.code_points import code_points

_METADATA = b"tokenlab.ngrams"
_ROWS_PER_BATCH = 1 << 19
_FIELDS = [
    pa.field("ngram", pa.string(), nullable=False),
    pa.field("n", pa.int32(), nullable=False),
    pa.field("count", pa.int64(), nullable=False),
    pa.field("min_pmi", pa.float64()),
    pa.field("left_entropy", pa.float64(), nullable=False),
    pa.field("right_entropy", pa.float64(), nullable=False),
]


def write_statistics(statistics: NgramStatistics, path: str | Path) -> None:
    """Write the table, atomically; equal statistics give equal bytes."""
    facts = {
        "options": asdict(statistics.options),
        "tokens": statistics.tokens,
        "characters": statistics.characters,
        "level": statistics.level.tolist(),
    }
    schema = pa.schema(_FIELDS, metadata={_METADATA: json.dumps(facts, sort_keys=True).encode()})
    written = {"compression": "zstd", "use_dictionary": ["n"], "write_page_checksum": True}
    with atomic_file(path) as temporary, pq.ParquetWriter(temporary, schema, **written) as writer:
        for batch in statistics_batches(statistics):
            writer.write_batch(batch)


def statistics_batches(statistics: NgramStatistics) -> Iterator[pa.RecordBatch]:
    """The rows as Arrow record batches with the columns of the table."""
    for n in range(1, statistics.options.n_max + 1):
        rows = statistics.rows(n)
        for start in range(rows.start, rows.stop, _ROWS_PER_BATCH):
            part = slice(start, min(start + _ROWS_PER_BATCH, rows.stop))
            size = part.stop - start
            points = statistics.code_points(n, slice(start - rows.start, part.stop - rows.start))
            columns = [
                _strings(points, statistics.composed),
                pa.array(np.full(size, n, np.int32)),
                pa.array(statistics.count[part].astype(np.int64)),
                pa.nulls(size, pa.float64()) if n == 1 else pa.array(statistics.min_pmi[part]),
                pa.array(statistics.left_entropy[part]),
                pa.array(statistics.right_entropy[part]),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(_FIELDS))


def read_statistics(path: str | Path) -> NgramStatistics:
    """Read a table that `write_statistics` wrote.

    Raises InputError where the file is no Parquet, was not written by it, or is damaged.
    """
    path = Path(path)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            facts, options, level = _facts(file, path)
            columns = file.read(columns=[field.name for field in _FIELDS])
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: no whole Parquet file ({_first_line(error)}); make it again") from None
    lengths = np.repeat(np.arange(1, options.n_max + 1), np.diff(level))
    count = columns["count"].to_numpy()
    if not np.array_equal(columns["n"].to_numpy(), lengths) or count.min() < 1:
        raise _foreign(path)
    ngrams = columns["ngram"]
    composed = _composed(ngrams.slice(0, int(level[1])), options)
    last, parent = _trie(ngrams, level, options, composed, path)
    return NgramStatistics(
        options=options,
        tokens=facts["tokens"],
        characters=facts["characters"],
        level=level,
        last=last,
        parent=parent,
        count=count,
        min_pmi=columns["min_pmi"].to_numpy(),
        left_entropy=columns["left_entropy"].to_numpy(),
        right_entropy=columns["right_entropy"].to_numpy(),
        composed=composed,
    )


def is_parquet(path: str | Path) -> bool:
    """Whether a regular file begins with Parquet's magic bytes. A pipe is never read: it can be read only once."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(4) == b"PAR1"


def _facts(file: pq.ParquetFile, path: Path) -> tuple[dict[str, int], StatisticsOptions, NDArray[np.int64]]:
    """What the metadata says: T and characters, the options, and where the rows of each length begin."""
    metadata = file.schema_arrow.metadata or {}
    if _METADATA not in metadata or file.schema_arrow.remove_metadata() != pa.schema(_FIELDS):
        raise _foreign(path)
    try:
        facts = json.loads(metadata[_METADATA])
        options = StatisticsOptions(**{"unit": "character"} | facts["options"])
        level = np.array(facts["level"], np.int64)
        sizes = {name: int(facts[name]) for name in ("tokens", "characters")}
    except (ValueError, TypeError, LookupError, ParameterError):
        raise _foreign(path) from None
    rising = level.shape == (options.n_max + 1,) and level[0] == 0 and level[1] > 0 and (np.diff(level) >= 0).all()
    if not rising or level[-1] != file.metadata.num_rows:
        raise _foreign(path)
    return sizes, options, level


def _composed(singles: pa.ChunkedArray, options: StatisticsOptions) -> tuple[str, ...]:
    """The units of several code points among the single units."""
    if options.unit == "character":
        return ()
    return tuple(unit for unit in singles.to_pylist() if len(unit) > 1)


def _trie(
    ngrams: pa.ChunkedArray,
    level: NDArray[np.int64],
    options: StatisticsOptions,
    composed: tuple[str, ...],
    path: Path,
) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """Last symbols and parents of the rows, from their strings."""
    last = np.empty(int(level[-1]), np.uint32)
    parent = np.full(int(level[-1]), -1, np.int32)
    before = np.empty((1, 0), np.uint32)
    for n in range(1, len(level)):
        rows = slice(int(level[n - 1]), int(level[n]))
        strings = ngrams.slice(rows.start, rows.stop - rows.start)
        symbols = _symbols(strings, n, composed, path) if composed else _code_points(strings, n, path)
        last[rows] = symbols[:, -1]
        if n > 1:
            linked = link_parents(symbols, before)
            if (linked < 0).any():
                raise _foreign(path)
            parent[rows] = linked + level[n - 2]
        before = symbols
    singles = np.zeros(COMPOSED + len(composed), bool)
    singles[last[: level[1]]] = True
    if (np.diff(last[: level[1]].astype(np.int64)) <= 0).any() or not singles[last].all():
        raise _foreign(path)
    return last, parent


def _symbols(ngrams: pa.ChunkedArray, n: int, composed: tuple[str, ...], path: Path) -> NDArray[np.uint32]:
    """Strings of n units each as uint32[rows, n]."""
    points = code_points("".join(f"{ngram}\n" for ngram in ngrams.to_pylist()))
    symbols = cluster_symbols(points, cluster_starts(points), composed_symbols(composed))
    if len(symbols) != (n + 1) * len(ngrams) or (symbols == unseen_symbol(composed)).any():
        raise _foreign(path)
    rows = symbols.reshape(-1, n + 1)
    if (rows[:, n] != ord("\n")).any():
        raise _foreign(path)
    return rows[:, :n]


def _code_points(ngrams: pa.ChunkedArray, n: int, path: Path) -> NDArray[np.uint32]:
    """Strings of n characters each as uint32[rows, n]."""
    parts = []
    for chunk in ngrams.chunks:
        offsets = np.frombuffer(chunk.buffers()[1], np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        data = bytes(chunk.buffers()[2][int(offsets[0]) : int(offsets[-1])]) if len(chunk) else b""
        try:
            parts.append(code_points(data.decode("utf-8")))
        except UnicodeDecodeError:
            raise _foreign(path) from None
    points = np.concatenate(parts) if parts else np.empty(0, np.uint32)
    if len(points) != n * len(ngrams):
        raise _foreign(path)
    return points.reshape(-1, n)


def _strings(symbols: NDArray[np.uint32], composed: tuple[str, ...]) -> pa.Array:
    """n-grams given as symbols, uint32[rows, n], as an Arrow string array."""
    flat = symbols.ravel()
    occurs = np.bincount(flat) > 0  # Symbols are small: this takes a tenth of the time of a sort.
    distinct, place_of = np.flatnonzero(occurs).astype(np.uint32), np.cumsum(occurs) - 1
    spelled = pa.array(spell(distinct[:, np.newaxis], composed), pa.string())
    units = spelled.take(pa.array(place_of[flat]))
    ends = np.frombuffer(units.buffers()[1], np.int32)[: symbols.size + 1 : symbols.shape[1]]
    return pa.StringArray.from_buffers(len(symbols), pa.py_buffer(ends.copy()), units.buffers()[2])


def _foreign(path: Path) -> InputError:
    return InputError(f"{path}: not a table that this version of `tokenlab statistics` wrote; make one with it")


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0].rstrip(".")
