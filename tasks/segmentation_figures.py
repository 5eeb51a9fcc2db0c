"""Pictures of the segmentation family: figures 2 and 4 of the entropy paper, and lambda on validation sentences."""

from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.figures import ACCENT, INK, SECOND, save
from tokenlab.text.documents import join_words


def draw_distributions(pmi: pl.DataFrame, entropy: pl.DataFrame, unit: str, path: Path) -> None:
    """Figure 2 of the entropy paper: how PMI and branching entropies are distributed over distinct n-grams.

    The tables have columns `from` and `to` and a count for each series.
    """
    figure = Figure(figsize=(7, 5.4), layout="constrained")
    top, bottom = figure.subplots(2)
    _histogram(top, pmi, "pmi", INK)
    top.set(xlabel=f"PMI of adjacent characters ({unit})", ylabel="distinct pairs")
    _histogram(bottom, entropy, "left", SECOND, "left entropy")
    _histogram(bottom, entropy, "right", ACCENT, "right entropy")
    bottom.set(xlabel=f"branching entropy ({unit})", ylabel="distinct n-grams, log scale", yscale="log")
    bottom.legend(frameon=False)
    save(figure, path)


def _histogram(axes: Axes, table: pl.DataFrame, column: str, colour: str, label: str | None = None) -> None:
    edges = [*table["from"], table["to"][-1]]
    axes.stairs(table[column].to_numpy(), edges, color=colour, label=label, fill=label is None, linewidth=1.4)


def draw_curves(curves: pl.DataFrame, path: Path) -> None:
    """Word F1 on validation sentences against lambda: one line a reading and scope, the mean of the seeds.

    Columns: scope, reading, lambda, f1 (0..1), one row a seed.
    """
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    means = curves.group_by("scope", "reading", "lambda", maintain_order=True).agg(pl.col("f1").mean())
    colours = dict(zip(means["reading"].unique(maintain_order=True), (INK, ACCENT, SECOND), strict=False))
    for (scope, reading), line in means.group_by("scope", "reading", maintain_order=True):
        style = {"color": colours[reading], "linestyle": "-" if scope == "draw" else "--", "marker": "o"}
        axes.plot(line["lambda"], 100 * line["f1"], label=f"{reading}, {scope}", markersize=3.5, linewidth=1.4, **style)
    axes.set(xlabel="λ", ylabel="word F1 on validation sentences")
    if len(curves):
        axes.legend(frameon=False)
    else:
        axes.text(0.5, 0.5, "no gold words to choose by", ha="center", va="center", transform=axes.transAxes)
    save(figure, path)


def draw_boundaries(rows: dict[str, list[str]], path: Path) -> None:
    """Figure 4 of the entropy paper: one sentence, the words of every method in a row of their own."""
    length = sum(map(len, next(iter(rows.values()))))
    figure = Figure(figsize=(2.2 + 0.27 * length, 0.5 + 0.3 * len(rows)), layout="constrained")
    axes = figure.subplots()
    gold = join_words(rows["gold"])[1] if "gold" in rows else None
    for y, pieces in enumerate(rows.values()):
        text, boundaries = join_words(pieces)
        for x, character in enumerate(text):
            axes.text(x + 0.5, y, character, ha="center", va="center", fontsize=10)
        for x in boundaries:
            right = gold is None or x in gold
            axes.plot([x, x], [y - 0.42, y + 0.42], color=SECOND if right else ACCENT, linewidth=1.5)
    axes.set(xlim=(0, length), ylim=(len(rows) - 0.4, -0.6), xticks=[])
    axes.set_yticks(range(len(rows)), list(rows))
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    if gold is not None:
        axes.set_xlabel("blue: a boundary of the gold words; red: none", fontsize=8)
    save(figure, path)
