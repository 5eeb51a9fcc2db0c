"""Figures 2 to 5 of the entropy paper, tuning curves, and losses of language models."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from tasks.report.inputs import read_table
from tasks.report.plot import curve, grid, in_cells, legend_over, save, whole_numbers
from tasks.report.style import ACCENT, INK, SECOND, SOFT, line_colours
from tasks.runtime.stage import Stage, read_json
from tokenlab.text.documents import join_words

_TUNED = {"threshold": "threshold (nats)", "nu": "ν, weight of predictive entropy at boundaries"}
_CUT = {
    "bpe": "BPE",
    "bpe-punctuation": "BPE, punctuation split off",
    "literal-4": "PMI + entropy, as in the paper",
    "gpt2-rise": "GPT-2's entropy",
    "combined": "both, by Viterbi",
    "words": "word model",
}
"""Configurations of the picture on top of README.md and of the page, and their labels."""
_F1 = "word F1 on validation sentences, %"


def segmentation_figures(stage: Stage, folder: Path) -> Iterator[Callable[[], None]]:
    """Drawings of every segmented corpus, and of the loss of every language model that was trained."""
    for name in stage.parameters("segmentation.corpora", dict[str, Any]):
        yield from _of_corpus(stage, name, folder / name)
    for name in stage.parameters("entropy.models", dict[str, Any]):
        loss = read_table(stage.reports("entropy_models", name, "loss.csv"))
        yield partial(draw_loss, loss, folder / "entropy_models" / name)


def _of_corpus(stage: Stage, name: str, folder: Path) -> Iterator[Callable[[], None]]:
    """The pictures for which a corpus has data; nothing was tuned where a table has no rows."""
    statistics, tuning = stage.reports("ngram_statistics", name), stage.reports("tuning", name)
    unit = read_json(statistics / "unit.json")["unit"]
    pmi, entropy = read_table(statistics / "pmi.csv"), read_table(statistics / "entropy.csv")
    yield partial(draw_distributions, pmi, entropy, unit, folder / "distributions")
    if len(curves := read_table(tuning / "lambda.csv")):
        yield partial(draw_lambda, curves, folder / "lambda")
    if len(curves := read_table(tuning / "entropy.csv")):
        yield partial(draw_thresholds, curves, folder / "thresholds")
    scores = pl.read_parquet(stage.reports("segmentation", name, "scores.parquet"), columns=["configuration"])
    found = read_json(stage.reports("segmentation", name, "sentences.json"))
    names = ("gold", *scores["configuration"].unique(maintain_order=True))
    rows = {row: words for row in names if (words := found["example"].get(row))}
    yield partial(draw_boundaries, rows, folder / "sentence")
    if "gold" in rows and rows.keys() & _CUT.keys():
        yield partial(draw_sentence, rows, folder / "cut")
    if found["entropies"]:
        yield partial(draw_entropies, found["entropies"], folder / "entropy")


def draw_distributions(pmi: pl.DataFrame, entropy: pl.DataFrame, unit: str, path: Path) -> None:
    """Figure 2 of the entropy paper: the distributions of PMI and of both branching entropies over distinct n-grams.

    Args:
        pmi, entropy: histograms with columns `from` and `to`, and a column of counts for each series.
        unit: nats or bits.
    """
    figure, ((top,), (bottom,)) = grid(2, 1, (7, 5.4))
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
    figure, ((axes,),) = grid(1, 1, (7, 3.8))
    _f1_curves(axes, curves, "lambda", line_colours(curves["method"].unique(maintain_order=True)))
    axes.set(xlabel="λ", ylabel=_F1)
    save(figure, path, legend=4)


def draw_thresholds(curves: pl.DataFrame, path: Path) -> None:
    """Word F1 on validation sentences against the thresholds of predictive entropy, and against nu: a panel each.

    Columns: training, method, parameter (`threshold` or `nu`), value, f1 (0..1); one row for each seed. Bands are
    one standard deviation.
    """
    figure, (found,) = grid(1, 2, (10, 3.9))
    colours = line_colours(curves["method"].unique(maintain_order=True))
    # Thresholds do not depend on statistics: one curve for both training texts.
    curves = curves.filter((pl.col("parameter") == "nu") | (pl.col("training") == "subset"))
    for axes, (parameter, label) in zip(found, _TUNED.items(), strict=True):
        of_panel = curves.filter(parameter=parameter)
        _f1_curves(axes, of_panel, "value", colours, with_training=parameter == "nu")
        axes.set(xlabel=label, ylabel=_F1)
        if of_panel.is_empty():
            axes.text(0.5, 0.5, "nothing to tune", ha="center", va="center", transform=axes.transAxes)
    save(figure, path, legend=4)


def _f1_curves(
    axes: Axes, curves: pl.DataFrame, x: str, colours: Mapping[str, str], *, with_training: bool = True
) -> None:
    f1 = pl.col("f1") * 100
    means = curves.group_by("training", "method", x, maintain_order=True).agg(f1.mean(), spread=f1.std())
    for (training, method), line in means.group_by("training", "method", maintain_order=True):
        name = f"{method}, {training}" if with_training else str(method)
        style: dict[str, Any] = {"color": colours[str(method)], "label": name, "marker": "o"}
        spread = line["spread"].cast(pl.Float64).to_numpy()
        curve(axes, line[x], line["f1"], "-" if training == "subset" else "--", spread=spread, **style)


def draw_entropies(sentences: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Figures 3 and 5 of the entropy paper: predictive entropy along sentences, boundaries at its peaks, gold words.

    sentences: `text`, `entropy` of each character in nats, offsets of the `boundaries` found, and `gold` words or None.
    """
    figure, rows = grid(len(sentences), 1, (9.5, 0.6 + 2.1 * len(sentences)))
    for (axes,), sentence in zip(rows, sentences, strict=True):
        gold = join_words(sentence["gold"])[1] if sentence["gold"] is not None else None
        line = in_cells(sentence["text"])
        edges = np.array(line.positions)
        entropy = np.array(sentence["entropy"], np.float64)
        axes.plot((edges[:-1] + edges[1:]) / 2, entropy, color=INK, marker="o", markersize=3, linewidth=1.2)
        for x in sentence["boundaries"]:
            right = gold is None or x in gold
            axes.axvline(edges[x], color=SECOND if right else ACCENT, linestyle="--", linewidth=1.1)
        for x in gold or ():
            axes.plot([edges[x], edges[x]], [0, 0.07], color=INK, linewidth=2, transform=axes.get_xaxis_transform())
        axes.set_xticks(np.arange(len(line.cells)) + 0.5, line.cells, fontsize=10)
        axes.tick_params(axis="x", length=0)
        axes.set(xlim=line.limits, ylabel="H (nats)")
    note = "dashed: before this character the entropy peaks; blue: a gold boundary, red: none; ticks: gold boundaries"
    rows[-1][0].set_xlabel(note, fontsize=8)
    save(figure, path)


def draw_boundaries(rows: dict[str, list[str]], path: Path) -> None:
    """Figure 4 of the entropy paper: one sentence as each method segments it, a row for each.

    rows: name -> the words; `gold` are the gold words, where the corpus has them.
    """
    line = in_cells("".join(next(iter(rows.values()))))
    figure, ((axes,),) = grid(1, 1, (2.2 + 0.27 * len(line.cells), 0.5 + 0.3 * len(rows)))
    gold = join_words(rows["gold"])[1] if "gold" in rows else None
    marks: dict[str, list[tuple[float, float]]] = {SECOND: [], ACCENT: []}
    for y, pieces in enumerate(rows.values()):
        line.draw(axes, y, fontsize=10)
        for offset in join_words(pieces)[1]:
            right, x = gold is None or offset in gold, line.positions[offset]
            marks[SECOND if right else ACCENT] += [(x, y - 0.42), (x, y + 0.42), (math.nan, math.nan)]
    for colour, points in marks.items():  # One line with gaps is a small file.
        axes.plot(*zip(*points, strict=True) if points else ([], []), color=colour, linewidth=1.5)
    line.bare(axes, list(rows))
    if gold is not None:
        axes.set_xlabel("blue: a boundary of the gold words; red: none", fontsize=8)
    save(figure, path)


def draw_sentence(example: Mapping[str, list[str]], path: Path, formats: Sequence[str] = ("png", "svg")) -> None:
    """The picture of README.md: a row of boxes for each method, a box for each segment; gold words are filled.

    example: configuration -> the words of a sentence; `gold` are the gold words, in the first row.
    """
    gold, rows = example["gold"], {label: example[name] for name, label in _CUT.items() if name in example}
    line, count = in_cells("".join(gold)), len(rows) + 1
    figure, ((axes,),) = grid(1, 1, (3.1 + 0.31 * len(line.cells), 0.35 + 0.42 * count))
    figure.set_facecolor("white")
    gold_spans = set(line.spans(gold))
    for y, words in enumerate([gold, *rows.values()]):
        shades = [INK] * len(line.cells)
        for start, end in line.spans(words):
            right = (start, end) in gold_spans
            colour = INK if y == 0 else SECOND if right else ACCENT
            inside = {"facecolor": colour if right else "white", "edgecolor": colour, "alpha": 1.0 if right else 0.85}
            corner, rounded = (start + 0.13, y - 0.36), "round,pad=0,rounding_size=0.16"
            axes.add_patch(
                FancyBboxPatch(corner, end - start - 0.26, 0.72, boxstyle=rounded, linewidth=1.1, **inside)  # type: ignore[arg-type]
            )
            for place in range(math.ceil(start - 0.5), math.ceil(end - 0.5)):
                shades[place] = "white" if right else INK
        line.draw(axes, y + 0.02, shades, fontsize=11)
    line.bare(axes, ["gold words", *rows])
    axes.set_xlabel("filled: a gold word; outlined: another segment", color=SOFT)
    save(figure, path, formats=formats)


def draw_loss(losses: pl.DataFrame, path: Path, unit: str = "character") -> None:
    """Loss of a language model during training. Columns: step, training, held_out (nats per `unit`)."""
    figure, ((axes,),) = grid(1, 1, (7, 3.6))
    for column, colour, name in (("training", INK, "training"), ("held_out", ACCENT, "held out")):
        curve(axes, losses["step"], losses[column], color=colour, label=name)
    axes.set(xlabel="step", ylabel=f"loss (nats per {unit})")
    whole_numbers(axes)
    save(figure, path, legend=4)
