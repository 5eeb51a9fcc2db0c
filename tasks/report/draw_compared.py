"""Pareto fronts of ways of cutting: bits per byte against what a byte costs, and against weights."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes

from tasks.report.inputs import read_parts
from tasks.report.plot import draw_all, grid, legend_above, save
from tasks.report.style import ACCENT, GREEN, GREY, INK, PURPLE, SECOND
from tasks.runtime.stage import Stage
from tokenlab.core.files import atomic_folder

_KINDS = {"tokens": INK, "code": ACCENT, "patches": SECOND, "chunks": PURPLE, "bytes": GREEN}
"""Kind of a method -> colour."""
_LABEL = 0.2
"""Inches of a name's line."""
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
    means = means.sort("bits_per_byte", maintain_order=True)
    figure, (row,) = grid(1, 2, (10.8, 0.9 + _LABEL * max(16, len(means))), sharey=True)
    for axes, (cost, label) in zip(row, _COSTS.items(), strict=True):
        axes.set(xscale="log", xlabel=label)
        for (kind,), points in means.group_by("kind", maintain_order=True):
            axes.plot(
                points[cost], points["bits_per_byte"], "o", color=_KINDS[str(kind)], markersize=4, label=str(kind)
            )
        front = _front(means.select(cost, "bits_per_byte").rows())
        axes.step(*zip(*front, strict=True), where="post", color=GREY, linewidth=0.8, label="Pareto front")
    for axes, cost in zip(row, _COSTS, strict=True):
        _name(axes, means.select(cost, "bits_per_byte", "method", "kind").rows())
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


def _name(axes: Axes, points: Sequence[tuple[float, float, str, str]]) -> None:
    """Names on the right of a panel, each with a line to its point; points ascend, and no two names overlap."""
    low, high = axes.get_ylim()
    gap = 1 / max(16, len(points))
    heights = [(bits - low) / (high - low) for _, bits, _, _ in points]
    for place in range(1, len(heights)):
        heights[place] = max(heights[place], heights[place - 1] + gap)
    for place in reversed(range(len(heights))):
        heights[place] = min(heights[place], 1 - gap * (len(heights) - 1 - place))
    for (cost, bits, name, kind), height in zip(points, heights, strict=True):
        line = {"arrowstyle": "-", "color": _KINDS[kind], "linewidth": 0.3}
        at: Any = {"textcoords": "axes fraction", "va": "center", "fontsize": 7, "arrowprops": line}
        axes.annotate(name, (cost, bits), (1.03, height), color=_KINDS[kind], **at)
