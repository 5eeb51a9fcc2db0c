"""Pictures of predictive entropy: what was chosen on validation sentences, and entropy along sentences."""

from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tasks.figures import ACCENT, INK, SECOND, save
from tokenlab.text.documents import join_words

GREEN, PURPLE = "#2f7d4f", "#7a1f5c"


def draw_choices(curves: pl.DataFrame, path: Path) -> None:
    """Word F1 on validation sentences against what belongs to predictive entropy: thresholds, and nu, a panel each.

    Columns: scope, reading, parameter (`threshold` or `nu`), value, f1 (0..1), one row a seed.
    """
    panels = {"threshold": "threshold (nats)", "nu": "ν, weight of predictive entropy as evidence"}
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    for axes, (parameter, label) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        of_panel = curves.filter(pl.col("parameter") == parameter)
        means = of_panel.group_by("scope", "reading", "value", maintain_order=True).agg(pl.col("f1").mean())
        colours = dict(
            zip(means["reading"].unique(maintain_order=True), cycle((INK, ACCENT, SECOND, GREEN, PURPLE)), strict=False)
        )
        for (scope, reading), line in means.group_by("scope", "reading", maintain_order=True):
            if parameter == "threshold" and scope != "draw":
                continue  # the same curve: nothing of it rests on statistics
            style = {"color": colours[reading], "linestyle": "-" if scope == "draw" else "--", "marker": "o"}
            name = reading if parameter == "threshold" else f"{reading}, {scope}"
            axes.plot(line["value"], 100 * line["f1"], label=name, markersize=3.5, linewidth=1.4, **style)
        axes.set(xlabel=label, ylabel="word F1 on validation sentences")
        if len(of_panel):
            axes.legend(frameon=False, fontsize=8)
        else:
            axes.text(0.5, 0.5, "nothing to choose", ha="center", va="center", transform=axes.transAxes)
    save(figure, path)


class ScoredSentence(NamedTuple):
    """A sentence with the entropy of each character, the offsets of the boundaries found, and its gold words."""

    text: str
    entropy: NDArray[np.float32]
    boundaries: list[int]
    gold: list[str] | None


def draw_entropies(sentences: list[ScoredSentence], path: Path) -> None:
    """Figures 3 and 5 of the entropy paper: predictive entropy along sentences, the boundaries at its peaks, and the
    gold words below."""
    figure = Figure(figsize=(9.5, 0.6 + 2.1 * max(1, len(sentences))), layout="constrained")
    panels = figure.subplots(max(1, len(sentences)), squeeze=False)[:, 0]
    for axes, sentence in zip(panels, sentences, strict=False):
        gold = join_words(sentence.gold)[1] if sentence.gold is not None else None
        axes.plot(np.arange(len(sentence.text)), sentence.entropy, color=INK, marker="o", markersize=3, linewidth=1.2)
        for x in sentence.boundaries:
            right = gold is None or x in gold
            axes.axvline(x - 0.5, color=SECOND if right else ACCENT, linestyle="--", linewidth=1.1)
        for x in gold or ():
            axes.plot([x - 0.5, x - 0.5], [0, 0.07], color=INK, linewidth=2, transform=axes.get_xaxis_transform())
        axes.set_xticks(range(len(sentence.text)), list(sentence.text))
        axes.tick_params(axis="x", length=0)
        axes.set(xlim=(-0.6, len(sentence.text) - 0.4), ylabel="H (nats)")
    if sentences:
        note = (
            "dashed: before this character the entropy peaks; blue: a gold boundary, red: none; ticks: gold boundaries"
        )
        panels[-1].set_xlabel(note, fontsize=8)
    else:
        panels[0].text(0.5, 0.5, "no entropies", ha="center", va="center", transform=panels[0].transAxes)
    save(figure, path)
