"""n-gram statistics: counts, smallest adjacent PMI and branching entropies of all n-grams of up to 6 characters."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from benchmarks.measure import CORES, Bench, Facts, Measurement, Task, agree, on_lines
from benchmarks.peers import COLUMNS, Rows, counter_statistics, polars_rows, polars_statistics, soynlp_statistics
from tokenlab.ngrams.counting import NgramStatistics, ngram_statistics

TITLE = "n-gram statistics"
TEXTS = ("once", "part", "three", "ten")
_TOLERANCE = 1e-9


def table(bench: Bench) -> list[str]:
    compiling = bench.measure("ngram_statistics:tokenlab", bench.text("part"), runs=1).warm_up
    compared = bench.measure("ngram_statistics:compare", bench.text("part"), runs=1).facts
    for peer, (rows, difference) in compared.items():
        if not difference <= _TOLERANCE:
            raise RuntimeError(f"{peer} differs from tokenlab by {difference} in {rows} rows, so no time is printed")
    equal = ", ".join(f"{peer} in {rows:,} rows by {difference:.0e}" for peer, (rows, difference) in compared.items())
    once, peers = _beside_peers(bench, "once", [("polars", 1), ("polars", CORES)])
    _, slow_peers = _beside_peers(bench, "part", [("Counter", 1), ("soynlp", 1)])
    return [
        "| | threads | text | characters | million characters/s | tokenlab is faster | peak memory, MB |",
        "| --- | --: | --- | --: | --: | --: | --: |",
        *peers,
        *slow_peers,
        "",
        f"Compared row by row on `part`, they differ from tokenlab, in any column and at most: {equal}.",
        f"tokenlab compiles for {compiling:.1f} s once after installing; a process loads that in {once.warm_up:.1f} s.",
        "",
        "Longer texts, one thread:",
        "",
        "| text | characters | million characters/s | ns/character | n-grams/character | peak bytes/character |",
        "| --- | --: | --: | --: | --: | --: |",
        _size_row(bench, "once", once),
        *(
            _size_row(bench, text, bench.measure("ngram_statistics:tokenlab", bench.text(text)))
            for text in ("three", "ten")
        ),
    ]


def _beside_peers(bench: Bench, text: str, peers: list[tuple[str, int]]) -> tuple[Measurement, list[str]]:
    """Ours, and the rows of ours and the peers (name, threads) on a text."""
    ours = bench.measure("ngram_statistics:tokenlab", bench.text(text))
    million = bench.millions(text)

    def row(name: str, threads: int, found: Measurement, faster: str) -> str:
        size = f"{text} | {million * 1e6:,.0f} | {found.rate(million)}"
        return f"| {name} | {threads} | {size} | {faster} | {found.peak / 1e6:,.0f} |"

    rows = [row("tokenlab", 1, ours, "")]
    for name, threads in peers:
        theirs = bench.measure(f"ngram_statistics:{name}", bench.text(text), threads=threads)
        if name != "soynlp":  # It has fewer rows; those were compared one by one.
            agree(ours, theirs)
        rows.append(row(name, threads, theirs, f"{theirs.median / ours.median:.1f} times"))
    return ours, rows


def _size_row(bench: Bench, text: str, found: Measurement) -> str:
    million = bench.millions(text)
    characters = million * 1e6
    return (
        f"| {text} | {characters:,.0f} | {found.rate(million)} | {found.median / characters * 1e9:.0f} "
        f"| {found.facts['rows'] / characters:.2f} | {found.peak / characters:.0f} |"
    )


def tokenlab_ngrams(statistics: NgramStatistics) -> list[str]:
    """The n-grams of the rows."""
    points = (statistics.code_points(n) for n in range(1, statistics.options.n_max + 1))
    return ["".join(map(chr, row)) for level in points for row in level.tolist()]


def _tokenlab_rows(statistics: NgramStatistics) -> Rows:
    values = zip(*(getattr(statistics, column).tolist() for column in COLUMNS), strict=True)
    return dict(zip(tokenlab_ngrams(statistics), values, strict=True))


PEERS: dict[str, Callable[[list[str]], Rows]] = {
    "polars": lambda sentences: polars_rows(polars_statistics(sentences)),
    "Counter": counter_statistics,
    "soynlp": soynlp_statistics,
}


def largest_difference(sentences: list[str], peer: str) -> tuple[int, float]:
    """Rows that a peer shares with us, and the largest difference of a value; inf where its rows are not ours."""
    ours, theirs = _tokenlab_rows(ngram_statistics(sentences)), PEERS[peer](sentences)
    if peer == "soynlp":
        ours = {ngram: (row[0], float("nan"), *row[2:]) for ngram, row in ours.items() if len(ngram) > 1}
    if ours.keys() != theirs.keys():
        return 0, float("inf")
    difference = np.array(list(ours.values())) - np.array([theirs[ngram] for ngram in ours])
    return len(ours), float(np.nanmax(np.abs(difference)))


def _compare(text: str) -> Task:
    """Every row of every peer against ours: {peer: [rows, largest difference]}."""
    return on_lines(lambda lines: {peer: largest_difference(lines, peer) for peer in PEERS}, text, dict)


def _task(run: Callable[[list[str]], Any], columns: Callable[[Any], dict[str, np.ndarray]]) -> Callable[[str], Task]:
    """A task on a text; its facts are the rows and the sums of the columns."""

    def facts(result: Any) -> Facts:
        values = columns(result)
        return {"rows": len(values["count"]), **{name: float(np.nansum(values[name])) for name in values}}

    return lambda text: on_lines(run, text, facts)


def _row_columns(*names: str) -> Callable[[Rows], dict[str, np.ndarray]]:
    return lambda rows: {name: np.array([row[COLUMNS.index(name)] for row in rows.values()]) for name in names}


TASKS = {
    "compare": _compare,
    "tokenlab": _task(ngram_statistics, lambda result: {name: getattr(result, name) for name in COLUMNS}),
    "polars": _task(polars_statistics, lambda result: {c: pl.concat(result[1])[c].to_numpy() for c in COLUMNS}),
    "Counter": _task(counter_statistics, _row_columns(*COLUMNS)),
    "soynlp": _task(soynlp_statistics, _row_columns("count")),
}
