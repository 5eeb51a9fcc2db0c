"""Pictures of predictive entropy: thresholds and nu on validation sentences, and entropy along sentences."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from tasks.report.figures.canvas import save
from tasks.report.figures.scales import band, legend_above
from tasks.report.figures.writing import in_cells
from tasks.report.style import ACCENT, INK, SECOND, line_colours
from tokenlab.text.documents import join_words

_PANELS = {"threshold": "threshold (nats)", "nu": "ν, weight of predictive entropy at boundaries"}


def draw_thresholds(curves: pl.DataFrame, path: Path) -> None:
    """Word F1 on validation sentences against the thresholds of predictive entropy, and against nu: a panel each.

    Columns: training, method, parameter (`threshold` or `nu`), value, f1 (0..1); one row for each seed. Bands are
    one standard deviation.
    """
    figure = Figure(figsize=(10, 3.9), layout="constrained")
    colours = line_colours(curves["method"].unique(maintain_order=True))
    key = ["training", "method", "value"]
    for axes, (parameter, label) in zip(figure.subplots(1, 2), _PANELS.items(), strict=True):
        of_panel = curves.filter(pl.col("parameter") == parameter)
        means = of_panel.group_by(key, maintain_order=True).agg(pl.col("f1").mean(), spread=pl.col("f1").std())
        for (training, method), line in means.group_by("training", "method", maintain_order=True):
            if parameter == "threshold" and training != "subset":
                continue  # The same curve: it does not depend on statistics.
            colour = colours[str(method)]
            style = {"color": colour, "linestyle": "-" if training == "subset" else "--", "marker": "o"}
            name = str(method) if parameter == "threshold" else f"{method}, {training}"
            axes.plot(line["value"], 100 * line["f1"], label=name, markersize=3.5, linewidth=1.4, **style)
            spread = line["spread"].cast(pl.Float64).to_numpy()
            band(axes, line["value"], 100 * line["f1"].to_numpy(), 100 * spread, colour)
        axes.set(xlabel=label, ylabel="word F1 on validation sentences, %")
        if of_panel.is_empty():
            axes.text(0.5, 0.5, "nothing to tune", ha="center", va="center", transform=axes.transAxes)
    legend_above(figure)
    save(figure, path)


class ScoredSentence(NamedTuple):
    """A sentence: the entropy of each character in nats, the offsets of the boundaries found, and the gold words."""

    text: str
    entropy: list[float | None]
    boundaries: list[int]
    gold: list[str] | None


def draw_entropies(sentences: Sequence[ScoredSentence], path: Path) -> None:
    """Figures 3 and 5 of the entropy paper: predictive entropy along sentences, boundaries at its peaks, gold words."""
    figure = Figure(figsize=(9.5, 0.6 + 2.1 * len(sentences)), layout="constrained")
    panels = figure.subplots(len(sentences), squeeze=False)[:, 0]
    for axes, sentence in zip(panels, sentences, strict=True):
        gold = join_words(sentence.gold)[1] if sentence.gold is not None else None
        entropy = np.array(sentence.entropy, np.float64)
        line = in_cells(sentence.text)
        edges = np.array(line.positions)
        axes.plot((edges[:-1] + edges[1:]) / 2, entropy, color=INK, marker="o", markersize=3, linewidth=1.2)
        for x in sentence.boundaries:
            right = gold is None or x in gold
            axes.axvline(edges[x], color=SECOND if right else ACCENT, linestyle="--", linewidth=1.1)
        for x in gold or ():
            axes.plot([edges[x], edges[x]], [0, 0.07], color=INK, linewidth=2, transform=axes.get_xaxis_transform())
        axes.set_xticks(np.arange(len(line.cells)) + 0.5, line.cells)
        axes.tick_params(axis="x", length=0)
        axes.set(xlim=line.limits, ylabel="H (nats)")
    note = "dashed: before this character the entropy peaks; blue: a gold boundary, red: none; ticks: gold boundaries"
    panels[-1].set_xlabel(note, fontsize=8)
    save(figure, path)
