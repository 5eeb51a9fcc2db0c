"""n-gram statistics beyond memory: growth of time, memory and disk with the text, within 2 GB, beside the engine that
holds everything in memory, and beside DuckDB and Polars.

They count the same n-grams: the four characters from every position, packed into an integer, are grouped, and then what
these begin with. That is the part of the work that they can take over. PMI and branching entropies, which need n-grams
of five characters, are left out.
"""

import math
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.measure import Bench, Facts, Measurement, Task, agree, output_of, peak_memory, table_of
from benchmarks.resampled import drawn
from tokenlab.core.options import MemoryOptions
from tokenlab.ngrams.counting import NgramStatistics, ngram_statistics
from tokenlab.ngrams.options import StatisticsOptions
from tokenlab.ngrams.sharded import in_shards, sharded_statistics
from tokenlab.text.lines import read_lines

TITLE = "n-gram statistics beyond memory"
TEXTS = ("three",)
RUNS = 1
MEMORY = MemoryOptions("2G")
OPTIONS = StatisticsOptions(n_max=4, min_frequency=5)
_SIZES = {False: (2, 20, 200, 2000), True: (0.02, 0.2)}
"""Millions of characters; in full, and with --quick."""
_IN_MEMORY = 20
"""Millions of characters that the other engine counts, too, at most: 200 would take it more than 16 GB."""
_PEERS = 200
"""Millions of characters that the peers count, at most."""
_BITS = 16  # of a character's number
_POLL = 0.2  # seconds


def table(bench: Bench) -> list[str]:
    """Measure, in seconds of CPU, since another process makes the text; Markdown."""
    sizes = _SIZES[bench.quick]
    rows, found = [], []
    for size in sizes:
        ours = bench.measure("beyond_memory:sharded", bench.text("three"), str(size), runs=RUNS)
        found.append(ours)
        beside = ""
        if size <= _IN_MEMORY:
            theirs = bench.measure("beyond_memory:in_memory", bench.text("three"), str(size), runs=RUNS)
            agree(ours, theirs)
            beside = f"{theirs.cpu / ours.cpu:.2f}"
        facts = ours.facts
        rows.append(
            f"| {size:,} | {ours.cpu:,.1f} | {ours.cpu * 1e3 / size:,.0f} | {beside} "
            f"| {facts['resident'] / 1e9:.2f} | {facts['disk'] / 1e9:.2f} | {facts['disk'] / size / 1e6:.1f} "
            f"| {facts['rows']:,} |"
        )
    return [
        "| million characters | seconds of CPU | ns/character | speed / in memory | resident, GB | disk, GB "
        "| bytes/character | n-grams kept |",
        "| --: | --: | --: | --: | --: | --: | --: | --: |",
        *rows,
        "",
        "Fitted by least squares over the logarithms: "
        + ", ".join(
            f"{what} grows as characters^{np.polyfit(np.log(sizes), np.log(values), 1)[0]:.2f}"
            for what, values in {
                "time": [one.cpu for one in found],
                "disk": [one.facts["disk"] for one in found],
                "n-grams kept": [one.facts["rows"] for one in found],
            }.items()
        )
        + ".",
        "",
        *_beside_peers(bench, {size: one for size, one in zip(sizes, found, strict=True) if size <= _PEERS}),
    ]


def _beside_peers(bench: Bench, found: dict[float, Measurement]) -> list[str]:
    """The counts alone, by whom they were made. found: ours, with all columns, by millions of characters."""
    peers = ["polars", *["duckdb"] * bool(find_spec("duckdb"))]
    rows = []
    for size, ours in found.items():
        counts = [bench.measure(f"beyond_memory:{name}", bench.text("three"), str(size), runs=RUNS) for name in peers]
        agree(*(replace(one, facts={fact: one.facts[fact] for fact in ("rows", "count")}) for one in (ours, *counts)))
        for name, one in zip(peers, counts, strict=True):
            resident, disk = (f"{one.facts[fact] / 1e9:.2f}" for fact in ("resident", "disk"))
            rows.append((f"{name} {version(name)}", f"{size:,}", f"{one.cpu:,.1f}", resident, disk))
    missing = [] if "duckdb" in peers else ["", "duckdb is not installed, so it has no row."]
    return [
        *table_of(["counts alone", "million characters", "seconds of CPU", "resident, GB", "disk, GB"], rows),
        *missing,
    ]


def _text(path: str, millions: float) -> Iterator[str]:
    """New text like that of a file, made by another process as it is read."""
    with output_of(drawn(path, math.ceil(millions * 1e6))) as text:
        yield from read_lines(text)


@contextmanager
def _sizes_of(folder: str) -> Iterator[list[int]]:
    """The sizes that a folder has while in the `with` block."""
    ended, sizes = threading.Event(), [0]

    def watch() -> None:
        while not ended.wait(_POLL):
            size = 0
            for path in Path(folder).rglob("*"):
                with suppress(FileNotFoundError):  # removed since
                    size += path.stat().st_size
            sizes.append(size)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield sizes
    finally:
        ended.set()
        thread.join()


def _facts(found: tuple[NgramStatistics, Facts]) -> Facts:
    statistics, facts = found
    columns = ("count", "min_pmi", "left_entropy", "right_entropy")
    return {"rows": len(statistics), **{name: float(np.nansum(getattr(statistics, name))) for name in columns}, **facts}


def _sharded(path: str, millions: str) -> Task:
    def run(millions: float) -> tuple[NgramStatistics, Facts]:
        with tempfile.TemporaryDirectory() as folder, _sizes_of(folder) as sizes:
            shards = in_shards(_text(path, millions), MEMORY.bytes)
            statistics = sharded_statistics(shards, OPTIONS, MEMORY.bytes, folder)
            return statistics, {"disk": max(sizes), "resident": peak_memory()}

    return Task(run, 1e-3, float(millions), _facts)


def _in_memory(path: str, millions: str) -> Task:
    return Task(lambda size: (ngram_statistics(_text(path, size), OPTIONS), {}), 1e-3, float(millions), _facts)


def _keys(text: Iterator[str]) -> Iterator[NDArray[np.uint64]]:
    """The characters from each position up to the fourth or whitespace, packed; a block of lines at a time."""
    numbers, seen = np.zeros(0x110000, np.uint64), 0
    for lines in in_shards(text, MEMORY.bytes):
        points = np.frombuffer("\n".join([*lines, " " * OPTIONS.n_max]).encode("utf-32-le"), np.uint32)
        new = [point for point in np.unique(points) if not numbers[point] and not chr(point).isspace()]
        numbers[new] = range(seen + 1, seen + 1 + len(new))
        seen += len(new)
        codes = numbers[points]
        count = codes.size - OPTIONS.n_max
        keys = column = codes[:count]
        for n in range(1, OPTIONS.n_max):
            column = np.where(column != 0, codes[n : n + count], 0)
            keys = keys << _BITS | column
        yield keys[codes[:count] != 0]
    assert seen < 1 << _BITS, "a character's number has more bits"


def _counts(count: Callable[[Path], pl.DataFrame]) -> Callable[[str, str], Task]:
    """count: from a folder of Parquet files with the column `key` to the n-grams kept and their occurrences, by n."""

    def prepare(path: str, millions: str) -> Task:
        def run(millions: float) -> tuple[pl.DataFrame, Facts]:
            with tempfile.TemporaryDirectory() as folder, _sizes_of(folder) as sizes:
                for number, keys in enumerate(_keys(_text(path, millions))):
                    pl.DataFrame({"key": keys}).write_parquet(Path(folder, f"{number}.parquet"))
                return count(Path(folder)), {"disk": max(sizes), "resident": peak_memory()}

        return Task(run, 1e-3, float(millions), lambda found: {**dict(found[0].sum().row(0, named=True)), **found[1]})

    return prepare


def _least(n: int) -> int:
    """Occurrences of the n-grams that are kept: single characters all are."""
    return OPTIONS.min_frequency if n > 1 else 1


def _by_polars(folder: Path) -> pl.DataFrame:
    longest = pl.scan_parquet(folder / "*.parquet").group_by("key").len("count")
    longest.sink_parquet(folder / "counts")
    tables = []
    for n in range(1, OPTIONS.n_max + 1):
        key = pl.col("key") // (1 << _BITS * (OPTIONS.n_max - n))
        of_n = pl.scan_parquet(folder / "counts").group_by(key).agg(pl.col("count").sum())
        kept = of_n.filter(pl.col("count") >= _least(n), pl.col("key") % (1 << _BITS) != 0)
        tables.append(kept.select(rows=pl.len(), count=pl.col("count").sum()).collect(engine="streaming"))
    return pl.concat(tables)


def _by_duckdb(folder: Path) -> pl.DataFrame:
    connection = import_module("duckdb").connect(str(folder / "counts"))
    connection.execute(f"SET threads = 1; SET memory_limit = '{MEMORY.bytes}B'; SET temp_directory = '{folder}'")
    connection.execute("SET preserve_insertion_order = false")
    source = f"read_parquet('{folder}/*.parquet')"
    connection.execute(f"CREATE TABLE longest AS SELECT key, count(*) AS count FROM {source} GROUP BY key")
    tables = []
    for n in range(1, OPTIONS.n_max + 1):
        of_n = f"SELECT key >> {_BITS * (OPTIONS.n_max - n)} AS key, sum(count) AS count FROM longest GROUP BY 1"
        kept = f"FROM ({of_n}) WHERE count >= {_least(n)} AND key % {1 << _BITS} != 0"
        rows, count = connection.execute(f"SELECT count(*), sum(count)::BIGINT {kept}").fetchone()
        tables.append(pl.DataFrame({"rows": [rows], "count": [count]}))
    return pl.concat(tables)


TASKS = {
    "sharded": _sharded,
    "in_memory": _in_memory,
    "polars": _counts(_by_polars),
    "duckdb": _counts(_by_duckdb),
}
