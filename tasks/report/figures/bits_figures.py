"""Pictures of bit-level codes: tokens saved with known characters, splits of the 24 bits, and the translation pilot."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from tasks.report.figures.canvas import save
from tasks.report.figures.scales import THOUSANDS, legend_above, whole_numbers
from tasks.report.style import ACCENT, GREY, INK, OCHRE, RULE, SECOND
from tasks.report.tables.bits_tables import CHARACTERS
from tasks.report.tables.translation_tables import CODES, STARTS

_VARIANTS = {
    (3, "run"): ("3 prefixes", SECOND, "-", 3),
    (4, "run"): ("4 prefixes", ACCENT, "-", 1.4),
    (4, "change"): ("4 prefixes, on change alone", OCHRE, "--", 1.4),
}
"""Prefixes and emission -> label, colour, line and its width: the first two often are one."""

_CODE_COLOURS = {"bytes": SECOND, "bits": ACCENT}
_START_LINES = {"scratch": "-", "mean": "--", "copy": ":"}
_START_MARKERS = {"scratch": "o", "mean": "s", "copy": "^"}
_COLUMNS = 3


def draw_savings(lengths: pl.DataFrame, path: Path) -> None:
    """Tokens saved over byte fallback against the number of known characters, a panel for each corpus.

    Columns: corpus, base, known, code, mode, prefixes, emission, saved (share); rows of other bases are left out.
    """
    rows = lengths.filter(base=CHARACTERS, code="bits", mode="lossless")
    figure, panels = _panels(rows["corpus"].unique(maintain_order=True).to_list(), height=2.7)
    for corpus, axes in panels.items():
        for (prefixes, emission), (label, colour, line, width) in _VARIANTS.items():
            points = rows.filter(corpus=corpus, prefixes=prefixes, emission=emission).sort("known")
            axes.plot(
                points["known"],
                100 * points["saved"],
                line,
                color=colour,
                label=label,
                marker="o",
                markersize=2 + width,
                linewidth=width,
            )
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.set_xticks(rows["known"].unique().sort())
        axes.xaxis.set_major_formatter(THOUSANDS)
    _label(panels, "characters in the vocabulary", "tokens saved, %")
    legend_above(figure, columns=3)
    save(figure, path)


def draw_search(search: pl.DataFrame, path: Path) -> None:
    """Tokens saved against added tokens of the splits on the front, a panel for each corpus; the paper's is marked.

    Columns: corpus, split, added, saved (share), renyi (share), front and paper (bool).
    """
    shown = search.filter((pl.col("front") | pl.col("paper")) & (pl.col("added") > 0))
    figure, panels = _panels(shown["corpus"].unique(maintain_order=True).to_list(), height=3)
    percent = 100 * shown["renyi"].to_numpy()
    colours: dict[str, Any] = {"cmap": "viridis", "norm": Normalize(percent.min(), percent.max())}
    for corpus, axes in panels.items():
        points = shown.filter(corpus=corpus).sort("added", "saved", maintain_order=True)
        best = points.with_columns(pl.col("saved").cum_max())
        axes.step(best["added"], 100 * best["saved"], where="post", color=GREY, linewidth=1, zorder=1)
        edge: dict[str, Any] = {"edgecolors": INK, "linewidths": 0.5}
        axes.scatter(points["added"], 100 * points["saved"], 26, 100 * points["renyi"], zorder=2, **edge, **colours)
        for added, saved, split in points.filter("paper").select("added", "saved", "split").iter_rows():
            ring: dict[str, Any] = {"facecolors": "none", "edgecolors": ACCENT, "linewidths": 1.6}
            axes.scatter(added, 100 * saved, 120, zorder=3, **ring)
            # To the right of the ring, where the front, which rises, has nothing.
            text: dict[str, Any] = {"color": ACCENT, "fontsize": 9, "va": "top"}
            at = (added, 100 * saved)
            axes.annotate(f"{split}, the paper's", at, (10, -2), textcoords="offset points", **text)
        axes.margins(y=0.12)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(LogLocator(16))
        axes.xaxis.set_major_formatter(THOUSANDS)
        axes.grid(color=RULE, linewidth=0.5)
        axes.set_axisbelow(True)
    _label(panels, "added tokens, logarithmic scale", "tokens saved, %")
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
    figure = Figure(figsize=(9.5, 0.9 + (0.5 + 0.32 * len(models)) * len(pairs)), layout="constrained")
    grid = figure.subplots(len(pairs), len(measures), squeeze=False, sharex="col", sharey=True)
    for row, pair in zip(grid, pairs, strict=True):
        for axes, measure in zip(row, measures, strict=True):
            for place, (init, code) in enumerate(models):
                values = scores.filter(pair=pair, init=init, code=code)[measure].to_numpy()
                if len(values):
                    colour = _CODE_COLOURS[code]
                    axes.plot(values, np.full(len(values), place), "o", color=colour, markersize=5, alpha=0.8)
                    axes.vlines(values.mean(), place - 0.3, place + 0.3, color=colour, linewidth=1.8)
            axes.grid(axis="x", color=RULE, linewidth=0.6)
            axes.set_axisbelow(True)
        row[0].set_title(pair, fontsize=10, loc="left")
    grid[0][0].set_yticks(range(len(models)), [f"{CODES[code]}, {STARTS[init]}" for init, code in models])
    grid[0][0].set_ylim(len(models) - 0.4, -0.6)
    for axes, label in zip(grid[-1], measures.values(), strict=True):
        axes.set_xlabel(label)
    largest = scores["broken"].to_numpy().max()
    grid[0][-1].set_xlim(-0.03 * (largest or 1), 1.06 * (largest or 1))
    save(figure, path)


def draw_losses(losses: Mapping[str, pl.DataFrame], path: Path) -> None:
    """Held-out loss of every model during training, a panel for each pair: means over the seeds, and a band from the
    lowest to the highest seed.

    losses: pair -> columns code, init, seed, step, held_out_per_character (nats per character of the target).
    """
    figure, panels = _panels(list(losses), height=3)
    for pair, axes in panels.items():
        value = pl.col("held_out_per_character")
        for (code, init), curves in losses[pair].group_by("code", "init", maintain_order=True):
            code, init = str(code), str(init)
            curve = curves.group_by("step", maintain_order=True).agg(value.mean(), low=value.min(), high=value.max())
            colour = _CODE_COLOURS[code]
            axes.fill_between(curve["step"], curve["low"], curve["high"], color=colour, alpha=0.15, linewidth=0)
            axes.plot(
                curve["step"],
                curve["held_out_per_character"],
                _START_LINES[init],
                color=colour,
                label=f"{CODES[code]}, {STARTS[init]}",
                linewidth=1.3,
                marker=_START_MARKERS[init] if len(curve) == 1 else None,  # A line of one point would not be seen.
                markersize=4,
            )
        whole_numbers(axes, 4)
    _label(panels, "step", "held-out nats per character")
    legend_above(figure, columns=3)
    save(figure, path)


def _panels(names: Sequence[str], height: float) -> tuple[Figure, dict[str, Axes]]:
    """A figure with a titled panel for each name, in rows that share their axes."""
    columns = min(_COLUMNS, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(1.2 + 3.1 * max(2, columns), 0.9 + height * rows), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.08)  # type: ignore[union-attr, call-arg]
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True).flatten()
    for axes, name in zip(grid, names, strict=False):
        axes.set_title(name, fontsize=10)
        axes.tick_params(labelsize=8)
    for axes in grid[len(names) :]:
        axes.remove()
    return figure, dict(zip(names, grid, strict=False))


def _label(panels: Mapping[str, Axes], x: str, y: str) -> None:
    """Name the horizontal axis of every panel, and the vertical one of the panels on the left."""
    for number, axes in enumerate(panels.values()):
        axes.set_xlabel(x, fontsize=9)
        if number % _COLUMNS == 0:
            axes.set_ylabel(y, fontsize=9)
