"""Pictures of segmentation: figures 2 and 4 of the entropy paper, lambda on validation sentences, and the loss of the
language models."""

from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.report.figures.canvas import save
from tasks.report.figures.scales import band, legend_above, legend_over, whole_numbers
from tasks.report.figures.writing import in_cells
from tasks.report.style import ACCENT, INK, SECOND, line_colours
from tokenlab.text.documents import join_words


def draw_distributions(pmi: pl.DataFrame, entropy: pl.DataFrame, unit: str, path: Path) -> None:
    """Figure 2 of the entropy paper: the distributions of PMI and of both branching entropies over distinct n-grams.

    Args:
        pmi, entropy: histograms with columns `from` and `to`, and a column of counts for each series.
        unit: nats or bits.
    """
    figure = Figure(figsize=(7, 5.4), layout="constrained")
    top, bottom = figure.subplots(2)
    _histogram(top, pmi, "pmi", INK)
    top.set(xlabel=f"PMI of adjacent characters ({unit})", ylabel="distinct pairs")
    _histogram(bottom, entropy, "left", SECOND, "left entropy")
    _histogram(bottom, entropy, "right", ACCENT, "right entropy")
    bottom.set(xlabel=f"branching entropy ({unit})", ylabel="distinct n-grams, log scale", yscale="log")
    legend_over(bottom)
    save(figure, path)


def _histogram(axes: Axes, table: pl.DataFrame, column: str, colour: str, label: str | None = None) -> None:
    edges = [*table["from"], table["to"][-1]]
    axes.stairs(table[column].to_numpy(), edges, color=colour, label=label, fill=label is None, linewidth=1.4)


def draw_lambda(curves: pl.DataFrame, path: Path) -> None:
    """Word F1 on validation sentences against lambda: a line for each method and training text, the mean of the seeds,
    and a band of one standard deviation.

    Columns: training, method, lambda, f1 (0..1); one row for each seed.
    """
    figure = Figure(figsize=(7, 3.8), layout="constrained")
    axes = figure.subplots()
    key = ["training", "method", "lambda"]
    means = curves.group_by(key, maintain_order=True).agg(pl.col("f1").mean(), spread=pl.col("f1").std())
    colours = line_colours(means["method"].unique(maintain_order=True))
    for (training, method), line in means.group_by("training", "method", maintain_order=True):
        style: dict[str, Any] = {"color": colours[str(method)], "linestyle": "-" if training == "subset" else "--"}
        style |= {"marker": "o", "markersize": 3.5, "linewidth": 1.4, "label": f"{method}, {training}"}
        axes.plot(line["lambda"], 100 * line["f1"], **style)
        spread = line["spread"].cast(pl.Float64).to_numpy()
        band(axes, line["lambda"], 100 * line["f1"].to_numpy(), 100 * spread, colours[str(method)])
    axes.set(xlabel="λ", ylabel="word F1 on validation sentences, %")
    legend_above(figure)
    save(figure, path)


def draw_boundaries(rows: dict[str, list[str]], path: Path) -> None:
    """Figure 4 of the entropy paper: one sentence as each method segments it, a row for each.

    rows: name -> the words; `gold` are the gold words, where the corpus has them.
    """
    line = in_cells("".join(next(iter(rows.values()))))
    figure = Figure(figsize=(2.2 + 0.27 * len(line.cells), 0.5 + 0.3 * len(rows)), layout="constrained")
    axes = figure.subplots()
    gold = join_words(rows["gold"])[1] if "gold" in rows else None
    for y, pieces in enumerate(rows.values()):
        for place, cell in enumerate(line.cells):
            axes.text(place + 0.5, y, cell, ha="center", va="center", fontsize=10)
        for offset in join_words(pieces)[1]:
            right, x = gold is None or offset in gold, line.positions[offset]
            axes.plot([x, x], [y - 0.42, y + 0.42], color=SECOND if right else ACCENT, linewidth=1.5)
    axes.set(xlim=line.limits, ylim=(len(rows) - 0.4, -0.6), xticks=[])
    axes.set_yticks(range(len(rows)), list(rows))
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    if gold is not None:
        axes.set_xlabel("blue: a boundary of the gold words; red: none", fontsize=8)
    save(figure, path)


def draw_loss(curve: pl.DataFrame, path: Path, unit: str = "character") -> None:
    """Loss of a language model during training. Columns: step, training, held_out (nats per `unit`)."""
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    for column, colour, label in (("training", INK, "training"), ("held_out", ACCENT, "held out")):
        marker = "o" if len(curve) == 1 else None  # A line of one point would not be seen.
        axes.plot(curve["step"], curve[column], color=colour, label=label, linewidth=1.4, marker=marker, markersize=4)
    axes.set(xlabel="step", ylabel=f"loss (nats per {unit})")
    whole_numbers(axes)
    legend_above(figure)
    save(figure, path)
