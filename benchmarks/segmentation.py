"""Segmentation with statistics at hand: `Segmenter.segment` and `Segmentation.text`, and the command as a process."""

import time
from typing import Any

from benchmarks.measure import Bench, Task, lines_of, on_lines, table_of
from tokenlab.ngrams.counting import ngram_statistics
from tokenlab.segment.by_statistics import Segmenter
from tokenlab.segment.options import SegmentOptions

TITLE = "segmentation"
TEXTS = ("once", "part", "held_out")


def table(bench: Bench) -> list[str]:
    once, rows = bench.text("once"), []
    for decoder in ("viterbi", "greedy"):
        for isolate in ("script", "none"):
            for text in ("part", "once", "held_out"):
                counted = bench.text("part") if text == "part" else once
                found = bench.measure("segmentation:tokenlab", counted, bench.text(text), decoder, isolate)
                millions = bench.millions(text)
                rows.append((decoder, isolate, text, f"{millions * 1e6:,.0f}", found.rate(millions)))
    set_up = found.facts["set_up_seconds"]
    whole = bench.measure_command(["segment", once])
    return [
        *table_of(["decoder", "isolate", "text", "characters", "million characters/s"], rows, left=3),
        "",
        f"Before that, `Segmenter(statistics)` takes {set_up:.2f} s for the statistics of `once`.",
        "",
        f"The command `tokenlab segment FILE` on {bench.millions('once') * 1e6:,.0f} characters, start, statistics and "
        f"output included: {whole.rate(bench.millions('once'))} million characters/s, {whole.median:.1f} s, "
        f"{whole.peak / 1e6:,.0f} MB at its peak.",
    ]


def _tokenlab(counted: str, text: str, decoder: Any, isolate: Any) -> Task:
    options = SegmentOptions(decoder=decoder, isolate=isolate)
    statistics = ngram_statistics(lines_of(counted))
    start = time.perf_counter()
    segmenter = Segmenter(statistics, options)
    set_up = time.perf_counter() - start

    def segment(sentences: list[str]) -> list[str]:
        return [batch.text() for batch in segmenter.segment(sentences)]

    return on_lines(segment, text, lambda _: {"set_up_seconds": set_up})


TASKS = {"tokenlab": _tokenlab}
