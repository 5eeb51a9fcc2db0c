"""Pictures of patch models, Figures 2 to 7 of the paper: lengths of tokens and patches, bits per byte during training,
vocabularies, and the longest patch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from tasks.report.figures.canvas import save
from tasks.report.figures.scales import THOUSANDS, legend_above
from tasks.report.style import ACCENT, GREEN, GREY, INK, OCHRE, PURPLE, RULE, SECOND, VIOLET
from tasks.report.tables.patch_tables import (
    MODELS_OF_BPE,
    longest_points,
    main_rows,
    per_byte,
    published,
    variant_name,
    vocabulary_points,
)
from tasks.report.tables.patcher_tables import printed_length

_LINES = {
    "bpe-tokens": (INK, "-"),
    "bytes": (GREY, "-"),
    "bpe": (ACCENT, "-"),
    "space": (SECOND, "-"),
    "entropy": (OCHRE, "-"),
    "entropy-unbounded": (OCHRE, "--"),
    "entropy-published": (OCHRE, ":"),
    "character": (GREEN, "-"),
    "fixed": (VIOLET, "-"),
    "learned": (PURPLE, "-"),
}
"""Variant or patcher -> colour and line."""

_OTHER = (GREY, ":")
_MODEL_COLOURS = {"tokens": INK, "patches": ACCENT}
_LONGEST_COLOURS = (SECOND, GREEN, OCHRE, ACCENT, PURPLE)
_LAST_TOKEN = 40
"""Bytes at which the histogram of tokens ends; few are longer."""

_LAST_PATCH = 16
"""Bytes at which the distribution of patches ends."""


def draw_tokens(lengths: pl.DataFrame, path: Path) -> None:
    """Figure 2: tokens of a vocabulary by length in bytes, and in symbols after the second BPE.

    lengths: columns tokenizer, longest (S; 0 for plain bytes), length, tokens; a row of panels for each tokenizer.
    """
    tokenizers = lengths["tokenizer"].unique(maintain_order=True).to_list()
    figure, grid = _grid(len(tokenizers), 2, 3.0)
    for row, tokenizer in zip(grid, tokenizers, strict=True):
        of_one = lengths.filter(tokenizer=tokenizer)
        plain = of_one.filter(longest=0)
        share = 100 * plain["tokens"].to_numpy() / plain["tokens"].sum()
        row[0].bar(plain["length"], share, color=SECOND, width=0.8)
        largest = int(plain["length"].max())  # type: ignore[arg-type]
        row[0].set_xlim(0, min(largest, _LAST_TOKEN) + 1)
        row[0].set_title(
            f"{tokenizer}: {plain['tokens'].sum():,} tokens, the longest of {largest:,} bytes", fontsize=10
        )
        for colour, ((longest,), squeezed) in zip(
            _LONGEST_COLOURS,
            of_one.filter(pl.col("longest") > 0).group_by("longest", maintain_order=True),
            strict=False,
        ):
            share = 100 * squeezed["tokens"].to_numpy() / squeezed["tokens"].sum()
            row[1].plot(squeezed["length"], share, "o-", color=colour, label=f"S = {longest}", markersize=4)
        row[1].set_title("after the second BPE, with the marker", fontsize=10)
        row[1].xaxis.set_major_locator(MaxNLocator(integer=True))
        row[0].set_ylabel("tokens, %", fontsize=9)
        for axes in row:
            axes.set_ylim(bottom=0)
    grid[-1][0].set_xlabel("bytes", fontsize=9)
    grid[-1][1].set_xlabel("symbols", fontsize=9)
    legend_above(figure, columns=5)
    save(figure, path)


def draw_lengths(patchers: pl.DataFrame, lengths: pl.DataFrame, sources: Mapping[str, str | None], path: Path) -> None:
    """Figure 3: mean bytes of a patch beside the paper's, and how they are distributed; a row for each corpus.

    patchers: columns corpus, patcher, kind, tokenizer, bytes_per_patch. lengths: corpus, patcher, longest, unit,
    length, patches. sources: corpus -> its entry in the catalogue.
    """
    corpora = patchers["corpus"].unique(maintain_order=True).to_list()
    paper = published(sources)
    names = {name: patchers.filter(corpus=name)["patcher"].unique(maintain_order=True).to_list() for name in corpora}
    figure, grid = _grid(len(corpora), 2, 0.9 + 0.24 * max(map(len, names.values())))
    for row, corpus in zip(grid, corpora, strict=True):
        means = patchers.filter(corpus=corpus).unique("patcher", keep="first", maintain_order=True)
        places = np.arange(len(means))
        row[0].barh(places, means["bytes_per_patch"], color=[_line(name)[0] for name in means["patcher"]], height=0.7)
        printed = (printed_length(paper, one) for one in means.iter_rows(named=True))
        known = [(length, place) for place, length in zip(places, printed, strict=True) if length is not None]
        if known:
            row[0].plot(*zip(*known, strict=True), "D", color="white", markeredgecolor=INK, label="paper, other text")
        row[0].set_yticks(places, means["patcher"].to_list(), fontsize=9)
        row[0].invert_yaxis()
        row[0].set_title(corpus, fontsize=10, loc="left")
        for (patcher,), of_one in lengths.filter(corpus=corpus, unit="bytes").group_by("patcher", maintain_order=True):
            if patcher not in _LINES and str(patcher).partition("-")[0] in _LINES:
                continue  # Another size or rule of a family: a bar is enough.
            first = of_one.filter(longest=of_one["longest"][0]).sort("length")
            share = 100 * first["patches"].cum_sum() / first["patches"].sum()
            colour, line = _line(str(patcher))
            row[1].plot(first["length"], share, line, color=colour, marker=".", linewidth=1.3, label=patcher)
        row[1].set_xlim(0, _LAST_PATCH)
        row[1].set_ylim(0, 101)
        row[1].grid(color=RULE, linewidth=0.5)
        row[1].set_ylabel("patches of at most so many bytes, %", fontsize=9)
    grid[-1][0].set_xlabel("bytes a patch", fontsize=9)
    grid[-1][1].set_xlabel("bytes", fontsize=9)
    legend_above(figure, columns=5)
    save(figure, path)


def draw_training(losses: pl.DataFrame, path: Path) -> None:
    """Figure 4: held-out bits per byte over training steps and over training FLOPs; a row of panels for each name.

    losses: columns name, variant, seed, step, flops, held_out; of the main comparison. Lines are means over seeds,
    bands reach from the lowest to the highest seed.
    """
    names = losses["name"].unique(maintain_order=True).to_list()
    figure, grid = _grid(len(names), 2, 3.4, together=True)
    for row, name in zip(grid, names, strict=True):
        of_name = losses.filter(name=name)
        for (variant,), curves in of_name.group_by("variant", maintain_order=True):
            points = curves.group_by("step", maintain_order=True).agg(
                pl.col("flops").mean() / 1e12,
                pl.col("held_out").mean(),
                low=pl.col("held_out").min(),
                high=pl.col("held_out").max(),
            )
            colour, line = _line(str(variant))
            style: dict[str, Any] = {"color": colour, "linewidth": 1.4, "label": variant_name(str(variant))}
            style["marker"] = "o" if len(points) == 1 else None  # A line of one point would not be seen.
            for axes, column in zip(row, ("step", "flops"), strict=True):
                axes.plot(points[column], points["held_out"], line, **style)
                axes.fill_between(points[column], points["low"], points["high"], color=colour, alpha=0.15, linewidth=0)
        last = of_name.filter(pl.col("step") == pl.col("step").max().over("variant"))["held_out"]
        lowest, highest = float(last.min()), float(last.max())  # type: ignore[arg-type]
        # The first steps fall from eight bits; what is compared lies far below.
        row[0].set_ylim(lowest - 0.1 * (highest - lowest) - 0.02, highest + 0.8 * (highest - lowest) + 0.2)
        row[0].set_title(name, fontsize=10, loc="left")
        row[0].set_ylabel("held-out bits per byte", fontsize=9)
        row[0].xaxis.set_major_formatter(THOUSANDS)
        for axes in row:
            axes.set_xlim(left=0)
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=axes is row[0]))
            axes.grid(color=RULE, linewidth=0.5)
    grid[-1][0].set_xlabel("step", fontsize=9)
    grid[-1][1].set_xlabel("training TFLOPs", fontsize=9)
    legend_above(figure, columns=5)
    save(figure, path)


def draw_vocabulary(scores: pl.DataFrame, path: Path) -> None:
    """Figures 5 and 6: nats per token, bits per byte and FLOPs against the size of the vocabulary; a row for each name.

    scores: of `evaluate_patch_lm`, with an ablation of the vocabulary.
    """
    rows = per_byte(vocabulary_points(scores))
    measures = {"nats_per_patch": "nats per token (figure 5)", "bits_per_byte": "bits per byte", "": ""}
    names = rows["name"].unique(maintain_order=True).to_list()
    figure, grid = _grid(len(names), len(measures), 2.9)
    for row, name in zip(grid, names, strict=True):
        of_name = rows.filter(name=name)
        for model, colour in _MODEL_COLOURS.items():
            points = of_name.filter(model=model)
            for axes, measure in zip(row[:2], measures, strict=False):
                _curve(axes, points, "vocabulary", measure, color=colour, label=MODELS_OF_BPE[model])
            _curve(row[2], points, "vocabulary", "flops_built", color=colour)
            _curve(row[2], points, "vocabulary", "flops_paper", line=":", color=colour)
        _curve(row[2], of_name.filter(model="patches"), "vocabulary", "flops_padded", line="--", color=ACCENT)
        for axes in row:
            axes.set_xscale("log", base=2)
            axes.set_xticks(of_name["vocabulary"].unique().sort().to_list())
            axes.xaxis.set_major_formatter(THOUSANDS)
            axes.minorticks_off()
        row[2].set_ylim(bottom=0)
        row[0].set_title(name, fontsize=10, loc="left")
        for axes, label in zip(row, [*list(measures.values())[:2], "MFLOPs a byte (figure 6)"], strict=True):
            axes.set_ylabel(label, fontsize=9)
    for axes in grid[-1]:
        axes.set_xlabel("tokens in the vocabulary, logarithmic scale", fontsize=9)
    legend_above(figure, _cost_lines(), columns=5)
    save(figure, path)


def draw_longest(scores: pl.DataFrame, path: Path) -> None:
    """Figure 7: bits per byte and FLOPs of BPE-Patch against S; a row for each name.

    scores: of `evaluate_patch_lm`, with an ablation of S.
    """
    rows = per_byte(longest_points(scores))
    names = rows["name"].unique(maintain_order=True).to_list()
    figure, grid = _grid(len(names), 3, 2.9)
    for row, name in zip(grid, names, strict=True):
        points = rows.filter(name=name)
        for axes, measure in zip(row, ("nats_per_patch", "bits_per_byte"), strict=False):
            _curve(axes, points, "longest", measure, color=ACCENT)
        for column, line in (("flops_built", "-"), ("flops_padded", "--"), ("flops_paper", ":")):
            _curve(row[2], points, "longest", column, line=line, color=ACCENT)
        for axes, label in zip(row, ("nats per patch", "bits per byte", "MFLOPs a byte"), strict=True):
            axes.set_ylabel(label, fontsize=9)
            axes.set_xticks(points["longest"].unique().sort().to_list())
        row[2].set_ylim(bottom=0)
        row[0].set_title(name, fontsize=10, loc="left")
    for axes in grid[-1]:
        axes.set_xlabel("longest patch S, symbols with the marker", fontsize=9)
    legend_above(figure, _cost_lines(), columns=5)
    save(figure, path)


def _curve(axes: Axes, rows: pl.DataFrame, x: str, y: str, *, line: str = "-", color: str, label: str = "") -> None:
    """A line through means over seeds, and a point for each seed."""
    means = rows.group_by(x, maintain_order=True).agg(pl.col(y).mean()).sort(x)
    axes.plot(means[x], means[y], line, color=color, linewidth=1.4, label=label or None)
    if line == "-":
        axes.plot(rows[x], rows[y], "o", color=color, markersize=4, alpha=0.7)


def _cost_lines() -> list[Line2D]:
    """The legend of the panels of FLOPs."""
    lines: dict[str, Any] = {"FLOPs as built": "-", "padded to S": "--", "the paper's formula": ":"}
    return [Line2D([], [], color=GREY, linestyle=line, label=label) for label, line in lines.items()]


def _line(variant: str) -> tuple[str, str]:
    """Colour and line of a variant or patcher; those of a family share the colour."""
    return _LINES.get(variant) or _LINES.get(variant.partition("-")[0], _OTHER)


def _grid(rows: int, columns: int, height: float, together: bool = False) -> tuple[Figure, list[list[Axes]]]:
    """A figure with a grid of panels. together: panels of a row share the vertical axis."""
    figure = Figure(figsize=({2: 9.4, 3: 10.8}[columns], 0.7 + height * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey="row" if together else "none")
    for axes in figure.axes:
        axes.tick_params(labelsize=8)
    return figure, [list(row) for row in grid]


def main_losses(losses: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """The curves of the main comparison."""
    return losses.join(main_rows(scores).select("name", "variant").unique(), on=["name", "variant"], how="semi")


def largest_tokenizers(lengths: pl.DataFrame) -> pl.DataFrame:
    """The rows of the tokenizer with the most tokens of every `key`; the first of equal ones."""
    sizes = lengths.filter(longest=0).group_by("key", "tokenizer", maintain_order=True).agg(pl.col("tokens").sum())
    largest = sizes.sort("tokens", descending=True, maintain_order=True).unique("key", keep="first")
    return lengths.join(largest, on=["key", "tokenizer"], how="semi")
