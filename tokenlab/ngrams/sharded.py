"""n-gram statistics of a text of any length within a bounded memory: the rows of `ngram_statistics`, to the last bit.

1. `count_shard`: the positions of a shard are sorted by the n_max + 1 units that begin there. The distinct ones, with
   their counts, are a sorted run on disk. Shorter n-grams begin these, so a run holds the counts of every length.
2. `merge_partition`: the n-grams are divided by their first unit. The runs of a partition are merged; what the merged
   rows begin with are the n-grams, in order. Those that occur `min_frequency` times are kept. Of the others only those
   are of use that occur twice and more: f log f, their part in the branching entropies, is 0 for f = 1. They give the
   right entropy of the n-gram that they extend, and are written to where the n-gram lies whose left entropy they enter.
3. `finish_partition`: left entropies and the smallest PMI.

Sums are taken in the order of `ngram_statistics`, which is that of the symbols, so that even the last bit of an entropy
is independent of shards and partitions. A sentence is never divided between shards.
"""

import math
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tokenlab.core.batches import in_batches
from tokenlab.core.errors import InputError
from tokenlab.core.files import scratch_folder
from tokenlab.core.shards import Cluster, map_shards
from tokenlab.ngrams.clusters import COMPOSED, spell
from tokenlab.ngrams.counting import (
    LARGEST,
    NgramStatistics,
    count_tokens,
    encode_units,
    no_character,
    sort_text,
)
from tokenlab.ngrams.kernels import fill_pair_pmi
from tokenlab.ngrams.options import StatisticsOptions
from tokenlab.ngrams.sharded_kernels import (
    COUNT,
    DONE,
    ENDS,
    FULL,
    STARTS,
    UNSORTED,
    close_nodes,
    fill_least_pmi,
    find_suffixes,
    merge_rows,
)

Columns = dict[str, NDArray[Any]]

_ROWS = 1 << 15
"""Rows of a block of a run: 1 MB in memory for n_max = 4, 0.2 MB on disk."""
_NODES = 1 << 18
_BYTES_PER_CHARACTER = 80
"""Of a shard while it is counted."""
_BYTES_PER_ROW = {True: 400, False: 80}
"""Of a partition while it is merged, by row of its runs; True where rare n-grams are kept."""


class Run(NamedTuple):
    """A shard that was counted."""

    path: str
    """Arrow file with a row for each distinct n-gram of n_max + 1 units, or fewer where a sentence ends."""
    units: list[str]
    """In the order of their symbols; in the file their numbers, from 1."""
    rows: NDArray[np.int64]
    """int64[units]: how many rows begin with each."""
    tokens: int
    characters: int


class _Corpus(NamedTuple):
    """What all partitions are merged with."""

    options: StatisticsOptions
    folder: str
    runs: list[Run]
    symbols: list[NDArray[np.uint32]]
    """uint32[units of the run + 1] for each run: the places of its units among those of the corpus; 0 for 0."""
    bounds: list[int]
    """The first unit of each partition, from 1, and the one after the last."""


def sharded_statistics(
    shards: Iterable[list[str]],
    options: StatisticsOptions,
    memory: int,
    folder: str | Path | None = None,
    cluster: Cluster | None = None,
) -> NgramStatistics:
    """The statistics of sentences in shards, equal in every bit to those that `ngram_statistics` computes at once.

    Args:
        shards: sentences, read as a stream; see `shard_characters`.
        memory: bytes that a process uses while it counts, beside what Python and its libraries take. More may be needed
            for a sentence longer than a shard, and for the n-grams that begin with one unit. The columns of the result
            are mapped from disk.
        folder: for temporary files; default: the system's, TMPDIR. All workers must reach it.
        cluster: of `tokenlab.core.shards.open_cluster`.

    Raises:
        ClusterError: as `map_shards`.
        InputError: as `ngram_statistics`; no room for the temporary files.
    """
    with scratch_folder(folder) as place:
        texts = map("\n".join, shards)  # One string is sent to a worker in a third of the time of its lines.
        runs = map_shards(partial(count_shard, options, str(place)), enumerate(texts), list, cluster)
        corpus, units = _divide(runs, options, place, memory)
        partitions = range(len(corpus.bounds) - 1)
        counts = np.concatenate(map_shards(partial(merge_partition, corpus), partitions, list, cluster))
        if counts.sum() != sum(run.characters for run in runs):
            raise _changed(place)
        tokens = sum(run.tokens for run in runs)
        # By a worker: the kernels are there already.
        map_shards(partial(_write_pairs, corpus, counts), [tokens], list, cluster)
        rows = map_shards(partial(finish_partition, corpus), partitions, list, cluster)
        return _assemble(corpus, units, tokens, rows)


def in_shards(sentences: Iterable[str], memory: int) -> Iterator[list[str]]:
    """Sentences in shards, each of which is counted within so many bytes unless it is one sentence."""
    return in_batches(sentences, max(1, memory // _BYTES_PER_CHARACTER), size=lambda sentence: len(sentence) + 1)


def count_shard(options: StatisticsOptions, folder: str, shard: tuple[int, str]) -> Run:
    """Write the run of a shard: its number, and its sentences as lines.

    Raises InputError for a lone surrogate.
    """
    number, text = shard
    codes, alphabet, composed = encode_units([text], options)
    depth = options.n_max + 1
    codes, (positions, lengths, shared, _) = sort_text(codes, len(alphabet), depth)
    same = np.zeros(len(positions), bool)
    same[1:] = (lengths[1:] == lengths[:-1]) & (shared[1:] == lengths[1:])
    first = np.flatnonzero(~same)
    starts = (codes[positions - 1] == 0) | (positions == 0)
    rows: Columns = {
        "count": np.diff(first, append=len(positions)),
        "starts": np.add.reduceat(starts, first, dtype=np.int64) if len(first) else first,
    }
    positions, lengths = positions[first], lengths[first]
    for k in range(depth):
        rows[f"unit{k}"] = np.where(lengths > k, codes[positions + k], 0)
    first_units = np.bincount(rows["unit0"], minlength=len(alphabet) + 1)[1:]
    rows = {name: column.astype(np.min_scalar_type(column.max(initial=0))) for name, column in rows.items()}
    path = Path(folder) / f"run-{number}.arrow"
    _write(path, rows)
    return Run(
        path=str(path),
        units=list(spell(alphabet[:, np.newaxis], composed)),
        rows=first_units,
        tokens=count_tokens(order_lengths := np.repeat(lengths, rows["count"]), options),
        characters=len(order_lengths),
    )


def _divide(runs: list[Run], options: StatisticsOptions, folder: Path, memory: int) -> tuple[_Corpus, list[str]]:
    """The partitions, and the units of the corpus."""
    units = sorted({unit for run in runs for unit in run.units}, key=lambda unit: (len(unit) > 1, unit))
    if not units:
        raise no_character()
    place_of = {unit: place for place, unit in enumerate(units, 1)}
    symbols = [np.array([0, *map(place_of.__getitem__, run.units)], np.uint32) for run in runs]
    rows = np.zeros(len(units) + 1, np.int64)
    for run, places in zip(runs, symbols, strict=True):
        rows[places[1:]] += run.rows
    total = np.cumsum(rows)
    partitions = 1 + total[-1] * _BYTES_PER_ROW[options.min_frequency == 1] // memory
    inner = 1 + np.searchsorted(total, np.arange(1, partitions) * total[-1] // partitions)
    bounds = sorted({1, *inner.tolist(), len(units) + 1})
    return _Corpus(options, str(folder), runs, symbols, bounds), units


def merge_partition(corpus: _Corpus, partition: int) -> NDArray[np.int64]:
    """Write the n-grams that begin with the units of a partition; returns how often each of these units occurs."""
    options, (low, high) = corpus.options, corpus.bounds[partition : partition + 2]
    levels = _merged(corpus, low, high)
    kept: list[Columns] = []
    new_row, size = np.empty(0, np.int64), 0
    for n, level in enumerate(levels[:-1], 1):
        keep = (level["count"] >= options.min_frequency) | (n == 1)
        longer = levels[n]
        weighted = np.zeros(len(keep))
        np.add.at(weighted, longer["parent"], _n_log_n(longer["count"]))
        parent = new_row[level["parent"][keep]] if n > 1 else level["parent"]
        new_row = size + np.cumsum(keep) - 1
        size += int(keep.sum())
        rows = {name: column[keep] for name, column in level.items()}
        entropy = _entropy(rows["count"], rows.pop("ends"), weighted[keep], options)
        kept.append(rows | {"n": np.full(len(parent), n, np.uint8), "parent": parent, "right": entropy})
    _write(_named(corpus, "kept", partition), _joined(kept))
    _write_extensions(corpus, partition, levels)
    return levels[0]["count"]


def _merged(corpus: _Corpus, low: int, high: int) -> list[Columns]:
    """The n-grams of each length from 1 to n_max + 1 that begin with units low to high - 1, sorted.

    Columns last, parent (place among those of the length before), count, starts and ends. Those longer than one unit
    that are of no use, since they are rare, are left out.
    """
    n_max, frequent = corpus.options.n_max, min(2, corpus.options.min_frequency)
    depth = n_max + 1
    blocks = [_blocks(run, places, low, high, depth) for run, places in zip(corpus.runs, corpus.symbols, strict=True)]
    symbols = np.zeros((len(blocks), _ROWS, depth), np.uint32)
    counts = np.zeros((len(blocks), _ROWS, 2), np.int64)
    filled, following = np.zeros(len(blocks), np.int64), np.zeros(len(blocks), np.int64)
    final = np.zeros(len(blocks), bool)
    path, sums, written = np.zeros(depth, np.uint32), np.zeros((depth + 1, 3), np.int64), np.zeros(depth + 1, np.int64)
    least = np.array([1, 1, *[frequent] * (n_max - 1), 2])
    nodes, node_sums = np.empty((_NODES, 3), np.uint32), np.empty((_NODES, 3), np.int64)
    levels: list[list[tuple[NDArray[np.uint32], NDArray[np.int64]]]] = [[] for _ in range(depth)]

    def keep(new: int) -> None:
        for n, parts in enumerate(levels, 1):
            chosen = nodes[:new, 0] == n
            parts.append((nodes[:new][chosen, 1:], node_sums[:new][chosen]))

    needed = FULL
    while needed != DONE:
        new, needed = merge_rows(
            symbols, counts, filled, following, final, path, sums, written, least, nodes, node_sums
        )
        if needed == UNSORTED:
            raise _changed(corpus.folder)
        keep(new)
        if needed >= 0:
            block = next(blocks[needed], None)
            final[needed] = block is None
            filled[needed], following[needed] = 0, 0
            if block is not None:
                filled[needed] = len(block[0])
                symbols[needed, : len(block[0])], counts[needed, : len(block[0])] = block
    keep(close_nodes(path, 0, sums, written, least, nodes, node_sums, 0))
    return [_level(levels.pop(0)) for _ in range(depth)]  # whose parts are freed with it


def _level(parts: list[tuple[NDArray[np.uint32], NDArray[np.int64]]]) -> Columns:
    """The nodes of a length."""
    nodes, sums = (np.concatenate(column) for column in zip(*parts, strict=True))
    parts.clear()
    columns = np.ascontiguousarray(sums.T)
    return {
        "last": nodes[:, 0].copy(),
        "parent": nodes[:, 1].astype(np.int64),
        "count": columns[COUNT],
        "starts": columns[STARTS],
        "ends": columns[ENDS],
    }


def _blocks(
    run: Run, places: NDArray[np.uint32], low: int, high: int, depth: int
) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.int64]]]:
    """The rows of a run that begin with units low to high - 1 of the corpus: their symbols there, and their counts."""
    first, stop = np.searchsorted(places[1:], [low, high])
    row, end = int(run.rows[:first].sum()), int(run.rows[:stop].sum())
    while row < end:
        block = row // _ROWS
        inside = slice(row - block * _ROWS, min(end - block * _ROWS, _ROWS))
        columns = _read(run.path, block)
        symbols = np.column_stack([places[columns[f"unit{k}"][inside]] for k in range(depth)])
        yield symbols, np.column_stack((columns["count"][inside], columns["starts"][inside]))
        row = (block + 1) * _ROWS


def _write_extensions(corpus: _Corpus, partition: int, levels: list[Columns]) -> None:
    """Write the n-grams of two units and more that occur twice or more to the partitions of their second unit."""
    frequent = [level["count"] > 1 for level in levels]
    place = [np.searchsorted(corpus.bounds, levels[1]["last"], "right") - 1]
    for level in levels[2:]:
        place.append(place[-1][level["parent"]])
    for other in range(len(corpus.bounds) - 1):
        parts, new_row, size = [], np.empty(0, np.int64), 0
        for n, (level, often, where) in enumerate(zip(levels[1:], frequent[1:], place, strict=True), 2):
            chosen = often & (where == other)
            parent = level["parent"][chosen]
            parts.append(
                {
                    "n": np.full(len(parent), n, np.uint8),
                    "last": level["last"][chosen],
                    "parent": new_row[parent] if n > 2 else parent,
                    "count": level["count"][chosen],
                }
            )
            new_row = size + np.cumsum(chosen) - 1
            size += len(parent)
        _write(_named(corpus, f"extensions-{partition}", other), _joined(parts))


def _write_pairs(corpus: _Corpus, counts: NDArray[np.int64], tokens: int) -> None:
    """Write the PMI (nats) of all bigrams that are kept; counts: int64[units]."""
    parts = []
    for partition in range(len(corpus.bounds) - 1):
        kept = _read(_named(corpus, "kept", partition))
        pairs = kept["n"] == 2
        first = kept["parent"][pairs] + corpus.bounds[partition] - 1
        parts.append({"first": first, "last": kept["last"][pairs], "count": kept["count"][pairs]})
    pairs = _joined(parts)
    pmi = np.empty(len(pairs["count"]))
    fill_pair_pmi(pairs["last"].astype(np.int64) - 1, pairs["first"], pairs["count"], counts, tokens, pmi)
    begin = np.concatenate(([0], np.cumsum(np.bincount(pairs["first"] + 1, minlength=len(counts) + 1))))
    _write(_named(corpus, "pairs", 0), {"last": pairs["last"], "pmi": pmi})
    _write(_named(corpus, "pairs", 1), {"begin": begin})


def finish_partition(corpus: _Corpus, partition: int) -> NDArray[np.int64]:
    """Write all columns of the rows of a partition; returns how many there are of each length, int64[n_max]."""
    kept = _read(_named(corpus, "kept", partition))
    sizes = np.bincount(kept["n"], minlength=corpus.options.n_max + 1)[1:]
    singles, low = int(sizes[0]), corpus.bounds[partition]
    children = np.bincount(kept["parent"][singles:], minlength=len(kept["n"]))
    first_child = np.concatenate(([0], np.cumsum(children))) + singles
    weighted = np.zeros(len(kept["n"]))
    for other in range(len(corpus.bounds) - 1):
        longer = _read(_named(corpus, f"extensions-{other}", partition))
        suffix = find_suffixes(longer["n"], longer["last"], longer["parent"], low, kept["last"], first_child)
        known = suffix >= 0
        np.add.at(weighted, suffix[known], _n_log_n(longer["count"][known]))
    left = _entropy(kept["count"], kept["starts"], weighted, corpus.options)
    pmi = np.full(len(weighted), np.nan)
    pairs, begin = _read(_named(corpus, "pairs", 0)), _read(_named(corpus, "pairs", 1))["begin"]
    ours = slice(begin[low], begin[corpus.bounds[partition + 1]])
    triples = singles + (ours.stop - ours.start)
    pmi[singles:triples] = pairs["pmi"][ours]
    fill_least_pmi(triples, kept["last"], kept["parent"], pairs["last"], begin, pairs["pmi"], pmi)
    rows = {name: kept[name] for name in ("last", "parent", "count", "right")}
    _write(_named(corpus, "rows", partition), rows | {"left": left, "pmi": pmi})
    return sizes


def _assemble(corpus: _Corpus, units: list[str], tokens: int, sizes: list[NDArray[np.int64]]) -> NgramStatistics:
    """The rows of all partitions, by length and then by partition, in columns that are mapped from disk."""
    options, folder = corpus.options, str(Path(corpus.folder).parent)
    level = np.concatenate(([0], np.cumsum(np.sum(sizes, axis=0))))
    rows = int(level[-1])
    if rows > LARGEST:
        raise InputError(
            f"the text has {rows:,} different n-grams, more than {LARGEST:,}; choose a smaller n_max or a larger "
            "min_frequency"
        )
    composed = tuple(unit for unit in units if len(unit) > 1)
    symbols = np.array([0, *map(ord, units[: len(units) - len(composed)]), *range(COMPOSED, COMPOSED + len(composed))])
    kinds = {"last": np.uint32, "parent": np.int32, "count": np.int64, "pmi": float, "left": float, "right": float}
    next_row = level[:-1].copy()
    with ExitStack() as stack:
        files = {name: stack.enter_context(tempfile.TemporaryFile(prefix="tokenlab-", dir=folder)) for name in kinds}
        for partition, of_length in enumerate(sizes):
            part = _read(_named(corpus, "rows", partition))
            begins = np.concatenate(([0], np.cumsum(of_length)))
            part["last"] = symbols[part["last"]]
            part["parent"][: begins[1]] = -1
            for n in range(2, len(begins)):
                part["parent"][begins[n - 1] : begins[n]] += (next_row - begins[:-1])[n - 2]
            for name in ("pmi", "left", "right") if options.log_base == "2" else ():
                part[name] /= math.log(2.0)
            for name, file in files.items():
                column = part[name].astype(kinds[name], copy=False)
                for first, (begin, end) in zip(next_row, pairwise(begins), strict=True):
                    file.seek(int(first) * column.itemsize)
                    file.write(column[begin:end].data)
            next_row += of_length
        columns = {name: _mapped(file, kinds[name], rows) for name, file in files.items()}
    return NgramStatistics(
        options=options,
        tokens=tokens,
        characters=sum(run.characters for run in corpus.runs),
        level=level,
        last=columns["last"],
        parent=columns["parent"],
        count=columns["count"],
        min_pmi=columns["pmi"],
        left_entropy=columns["left"],
        right_entropy=columns["right"],
        composed=composed,
    )


def _entropy(
    count: NDArray[np.int64], edges: NDArray[np.int64], weighted: NDArray[np.float64], options: StatisticsOptions
) -> NDArray[np.float64]:
    """Branching entropies (nats), as `branching_entropies` computes them, from sums of f log f and edges."""
    total = count if options.edge == "symbol" else count - edges
    if options.edge == "symbol":
        weighted = weighted + _n_log_n(edges)
    return np.maximum(_n_log_n(total) - weighted, 0.0) / np.maximum(total, 1)


def _n_log_n(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    numbers = np.maximum(counts, 1).astype(np.float64)
    return numbers * np.log(numbers)


def _named(corpus: _Corpus, what: str, partition: int) -> Path:
    return Path(corpus.folder) / f"{what}-{partition}.arrow"


def _joined(parts: list[Columns]) -> Columns:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _write(path: Path, columns: Columns) -> None:
    """Write a file, which then is there as a whole: a worker that is killed leaves no part of it."""
    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    part = path.with_suffix(f".{os.getpid()}")
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.OSFile(str(part), "wb") as file, pa.ipc.new_file(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=_ROWS)
    part.replace(path)


def _read(path: str | Path, block: int | None = None) -> Columns:
    """The columns of a file, or of one of its blocks."""
    try:
        with pa.OSFile(str(path)) as file:
            reader = pa.ipc.open_file(file)
            found = reader.read_all() if block is None else reader.get_batch(block)
    except (pa.ArrowException, IndexError):
        raise _changed(path) from None
    return {name: found[name].to_numpy().copy() for name in found.schema.names}


def _changed(path: str | Path) -> InputError:
    return InputError(f"{path}: damaged or changed while it was in use; run again")


def _mapped(file: IO[bytes], kind: Any, rows: int) -> NDArray[Any]:
    """A column on disk, which goes with the array. It was written, not filled: filled pages would all be resident."""
    file.flush()
    return np.asarray(np.memmap(file, kind, "r+", shape=rows)) if rows else np.empty(0, kind)
