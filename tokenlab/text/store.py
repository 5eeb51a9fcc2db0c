"""Stored corpora: Parquet shards, one row per document, written and read as streams.

A corpus is a folder of `part-00000.parquet`, `part-00001.parquet`, ... with the columns of `SCHEMA`. The same documents
give the same bytes (with one version of pyarrow). Pages have checksums, so a damaged file is an error and never another
text. Memory is about one shard, independent of the size of the corpus.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from operator import lt
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import atomic_folder
from tokenlab.core.options import check_choice
from tokenlab.text.documents import Document, words
from tokenlab.text.lines import check_length

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("boundaries", pa.list_(pa.int32())),
        pa.field("source", pa.string()),
    ]
)

_ROW_GROUP_ROWS = 1 << 14
_BATCH = 1 << 28
_SHARD_ROWS = 1 << 17  # A bound on memory where documents are a few characters long.
# Other programs may write a whole file as one row group. With these settings pyarrow streams it (225 MB on disk: 11 MB
# in memory instead of 225); either of the first two alone is not enough.
_STREAMED = {"buffer_size": 1 << 20, "pre_buffer": False, "page_checksum_verification": True}


class CorpusSummary(NamedTuple):
    """The size of a corpus."""

    documents: int
    characters: int
    """Characters other than whitespace."""
    words: int | None
    """Gold words; None where no document has any."""


def write_corpus(
    documents: Iterable[Document], folder: str | Path, *, shard_characters: int = 4_000_000
) -> CorpusSummary:
    """Write documents as a corpus that replaces `folder`; on any exception the old one stays.

    Args:
        documents: read once, as a stream. Ids are not checked for uniqueness.
        folder: of the shards.
        shard_characters: a shard is closed once its texts have this many characters (whitespace included).

    Raises:
        InputError: no document; boundaries that do not ascend strictly inside the text; a lone surrogate.
        ParameterError: `shard_characters` below 1.
    """
    if shard_characters < 1:
        raise ParameterError(f"shard_characters: {shard_characters} must be at least 1")
    summary = CorpusSummary(0, 0, None)
    with atomic_folder(folder) as temporary:
        for number, shard in enumerate(_shards(documents, shard_characters)):
            pq.write_table(
                _table(shard),
                temporary / shard_name(number),
                row_group_size=_ROW_GROUP_ROWS,
                compression="zstd",
                compression_level=3,  # Chinese news: 18 % smaller than level 1 in the same time; level 6 takes double.
                use_dictionary=False,  # Texts and ids hardly ever repeat.
                write_page_checksum=True,
            )
            summary = _extended(summary, shard)
        if not summary.documents:
            raise InputError(f"{folder}: no document to write; check what the corpus is read from")
    return summary


def read_corpus(folder: str | Path) -> Iterator[Document]:
    """The documents of a corpus, in the order of writing.

    Raises:
        InputError: no corpus in `folder`, a missing shard, a damaged file or other columns.
    """
    for path in shard_paths(Path(folder), "corpus"):
        yield from read_shard(path)


def read_shard(path: str | Path, longest: int | None = None) -> Iterator[Document]:
    """The documents of one Parquet file with the columns of a corpus.

    longest: MiB that a string may have.

    Raises:
        InputError: as `read_corpus`.
    """
    for batch in parquet_batches(path, SCHEMA, _ROW_GROUP_ROWS, longest):
        with _input_errors(path):
            documents = [*map(Document, *(_values(column) for column in batch.columns))]
        for document in documents:
            _check_boundaries(document, str(path))
            yield document


def corpus_batches(folder: str | Path, columns: Sequence[str] = tuple(SCHEMA.names)) -> Iterator[pa.RecordBatch]:
    """A corpus as Arrow record batches of at most 16,384 documents, with the given columns of `SCHEMA`.

    Raises:
        InputError: as `read_corpus`.
        ParameterError: a column that a corpus does not have.
    """
    for column in columns:
        check_choice("columns", column, SCHEMA.names)
    schema = pa.schema([SCHEMA.field(column) for column in columns])
    paths = shard_paths(Path(folder), "corpus")
    return chain.from_iterable(parquet_batches(path, schema, _ROW_GROUP_ROWS) for path in paths)


def parquet_names(path: str | Path) -> list[str]:
    """The names of the columns of a Parquet file.

    Raises:
        InputError: no such file, or no Parquet.
    """
    with _input_errors(path), pq.ParquetFile(path) as file:
        return list(file.schema_arrow.names)


def parquet_batches(
    path: str | Path, schema: pa.Schema, rows: int, longest: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The columns of `schema`, cast to its types, from a Parquet file, `rows` rows at a time.

    longest: MiB that a string may have, where the file comes from elsewhere; then batches may have fewer rows.

    Raises:
        InputError: no such file, a damaged file, a column that is missing, of another type or null where it may not be,
            a string that is too long.
    """
    with _input_errors(path), pq.ParquetFile(path, **_STREAMED) as file:
        _check_columns(path, file.schema_arrow, schema)
        if longest is not None:
            rows = min(rows, _rows_that_fit(file.metadata, schema.names))
        done = 0
        for batch in file.iter_batches(batch_size=rows, columns=schema.names, use_threads=False):
            _check_nulls(path, batch, schema, done)
            batch = batch.select(schema.names).cast(schema)
            if longest is not None:
                _check_lengths(path, batch, longest, done)
            yield batch
            done += batch.num_rows
        if missing := file.metadata.num_rows - done:  # A damaged page header can end a column early without an error.
            raise InputError(f"{path}: damaged ({missing} rows are missing); fetch or write it again")


def _check_columns(path: str | Path, found: pa.Schema, wanted: pa.Schema) -> None:
    for field in wanted:
        if field.name not in found.names:
            raise InputError(f"{path}: no column {field.name!r}, only {', '.join(found.names)}; name another")
        type = found.field(field.name).type
        # Arrow would silently cast numbers to strings.
        if _is_string(field.type) and not (_is_string(type) or pa.types.is_null(type)):
            raise InputError(f"{path}: the column {field.name!r} is {type}, not string; name another")


def _check_nulls(path: str | Path, batch: pa.RecordBatch, wanted: pa.Schema, rows_before: int) -> None:
    for field in wanted:
        column = batch.column(field.name)
        if column.null_count and not field.nullable:
            row = rows_before + column.is_null().index(True).as_py() + 1
            raise InputError(f"{path}: row {row}: no value in the column {field.name!r}; remove the row or fill it")


def _rows_that_fit(file: pq.FileMetaData, names: Collection[str]) -> int:
    """Rows of a batch of at most `_BATCH` bytes, or one: each row may hold the longest text of a dictionary, so that a
    file of kilobytes may unpack to any number of gigabytes."""
    groups = (file.row_group(number) for number in range(file.num_row_groups))
    columns = (group.column(number) for group in groups for number in range(group.num_columns))
    sizes = [column.total_uncompressed_size for column in columns if column.path_in_schema.split(".")[0] in names]
    return max(1, _BATCH // max([1, *sizes]))


def _check_lengths(path: str | Path, batch: pa.RecordBatch, longest: int, rows_before: int) -> None:
    for column in filter(lambda column: _is_string(column.type), batch.columns):
        sizes = pc.fill_null(pc.binary_length(column), 0)
        row = pc.index(sizes, pc.max(sizes)).as_py()
        check_length(sizes[row].as_py(), longest, f"{path}: row {rows_before + row + 1}", "a text")


def _is_string(type: pa.DataType) -> bool:
    value = type.value_type if pa.types.is_dictionary(type) else type
    return pa.types.is_string(value) or pa.types.is_large_string(value) or pa.types.is_string_view(value)


def shard_name(number: int) -> str:
    """The file of a shard."""
    return f"part-{number:05d}.parquet"


def shard_paths(folder: Path, what: str) -> list[Path]:
    """The shards of a store in their order. Raises InputError, naming `what` is stored, for no or a missing shard."""
    found = {path.name for path in folder.glob("part-*.parquet")}
    expected = [shard_name(number) for number in range(len(found))]
    if not found:
        raise InputError(f"{folder}: no {what} (no part-00000.parquet in it); check the path")
    if missing := [name for name in expected if name not in found]:
        raise InputError(f"{folder}: {missing[0]} is missing between the other shards; write the {what} again")
    return [folder / name for name in expected]


def _shards(documents: Iterable[Document], shard_characters: int) -> Iterator[list[Document]]:
    shard: list[Document] = []
    characters = 0
    for document in documents:
        _check_boundaries(document, "document")
        shard.append(document)
        characters += len(document.text)
        if characters >= shard_characters or len(shard) == _SHARD_ROWS:
            yield shard
            shard.clear()  # Not a new list: the caller still refers to this one, and two shards would be in memory.
            characters = 0
    if shard:
        yield shard


def _table(documents: Sequence[Document]) -> pa.Table:
    try:
        columns = [
            pa.array(values, type) for values, type in zip(zip(*documents, strict=True), SCHEMA.types, strict=True)
        ]
    except UnicodeEncodeError as error:
        lone = next(document for document in documents if _has_surrogate(document))
        raise InputError(f"document {lone.id!r}: a lone surrogate, which is no character; correct the text") from error
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _has_surrogate(document: Document) -> bool:
    return any("\ud800" <= character <= "\udfff" for value in document if isinstance(value, str) for character in value)


def _extended(summary: CorpusSummary, documents: Iterable[Document]) -> CorpusSummary:
    count, characters, gold = summary
    for document in documents:
        pieces = document.text.split()
        count += 1
        characters += sum(map(len, pieces))
        if document.boundaries is not None:
            # Without whitespace inside, each slice is a word, so counting boundaries is enough.
            plain = pieces == [document.text]
            gold = (gold or 0) + (
                len(document.boundaries) + 1 if plain else len(words(document.text, document.boundaries))
            )
    return CorpusSummary(count, characters, gold)


def _check_boundaries(document: Document, where: str) -> None:
    boundaries = document.boundaries
    if boundaries and not all(map(lt, (0, *boundaries), (*boundaries, len(document.text)))):
        raise InputError(f"{where} {document.id!r}: word boundaries must ascend strictly inside the text")


def _values(column: pa.Array) -> Iterable[object]:
    if not pa.types.is_list(column.type):
        return column.to_pylist()
    # A hundred times faster than to_pylist, which makes an Arrow object for each number.
    flat = column.values.to_numpy(zero_copy_only=False).tolist()
    offsets = column.offsets.to_numpy().tolist()
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return [
        tuple(flat[start:end]) if given else None
        for start, end, given in zip(offsets[:-1], offsets[1:], valid, strict=True)
    ]


@contextmanager
def _input_errors(path: str | Path) -> Iterator[None]:
    """Turn errors of pyarrow about a Parquet file (often several lines) into InputError of one line."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; check the path") from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"{path}: damaged, or not the Parquet expected here ({reason}); fetch or write it again"
        ) from error
