"""Counts of pieces: all that BPE learns from, so a text is read once, and parts of it on several machines.

`count_pieces` counts, `count_in_shards` does with less memory, `write_counts` and `read_counts` keep counts as Parquet
or TSV, `merge_counts` adds them. Memory grows with the distinct pieces, not with the text.
"""

import heapq
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokenlab.core.batches import in_batches
from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_file, scratch_folder
from tokenlab.core.shards import Cluster, map_shards
from tokenlab.text.lines import read_lines
from tokenlab.tokenizers.cuts import Cut
from tokenlab.tokenizers.piece_kernels import Pieces, add_pieces, counts_by_piece, no_pieces

_CUT, _PATTERN = b"tokenlab.cut", b"tokenlab.pattern"
_LARGEST_COUNT = 2**63 - 1
_MOST_DIGITS = 100
_CHARACTERS_AT_ONCE = 1 << 17
"""What the caches of a core hold, with places and keys of the pieces."""
_BYTES_PER_CHARACTER = 8
"""Of a shard of text, in half of the memory."""
_BYTES_PER_PIECE = 1000
"""Of a distinct piece in the tables and on its way to the disk, in the other half; clauses of Chinese."""
_ROWS = 1 << 12
_RUNS = 64
"""Runs that are merged at once: each is an open file."""
_FIELDS = [pa.field("piece", pa.large_string(), nullable=False), pa.field("count", pa.int64(), nullable=False)]


Starts = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""Of `Cut.starts`."""


class PieceCounts(NamedTuple):
    """How often each piece occurs."""

    pieces: list[str]
    """Distinct and not empty, in the order of their code points."""
    counts: NDArray[np.int64]
    """int64[pieces], at least 1."""
    cut: Cut | None
    """Without its learned words; None where a table does not say how the text was cut."""


def count_pieces(texts: Iterable[str], cuts: Sequence[Cut]) -> list[PieceCounts]:
    """The counts of the pieces of texts, for each of several cuts in one pass.

    Raises InputError for a lone surrogate.
    """
    (tables,) = _tables(texts, cuts)
    return [_sorted(counts_by_piece(table), cut) for cut, table in zip(cuts, tables, strict=True)]


def _tables(texts: Iterable[str], cuts: Sequence[Cut], most: int = sys.maxsize) -> Iterator[list[Pieces]]:
    """The tables of the cuts, and new ones from where they hold more than `most` pieces together."""
    tables = [no_pieces() for _ in cuts]
    with ThreadPoolExecutor(max(1, 2 * len(cuts))) as pool:  # The kernels do not hold Python's lock.
        for found in _cut_ahead(texts, cuts, pool):
            tables = [*pool.map(_added, found, tables)]
            if sum(int(table.size[0]) for table in tables) > most:
                yield tables
                tables = [no_pieces() for _ in cuts]
    yield tables  # empty ones, too: a text without pieces has counts


def _added(found: Starts, table: Pieces) -> Pieces:
    return add_pieces(*found, table)


def _cut_ahead(texts: Iterable[str], cuts: Sequence[Cut], pool: Executor) -> Iterator[list[Starts]]:
    """Batches of texts as each cut's `starts` gives them; the next one is cut while one is used."""
    cutting: list[Future[Starts]] = []
    for batch in in_batches(texts, _CHARACTERS_AT_ONCE):
        found = [one.result() for one in cutting]
        cutting = [pool.submit(cut.starts, batch) for cut in cuts]
        if found:
            yield found
    if cutting:
        yield [one.result() for one in cutting]


def count_in_shards(
    texts: Iterable[str],
    cuts: Sequence[Cut],
    memory: int,
    folder: str | Path | None = None,
    cluster: Cluster | None = None,
) -> list[PieceCounts]:
    """The counts that `count_pieces` gives, from those of shards of the text, which are sorted runs on disk.

    Args:
        memory: bytes in which a process counts a shard. The result takes about 70 bytes for each distinct piece.
        folder: for temporary files; default: the system's, TMPDIR. All workers must reach it.
        cluster: of `tokenlab.core.shards.open_cluster`.

    Raises:
        ClusterError: as `map_shards`.
        InputError: a lone surrogate; no room for the temporary files.
    """
    with scratch_folder(folder) as place:
        shards = in_batches(texts, max(1, memory // 2 // _BYTES_PER_CHARACTER), size=lambda text: len(text) + 1)
        count = partial(_count_shard, cuts, place, memory // 2 // _BYTES_PER_PIECE)
        runs = map_shards(count, enumerate(shards), list, cluster)
        return [_merge_runs([*chain(*(run[number] for run in runs))], cut) for number, cut in enumerate(cuts)]


def _count_shard(cuts: Sequence[Cut], folder: Path, most: int, shard: tuple[int, list[str]]) -> list[list[Path]]:
    """Write the counts of a shard, several runs for each cut where it has more than `most` distinct pieces."""
    number, texts = shard
    paths: list[list[Path]] = [[] for _ in cuts]
    for part, tables in enumerate(_tables(texts, cuts, most)):
        for place, (cut, table) in enumerate(zip(cuts, tables, strict=True)):
            path = folder / f"{number}-{part}-{place}.parquet"
            write_counts(_sorted(counts_by_piece(table), cut), path)
            paths[place].append(path)
    return paths


def _merge_runs(paths: list[Path], cut: Cut) -> PieceCounts:
    """The sum of the counts in sorted runs; runs beyond `_RUNS` wait until others are merged to one."""
    while len(paths) > _RUNS:
        first, paths = paths[:_RUNS], paths[_RUNS:]
        write_counts(_merged(map(_rows, first), cut), first[0])
        paths.append(first[0])
    return _merged(map(_rows, paths), cut)


def _rows(path: Path) -> Iterator[tuple[str, int]]:
    with pq.ParquetFile(path, page_checksum_verification=True, buffer_size=1 << 20, pre_buffer=False) as file:
        for batch in file.iter_batches(_ROWS):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def merge_counts(parts: Sequence[PieceCounts]) -> PieceCounts:
    """The sum of counts.

    Raises InputError where there are no parts, they were cut in different ways, or a sum is beyond int64.
    """
    if not parts:
        raise InputError("no counts to add; give at least one part")
    cuts = {None if part.cut is None else (part.cut.name, part.cut.pattern) for part in parts}
    if len(cuts) > 1:
        names = sorted({"an unknown cut" if cut is None else cut[0] for cut in cuts})
        raise InputError(f"the counts are of different cuts ({', '.join(names)}); count all texts with one")
    return _merged([zip(part.pieces, part.counts.tolist(), strict=True) for part in parts], parts[0].cut)


def _merged(parts: Iterable[Iterable[tuple[str, int]]], cut: Cut | None) -> PieceCounts:
    """The sum of counts that are sorted by their pieces."""
    pieces, counts = [], array("q")
    for piece, same in groupby(heapq.merge(*parts), itemgetter(0)):
        pieces.append(piece)
        counts.append(_within_int64(sum(count for _, count in same)))
    return PieceCounts(pieces, np.array(counts, np.int64), None if cut is None else cut._replace(cutter=None))


def write_counts(counts: PieceCounts, path: str | Path) -> None:
    """Write a table with the columns piece and count, atomically: Parquet, or TSV where the name ends in .tsv.

    Parquet names the cut, TSV does not. Equal counts give equal bytes. Raises InputError for a piece with a line feed,
    which TSV cannot hold.
    """
    with atomic_file(path) as temporary:
        if str(path).lower().endswith(".tsv"):
            broken = next((piece for piece in counts.pieces if "\n" in piece), None)
            if broken is not None:
                raise InputError(f"{path}: the piece {broken!r} has a line feed, which TSV cannot hold; write .parquet")
            with temporary.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(
                    f"{piece}\t{count}\n" for piece, count in zip(counts.pieces, counts.counts.tolist(), strict=True)
                )
            return
        cut = counts.cut
        metadata = {} if cut is None else {_CUT: cut.name.encode(), _PATTERN: (cut.pattern or "").encode()}
        table = pa.table([pa.array(counts.pieces, pa.large_string()), counts.counts], pa.schema(_FIELDS, metadata))
        pq.write_table(table, temporary, compression="zstd", use_dictionary=False, write_page_checksum=True)


def read_counts(path: str | Path) -> PieceCounts:
    """Read what `write_counts` wrote, or a TSV of any origin: a piece and its count, after the last tab of the line.

    Raises InputError where a file is no such table, has a count below 1 or beyond int64, or no piece.
    """
    parquet = not str(path).lower().endswith(".tsv")
    rows, cut = _read_parquet(path) if parquet else (_read_tsv(path), None)
    total: Counter[str] = Counter()
    for place, (piece, count) in enumerate(rows, 1):
        if not piece or not 1 <= count <= _LARGEST_COUNT:
            what = f"the count {count}, which is not from 1 to 2^63 - 1" if piece else "no piece"
            raise InputError(f"{path}:{place}: {what}; correct or remove the row")
        total[piece] += count
    if not total:
        raise InputError(f"{path}: no piece in it; count a text with `tokenlab count`")
    return _sorted(total, cut)


def is_counts(path: str | Path) -> bool:
    """Whether a file is a table of counts: TSV by its name, Parquet by its columns. A pipe is none: it is read once."""
    if str(path).lower().endswith(".tsv"):
        return True
    if not Path(path).is_file():
        return False
    try:
        return bool(pq.read_schema(path).names == [field.name for field in _FIELDS])
    except (OSError, pa.ArrowException):
        return False


def _read_parquet(path: str | Path) -> tuple[Iterator[tuple[str, int]], Cut | None]:
    with Path(path).open("rb") as file:  # an error of the system names the file
        if file.read(4) != b"PAR1":
            raise InputError(
                f"{path}: no table of counts, neither Parquet nor .tsv; count a text with `tokenlab count`"
            )
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        columns = [table[field.name].cast(field.type).to_pylist() for field in _FIELDS]
    except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path}: no table of counts ({reason}); count a text with `tokenlab count`") from None
    facts = table.schema.metadata or {}
    cut = Cut(facts[_CUT].decode(), facts[_PATTERN].decode() or None) if {_CUT, _PATTERN} <= facts.keys() else None
    return zip(columns[0], (count or 0 for count in columns[1]), strict=True), cut


def _read_tsv(path: str | Path) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(read_lines(path), 1):
        piece, tab, count = line.rpartition("\t")
        if not tab or not count.isdecimal() or len(count) > _MOST_DIGITS:
            raise InputError(f"{path}:{number}: not a piece, a tab and a count; correct the line")
        yield piece, int(count)


def _sorted(total: dict[str, int], cut: Cut | None) -> PieceCounts:
    pieces = sorted(total)
    _within_int64(max(total.values(), default=0))
    counts = np.fromiter(map(total.__getitem__, pieces), np.int64, len(pieces))
    return PieceCounts(pieces, counts, None if cut is None else cut._replace(cutter=None))


def _within_int64(count: int) -> int:
    if count > _LARGEST_COUNT:
        raise InputError(f"a sum of counts is {count}, beyond 2^63 - 1; divide the counts")
    return count
