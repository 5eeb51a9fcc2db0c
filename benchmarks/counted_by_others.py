"""n-grams counted within a bounded memory, by tokenlab and by DuckDB and Polars.

The peers pack the four characters from every position into an integer, group these, and then what they begin with. That
is the part of the work that they can take over: PMI and branching entropies, which need n-grams of five characters, are
left out, so tokenlab does more. DuckDB is measured where it is installed.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.beyond_memory import MEMORY, OPTIONS, sharded, sizes_of, text_of
from benchmarks.measure import Bench, Facts, Task, agree, peak_memory, table_of
from tokenlab.ngrams.sharded import in_shards

TITLE = "n-gram counts beyond memory by others"
TEXTS = ("three",)
RUNS = 1
_SIZES = {False: (20, 200), True: (0.02, 0.2)}
"""Millions of characters; in full, and with --quick."""
_BITS = 16  # of a character's number


def table(bench: Bench) -> list[str]:
    """Measure, in seconds of CPU, since another process makes the text; Markdown."""
    peers = ["polars", *["duckdb"] * bool(find_spec("duckdb"))]
    rows = []
    for size in _SIZES[bench.quick]:
        names = ["tokenlab", *peers]
        found = [
            bench.measure(f"counted_by_others:{name}", bench.text("three"), str(size), runs=RUNS) for name in names
        ]
        agree(*(replace(one, facts={fact: one.facts[fact] for fact in ("rows", "count")}) for one in found))
        for name, one in zip(names, found, strict=True):
            resident, disk = (f"{one.facts[fact] / 1e9:.2f}" for fact in ("resident", "disk"))
            rows.append((f"{name} {version(name)}", f"{size:,}", f"{one.cpu:,.1f}", resident, disk))
    missing = [] if "duckdb" in peers else ["", "duckdb is not installed, so it has no row."]
    return [*table_of(["engine", "million characters", "seconds of CPU", "resident, GB", "disk, GB"], rows), *missing]


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
            with tempfile.TemporaryDirectory() as folder, sizes_of(folder) as sizes:
                for number, keys in enumerate(_keys(text_of(path, millions))):
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
    "tokenlab": partial(sharded, unit="character"),
    "polars": _counts(_by_polars),
    "duckdb": _counts(_by_duckdb),
}
