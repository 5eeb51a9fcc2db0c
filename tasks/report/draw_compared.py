"""Pareto fronts of ways of cutting: bits per byte against what a byte costs, and against weights."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes

from tasks.report.inputs import read_parts
from tasks.report.plot import draw_all, grid, legend_above, save
from tasks.report.style import ACCENT, GREEN, GREY, INK, PURPLE, SECOND
from tasks.runtime.stage import Stage
from tokenlab.core.files import atomic_folder

_KINDS = {"tokens": INK, "code": ACCENT, "patches": SECOND, "chunks": PURPLE, "bytes": GREEN}
"""Kind of a method -> colour."""
_COSTS = {"flops_per_byte": "operations of a forward pass, per byte", "parameters": "weights"}


def draw_compared(stage: Stage) -> None:
    """A picture for each corpus, in `compared_figures`."""
    scores = read_parts(stage, "compared.corpora", "compared", "scores.parquet")
    with atomic_folder(stage.reports("compared_figures")) as folder:
        if scores is not None:
            of_corpora = scores.filter(budget="flops").group_by("name", maintain_order=True)
            draw_all([partial(draw_fronts, rows, folder / str(name)) for (name,), rows in of_corpora])


def draw_fronts(scores: pl.DataFrame, path: Path) -> None:
    """A panel for each cost. scores: of one corpus at equal operations."""
    means = scores.group_by("method", "kind", maintain_order=True).agg(pl.col("bits_per_byte", *_COSTS).mean())
    figure, (row,) = grid(1, 2, (10.8, 4.4), sharey=True)
    for axes, (cost, label) in zip(row, _COSTS.items(), strict=True):
        axes.set(xscale="log", xlabel=label)
        for (kind,), points in means.group_by("kind", maintain_order=True):
            colour = _KINDS[str(kind)]
            axes.plot(points[cost], points["bits_per_byte"], "o", color=colour, markersize=4, label=str(kind))
            _name(axes, points.select(cost, "bits_per_byte", "method").rows(), colour)
        front = _front(means.select(cost, "bits_per_byte").rows())
        axes.step(*zip(*front, strict=True), where="post", color=GREY, linewidth=0.8, label="Pareto front")
    row[0].set_ylabel("bits per byte of test text")
    legend_above(figure, columns=6)
    save(figure, path)


def _front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no cheaper one is as good as, the cheapest first."""
    found: list[tuple[float, float]] = []
    for cost, bits in sorted(points):
        if not found or bits < found[-1][1]:
            found.append((cost, bits))
    return found


def _name(axes: Axes, points: Sequence[tuple[float, float, str]], colour: str) -> None:
    for cost, bits, name in points:
        axes.annotate(name, (cost, bits), (4, 2), textcoords="offset points", fontsize=7, color=colour)
