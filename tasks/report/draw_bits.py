"""Tokens saved with known characters, splits of the 24 bits, and the translation pilot."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import LogLocator

from tasks.report.bits import CHARACTERS, CODES, STARTS, read_lengths
from tasks.report.inputs import read_parts, read_table
from tasks.report.plot import THOUSANDS, curve, grid, label, panels, save, whole_numbers
from tasks.report.style import ACCENT, GREY, INK, OCHRE, SECOND
from tasks.runtime.stage import Stage

_VARIANTS = {
    (3, "run"): ("3 prefixes", SECOND, "-", 3),
    (4, "run"): ("4 prefixes", ACCENT, "-", 1.4),
    (4, "change"): ("4 prefixes, on change alone", OCHRE, "--", 1.4),
}
"""Prefixes and emission -> label, colour, line and its width: the first two often are one."""

_CODE_COLOURS = {"bytes": SECOND, "bits": ACCENT}
_STARTS = {"scratch": ("-", "o"), "mean": ("--", "s"), "copy": (":", "^")}
"""Start of a model -> line, and marker of a line with one point."""

_COLUMNS = 3


def bits_figures(stage: Stage, folder: Path) -> Iterator[Callable[[], None]]:
    """Drawings of all corpora together, and of all pairs of languages together."""
    lengths, search = read_lengths(stage), read_parts(stage, "bits.corpora", "bits", "search.parquet")
    if len(lengths):
        yield partial(draw_savings, lengths, folder / "savings")
        yield partial(draw_search, search, folder / "search")
    scores = read_parts(stage, "bits.translation", "translation", "scores.parquet")
    if len(scores):
        losses = {
            name: read_table(stage.reports("translation_models", name, "loss.csv"))
            for name in stage.parameters("bits.translation", dict[str, Any])
        }
        yield partial(draw_translation, scores, folder / "translation")
        yield partial(draw_losses, losses, folder / "loss")


def draw_savings(lengths: pl.DataFrame, path: Path) -> None:
    """Tokens saved over byte fallback against the number of known characters, a panel for each corpus.

    Columns: corpus, base, known, code, mode, prefixes, emission, saved (share); rows of other bases are left out.
    """
    rows = lengths.filter(base=CHARACTERS, code="bits", mode="lossless")
    figure, found = panels(rows["corpus"].unique(maintain_order=True).to_list(), _COLUMNS, (3.1, 2.7), sharey=True)
    for corpus, axes in found.items():
        for (prefixes, emission), (name, colour, line, width) in _VARIANTS.items():
            points = rows.filter(corpus=corpus, prefixes=prefixes, emission=emission).sort("known")
            style: dict[str, Any] = {"marker": "o", "markersize": 2 + width, "linewidth": width}
            curve(axes, points["known"], 100 * points["saved"], line, color=colour, label=name, **style)
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.set_xticks(rows["known"].unique().sort())
        axes.xaxis.set_major_formatter(THOUSANDS)
    label(found.values(), "characters in the vocabulary", "tokens saved, %")
    save(figure, path, legend=3)


def draw_search(search: pl.DataFrame, path: Path) -> None:
    """Tokens saved against added tokens of the splits on the front, a panel for each corpus; the paper's is marked.

    Columns: corpus, split, added, saved (share), renyi (share), front and paper (bool).
    """
    rows = search.filter((pl.col("front") | pl.col("paper")) & (pl.col("added") > 0))
    rows = rows.with_columns(pl.col("saved", "renyi") * 100)
    figure, found = panels(rows["corpus"].unique(maintain_order=True).to_list(), _COLUMNS, (3.1, 3), sharey=True)
    efficiency = rows["renyi"].to_numpy()
    colours: dict[str, Any] = {"cmap": "viridis", "norm": Normalize(efficiency.min(), efficiency.max())}
    for corpus, axes in found.items():
        points = rows.filter(corpus=corpus).sort("added", "saved", maintain_order=True)
        axes.step(points["added"], points["saved"].cum_max(), where="post", color=GREY, linewidth=1, zorder=1)
        edge: dict[str, Any] = {"edgecolors": INK, "linewidths": 0.5, "zorder": 2}
        axes.scatter(points["added"], points["saved"], 26, points["renyi"], **edge, **colours)
        for added, saved, split in points.filter("paper").select("added", "saved", "split").iter_rows():
            axes.scatter(added, saved, 120, zorder=3, facecolors="none", edgecolors=ACCENT, linewidths=1.6)
            # To the right of the ring, where the front, which rises, has nothing.
            text: dict[str, Any] = {"color": ACCENT, "fontsize": 9, "va": "top", "textcoords": "offset points"}
            axes.annotate(f"{split}, the paper's", (added, saved), (10, -2), **text)
        axes.margins(y=0.12)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(LogLocator(16))
        axes.xaxis.set_major_formatter(THOUSANDS)
        axes.grid()
    label(found.values(), "added tokens, logarithmic scale", "tokens saved, %")
    figure.colorbar(ScalarMappable(**colours), ax=figure.axes, label="Rényi efficiency, % of |V|")
    save(figure, path)


def draw_translation(scores: pl.DataFrame, path: Path) -> None:
    """chrF and the outputs with decode errors of every model: a row of panels for each pair, a point for each seed.

    Columns: pair, code, init, chrf (0..100), broken, sentences; one row for each seed. A bar marks the mean.
    """
    scores = scores.with_columns(broken=100 * pl.col("broken") / pl.col("sentences"))
    measures = {"chrf": "chrF", "broken": "outputs with decode errors, %"}
    pairs = scores["pair"].unique(maintain_order=True).to_list()
    models = [(init, code) for init in STARTS for code in CODES if len(scores.filter(init=init, code=code))]
    size = (9.5, 0.9 + (0.5 + 0.32 * len(models)) * len(pairs))
    figure, found = grid(len(pairs), len(measures), size, sharex="col", sharey=True)
    for row, pair in zip(found, pairs, strict=True):
        row[0].set_title(pair, loc="left")
        for axes, measure in zip(row, measures, strict=True):
            axes.grid(axis="x")
            for place, (init, code) in enumerate(models):
                values = scores.filter(pair=pair, init=init, code=code)[measure].to_numpy()
                if len(values):
                    colour = _CODE_COLOURS[code]
                    axes.plot(values, np.full(len(values), place), "o", color=colour, markersize=5, alpha=0.8)
                    axes.vlines(values.mean(), place - 0.3, place + 0.3, color=colour, linewidth=1.8)
    first = found[0][0]
    first.set_yticks(range(len(models)), [f"{CODES[code]}, {STARTS[init]}" for init, code in models], fontsize=10)
    first.set_ylim(len(models) - 0.4, -0.6)
    for axes, name in zip(found[-1], measures.values(), strict=True):
        axes.set_xlabel(name)
    largest = scores["broken"].to_numpy().max() or 1
    found[0][-1].set_xlim(-0.03 * largest, 1.06 * largest)
    save(figure, path)


def draw_losses(losses: Mapping[str, pl.DataFrame], path: Path) -> None:
    """Held-out loss of every model during training, a panel for each pair: means over the seeds, and a band from the
    lowest to the highest seed.

    losses: pair -> columns code, init, seed, step, held_out_per_character (nats per character of the target).
    """
    figure, found = panels(list(losses), _COLUMNS, (3.1, 3), sharey=True)
    for pair, axes in found.items():
        value = pl.col("held_out_per_character")
        for (code, init), curves in losses[pair].group_by("code", "init", maintain_order=True):
            points = curves.group_by("step", maintain_order=True).agg(value.mean(), low=value.min(), high=value.max())
            line, marker = _STARTS[str(init)]
            name = f"{CODES[str(code)]}, {STARTS[str(init)]}"
            style: dict[str, Any] = {"color": _CODE_COLOURS[str(code)], "label": name}
            style |= {"marker": marker if len(points) == 1 else None, "spread": (points["low"], points["high"])}
            curve(axes, points["step"], points["held_out_per_character"], line, **style)
        whole_numbers(axes, 4)
    label(found.values(), "step", "held-out nats per character")
    save(figure, path, legend=3)
