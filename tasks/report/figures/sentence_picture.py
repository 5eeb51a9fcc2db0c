"""The picture of README.md: one sentence as several methods segment it."""

import math
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from tasks.report.figures.canvas import save
from tasks.report.figures.writing import in_cells
from tasks.report.style import ACCENT, INK, SECOND, SOFT


def draw_sentence(rows: dict[str, list[str]], gold: list[str], path: Path) -> None:
    """A row of boxes for each method, a box for each segment; gold words are filled.

    Args:
        rows: label -> the words of the sentence.
        gold: the gold words, in the first row.
        path: of the SVG file, without its suffix.
    """
    line, count = in_cells("".join(gold)), len(rows) + 1
    figure = Figure(
        figsize=(3.1 + 0.31 * len(line.cells), 0.35 + 0.42 * count), layout="constrained", facecolor="white"
    )
    axes = figure.subplots()
    gold_spans = set(line.spans(gold))
    for y, words in enumerate([gold, *rows.values()]):
        for start, end in line.spans(words):
            right = (start, end) in gold_spans
            colour = INK if y == 0 else SECOND if right else ACCENT
            box = FancyBboxPatch(
                (start + 0.13, y - 0.36),
                end - start - 0.26,
                0.72,
                boxstyle="round,pad=0,rounding_size=0.16",
                facecolor=colour if right else "white",
                edgecolor=colour,
                alpha=1.0 if right else 0.85,
                linewidth=1.1,
            )
            axes.add_patch(box)
            shade = "white" if right else INK
            for place in range(math.ceil(start - 0.5), math.ceil(end - 0.5)):
                cell = line.cells[place]
                axes.text(place + 0.5, y + 0.02, cell, ha="center", va="center", fontsize=11, color=shade)
    axes.set(xlim=line.limits, ylim=(count - 0.5, -0.5), xticks=[])
    axes.set_yticks(range(count), ["gold words", *rows])
    axes.tick_params(length=0)
    axes.set_xlabel("filled: a gold word; outlined: another segment", fontsize=9, color=SOFT)
    for side in axes.spines.values():
        side.set_visible(False)
    save(figure, path, formats=("svg",))
