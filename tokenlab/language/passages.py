"""Passages of documents: cut by bytes alone, stored with the patches of any number of patchers, read in a random order.

Documents are cut into passages of at most `context` bytes before any patcher or tokenizer sees them, and rows are
filled with whole passages up to `context` bytes. So all models of a comparison read the same bytes in the same rows.

A store is a folder of `part-00000.parquet`, ... with the columns id, data, bytes (of the data), words, and
`starts_NAME`, the offsets of the patches, for each patcher. The same passages give the same bytes (with one version of
pyarrow). Reading takes the memory of a few megabytes of text, whatever the size of the store: row groups come in a
random order, and the passages of a number of them are shuffled together.
"""

import hashlib
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import count, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import atomic_folder
from tokenlab.text.store import shard_name, shard_paths

_GROUP_BYTES = 1 << 20
"""Bytes of text after which a row group is written."""
_SHUFFLED_BYTES = 8 << 20
"""Bytes of text that are shuffled together: their memory, several times this with the patches, is all that is used."""


class PassageBlock(NamedTuple):
    """Consecutive passages."""

    ids: list[str]
    data: list[bytes]
    words: NDArray[np.int32]
    """int32[passages]: words that begin in each passage."""
    starts: dict[str, list[NDArray[np.int32]]]
    """By patcher, for each passage: int32[patches], the offsets of the patches' first bytes, 0 first."""


class Passage(NamedTuple):
    """A passage, and its patches where a patcher was asked for."""

    data: bytes
    starts: NDArray[np.int32] | None


class PassagesSummary(NamedTuple):
    """The size of a store."""

    passages: int
    bytes: int
    words: int
    patches: dict[str, int]
    """By patcher."""


class _Group(NamedTuple):
    """A row group of a store."""

    path: Path
    number: int


@dataclass(frozen=True)
class Passages:
    """A store of passages, opened. patcher: the one whose patches are read."""

    groups: tuple[_Group, ...]
    patchers: tuple[str, ...]
    patcher: str | None
    count: int
    bytes: int

    @cached_property
    def identity(self) -> str:
        """A hash of all bytes of the shards, in hexadecimal digits: it tells stores apart.

        Raises InputError for a file that cannot be read.
        """
        whole = hashlib.sha256()
        for path in dict.fromkeys(group.path for group in self.groups):
            with _input_errors(path), path.open("rb") as file:
                whole.update(hashlib.file_digest(file, "sha256").digest())
        return whole.hexdigest()

    def blocks(self) -> Iterator[PassageBlock]:
        """All passages in the order of writing, with the patches of the patcher.

        Raises InputError for a damaged file.
        """
        names = () if self.patcher is None else (self.patcher,)
        for group in self.groups:
            table = _read(group, ["id", "data", "words", *map(_column, names)])
            yield PassageBlock(
                table["id"].to_pylist(),
                table["data"].to_pylist(),
                table["words"].to_numpy(),
                {name: _lists(table[_column(name)]) for name in names},
            )


def cut_passages(document: bytes, context: int) -> list[bytes]:
    """A document in UTF-8 as passages of at most `context` bytes, each but the last as long as whole characters allow.

    Raises ParameterError for a context below 4 bytes, which a character can have.
    """
    if context < 4:
        raise ParameterError(f"context is {context}; it must be at least 4, the bytes of the longest characters")
    passages, start = [], 0
    while len(document) - start > context:
        end = start + context
        while document[end] & 0xC0 == 0x80 and end > start + context - 3:
            end -= 1
        passages.append(document[start:end])
        start = end
    return [*passages, document[start:]] if start < len(document) else passages


def write_passages(
    blocks: Iterable[PassageBlock], folder: str | Path, patchers: Sequence[str], *, shard_bytes: int = 64 << 20
) -> PassagesSummary:
    """Write passages as a store that replaces `folder`; on any exception the old one stays.

    Args:
        blocks: read once, as a stream; their size does not matter to the files.
        folder: of the shards.
        patchers: the keys of every block's `starts`.
        shard_bytes: a shard is closed once its texts have this many bytes.

    Raises:
        InputError: no passage, or an empty one.
        ParameterError: `shard_bytes` below 1.
    """
    if shard_bytes < 1:
        raise ParameterError(f"shard_bytes is {shard_bytes}; it must be at least 1")
    schema = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("data", pa.binary(), nullable=False),
            pa.field("bytes", pa.int32(), nullable=False),
            pa.field("words", pa.int32(), nullable=False),
            *(pa.field(_column(name), pa.list_(pa.int32()), nullable=False) for name in patchers),
        ]
    )
    summary = PassagesSummary(0, 0, 0, dict.fromkeys(patchers, 0))
    with atomic_folder(folder) as temporary:
        writer, written, shards = None, 0, 0
        try:
            for block in _regrouped(blocks, patchers):
                if writer is None or written >= shard_bytes:
                    if writer is not None:
                        writer.close()
                    writer, written, shards = _writer(temporary / shard_name(shards), schema), 0, shards + 1
                writer.write_table(_table(block, schema), row_group_size=len(block.data))
                summary = _extended(summary, block)
                written += sum(map(len, block.data))
        finally:
            if writer is not None:
                writer.close()
        if not summary.passages:
            raise InputError(f"{folder}: no passage to write; check what the documents are read from")
    return summary


def open_passages(folder: str | Path, patcher: str | None = None) -> Passages:
    """Open a store, to read it with the patches of one patcher, or without patches.

    Raises:
        InputError: no store in `folder`; a missing shard; a damaged, empty or other file.
        ParameterError: a patcher that the store does not have.
    """
    paths = shard_paths(Path(folder), "passages")
    groups: list[_Group] = []
    patchers: tuple[str, ...] | None = None
    passages = size = 0
    for path in paths:
        with _input_errors(path), pq.ParquetFile(path) as file:
            columns, metadata = file.schema_arrow.names, file.metadata
        if columns[:4] != ["id", "data", "bytes", "words"]:
            raise InputError(f"{path}: no passages, but the columns {', '.join(columns)}; name another folder")
        if not metadata.num_rows:
            raise InputError(f"{path}: no passage in this shard; write the passages again")
        found = tuple(name.removeprefix(_column("")) for name in columns[4:])
        if patchers not in (None, found):
            raise InputError(f"{path}: other patchers than in {paths[0].name}; write the passages again")
        patchers = found
        groups += (_Group(path, number) for number in range(metadata.num_row_groups))
        passages += metadata.num_rows
        size += int(_read_columns(path, ["bytes"])["bytes"].to_numpy().sum())
    assert patchers is not None
    if patcher is not None and patcher not in patchers:
        raise ParameterError(f"patcher is {patcher!r}; {folder} has {', '.join(patchers) or 'none'}")
    return Passages(tuple(groups), patchers, patcher, passages, size)


def shuffled_batches(
    passages: Passages, context: int, rows: int, seed: int, skip: int = 0
) -> Iterator[list[list[Passage]]]:
    """An endless stream of batches of `rows` rows of passages: all passages in a random order, then all in another, as
    determined by the seed and by the lengths of the passages in bytes.

    A row holds passages of at most `context` bytes together. The texts of the first `skip` batches are not read. Raises
    InputError for a damaged file, and for a passage longer than a row.
    """
    found = islice(_shuffled_rows(passages, context, seed), skip * rows, None)
    while True:
        yield [[buffer()[number] for number in row] for buffer, row in islice(found, rows)]


def _passages(groups: Sequence[_Group], patcher: str | None) -> list[Passage]:
    columns = ["data"] if patcher is None else ["data", _column(patcher)]
    found: list[Passage] = []
    for group in groups:
        table = _read(group, columns)
        data = table["data"].to_pylist()
        starts = [None] * len(data) if patcher is None else _lists(table[columns[1]])
        found += map(Passage, data, starts)
    return found


def _shuffled_rows(
    passages: Passages, context: int, seed: int
) -> Iterator[tuple[Callable[[], list[Passage]], list[int]]]:
    """Rows without end: the passages of some row groups, read when they are first asked for, and the numbers of the
    row's among them."""
    for epoch in count():
        generator = np.random.default_rng([seed, epoch])
        groups: list[_Group] = []
        sizes: list[NDArray[np.int32]] = []
        order = generator.permutation(len(passages.groups))
        for place, number in enumerate(order):
            groups.append(passages.groups[number])
            sizes.append(_read(groups[-1], ["bytes"])["bytes"].to_numpy())
            if sum(int(some.sum()) for some in sizes) >= _SHUFFLED_BYTES or place == len(order) - 1:
                together = np.concatenate(sizes)
                if together.max() > context:
                    where = groups[0].path.parent
                    raise InputError(
                        f"{where}: a passage of {together.max()} bytes, a row has {context}; raise context"
                    )
                rows = _filled_rows(generator.permutation(len(together)), together, context)
                buffer = cache(partial(_passages, groups, passages.patcher))
                for row in generator.permutation(len(rows)):
                    yield buffer, rows[row]
                groups, sizes = [], []


def _filled_rows(order: NDArray[np.int64], sizes: NDArray[np.int32], context: int) -> list[list[int]]:
    """Best fit: each passage goes where it leaves the least room, or into a new row."""
    rows: list[list[int]] = []
    rooms: list[tuple[int, int]] = []  # Of the rows that are not full: bytes left, and number; ascending.
    for number, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        place = bisect_left(rooms, (size, -1))
        if place == len(rooms):
            left, row = context - size, len(rows)
            rows.append([number])
        else:
            room, row = rooms.pop(place)
            left = room - size
            rows[row].append(number)
        if left:
            insort(rooms, (left, row))
    return rows


def _column(patcher: str) -> str:
    return f"starts_{patcher}"


def _regrouped(blocks: Iterable[PassageBlock], patchers: Sequence[str]) -> Iterator[PassageBlock]:
    """The same passages in blocks of about `_GROUP_BYTES` bytes, whatever the blocks that come."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    for ids, data, words, starts in blocks:
        for row in zip(ids, data, words.tolist(), *(starts[name] for name in patchers), strict=True):
            if not row[1]:
                raise InputError(f"passage {row[0]!r} is empty; leave it out")
            rows.append(row)
            size += len(row[1])
            if size >= _GROUP_BYTES:
                yield _block(rows, patchers)
                rows, size = [], 0
    if rows:
        yield _block(rows, patchers)


def _block(rows: list[tuple[Any, ...]], patchers: Sequence[str]) -> PassageBlock:
    ids, data, words, *starts = (list(column) for column in zip(*rows, strict=True))
    return PassageBlock(ids, data, np.array(words, dtype=np.int32), dict(zip(patchers, starts, strict=True)))


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    lists = [field.name for field in schema if pa.types.is_list(field.type)]
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=3,
        use_dictionary=False,
        # Offsets ascend: by their differences they take a fifth of the room.
        column_encoding={f"{name}.list.element": "DELTA_BINARY_PACKED" for name in lists} or None,
        write_page_checksum=True,
    )


def _table(block: PassageBlock, schema: pa.Schema) -> pa.Table:
    ids, data, words, starts = block
    columns = [pa.array(ids, pa.string()), pa.array(data, pa.binary()), [*map(len, data)], words]
    for patches in starts.values():
        offsets = np.cumsum([0, *map(len, patches)])
        flat = np.concatenate(patches).astype(np.int32)
        columns.append(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat)))
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _extended(summary: PassagesSummary, block: PassageBlock) -> PassagesSummary:
    patches = {name: summary.patches[name] + sum(map(len, found)) for name, found in block.starts.items()}
    return PassagesSummary(
        summary.passages + len(block.data),
        summary.bytes + sum(map(len, block.data)),
        summary.words + int(block.words.sum()),
        patches,
    )


def _lists(column: pa.ChunkedArray) -> list[NDArray[np.int32]]:
    """A column of lists as arrays; a hundred times faster than to_pylist."""
    (chunk,) = column.chunks
    flat = chunk.values.to_numpy()
    offsets = chunk.offsets.to_numpy().tolist()
    return [flat[start:end] for start, end in pairwise(offsets)]


def _read(group: _Group, columns: list[str]) -> pa.Table:
    return _read_columns(group.path, columns, group.number)


def _read_columns(path: Path, columns: list[str], group: int | None = None) -> pa.Table:
    """Columns of a row group, or of a whole shard."""
    with _input_errors(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        if group is None:
            return file.read(columns, use_threads=False)
        table = file.read_row_group(group, columns, use_threads=False)
        if table.num_rows != file.metadata.row_group(group).num_rows:
            raise InputError(f"{path}: damaged (rows are missing); write the passages again")
        return table


@contextmanager
def _input_errors(path: Path) -> Iterator[None]:
    """Turn errors of pyarrow about a Parquet file into InputError of one line."""
    try:
        yield
    except (pa.ArrowException, OSError, KeyError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path}: damaged, or no passages ({reason}); write the passages again") from error
