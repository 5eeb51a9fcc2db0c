"""n-gram statistics beyond memory: growth of time, memory and disk with the text, within 2 GB, beside the engine that
holds everything in memory."""

import math
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.measure import Bench, Facts, Task, agree, output_of, peak_memory
from benchmarks.resampled import drawn
from tokenlab.core.options import MemoryOptions
from tokenlab.ngrams.counting import NgramStatistics, ngram_statistics
from tokenlab.ngrams.options import StatisticsOptions, Unit
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
    ]


def text_of(path: str, millions: float) -> Iterator[str]:
    """New text like that of a file, made by another process as it is read."""
    with output_of(drawn(path, math.ceil(millions * 1e6))) as text:
        yield from read_lines(text)


@contextmanager
def sizes_of(folder: str) -> Iterator[list[int]]:
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


def sharded(path: str, millions: str, unit: Unit = OPTIONS.unit) -> Task:
    """Our counting: the statistics, the largest size of the temporary files and the largest memory."""

    def run(millions: float) -> tuple[NgramStatistics, Facts]:
        with tempfile.TemporaryDirectory() as folder, sizes_of(folder) as sizes:
            shards = in_shards(text_of(path, millions), MEMORY.bytes)
            statistics = sharded_statistics(shards, replace(OPTIONS, unit=unit), MEMORY.bytes, folder)
            return statistics, {"disk": max(sizes), "resident": peak_memory()}

    return Task(run, 1e-3, float(millions), _facts)


def _in_memory(path: str, millions: str) -> Task:
    return Task(lambda size: (ngram_statistics(text_of(path, size), OPTIONS), {}), 1e-3, float(millions), _facts)


TASKS = {"sharded": sharded, "in_memory": _in_memory}
