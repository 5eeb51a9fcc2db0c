"""Figures 2 to 7 of the BPE-Patch paper: lengths of tokens and patches, bits per byte during training, vocabularies,
and the longest patch."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from tasks.report.inputs import read_parts
from tasks.report.patches import (
    MODELS_OF_BPE,
    ablation_points,
    main_rows,
    per_byte,
    printed_length,
    published,
    read_sources,
    variant_name,
)
from tasks.report.plot import THOUSANDS, curve, grid, legend_above, save
from tasks.report.style import ACCENT, GREEN, GREY, INK, OCHRE, PURPLE, SECOND, VIOLET
from tasks.runtime.stage import Stage

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
_COSTS = {
    "flops_built": ("-", "FLOPs as built"),
    "flops_padded": ("--", "padded to S"),
    "flops_paper": (":", "the paper's formula"),
}
"""Column -> line and label."""

_ABLATIONS = {
    "vocabulary": (
        "tokens in the vocabulary, logarithmic scale",
        "nats per token (figure 5)",
        "bits per byte",
        "MFLOPs a byte (figure 6)",
    ),
    "longest": ("longest patch S, symbols with the marker", "nats per patch", "bits per byte", "MFLOPs a byte"),
}
"""Ablation -> labels of the horizontal axis, and of the three vertical ones."""

_LAST_TOKEN = 40
"""Bytes at which the histogram of tokens ends; few are longer."""

_LAST_PATCH = 16
"""Bytes at which the distribution of patches ends."""


def patch_figures(stage: Stage, folder: Path) -> Iterator[Callable[[], None]]:
    """Drawings of all vocabularies together, and of all corpora together."""
    tokens = read_parts(stage, "patches.tokenizers", "patch_tokenizers", "lengths.csv")
    if len(tokens):
        yield partial(draw_tokens, largest_tokenizers(tokens), folder / "tokens")
    patchers = read_parts(stage, "patches.corpora", "patches", "patchers.parquet")
    lengths = read_parts(stage, "patches.corpora", "patches", "lengths.csv")
    scores = read_parts(stage, "patches.models", "patch_scores", "scores.parquet")
    losses = read_parts(stage, "patches.models", "patch_models", "loss.csv")
    if len(patchers):
        yield partial(draw_lengths, patchers, lengths, read_sources(stage), folder / "lengths")
    if len(scores):
        yield partial(draw_training, main_losses(losses, scores), folder / "training")
        points = {x: ablation_points(scores, x) for x in _ABLATIONS}
        yield from (partial(draw_ablation, rows, x, folder / x) for x, rows in points.items() if len(rows))


def main_losses(losses: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """The curves of the main comparison, with the whole budget."""
    return losses.filter(~pl.col("small")).join(
        main_rows(scores).select("name", "variant").unique(), on=["name", "variant"], how="semi"
    )


def largest_tokenizers(lengths: pl.DataFrame) -> pl.DataFrame:
    """The rows of the tokenizer with the most tokens of every `key`; the first of equal ones."""
    sizes = lengths.filter(longest=0).group_by("key", "tokenizer", maintain_order=True).agg(pl.col("tokens").sum())
    largest = sizes.sort("tokens", descending=True, maintain_order=True).unique("key", keep="first")
    return lengths.join(largest, on=["key", "tokenizer"], how="semi")


def _rows(
    names: list[str], columns: int, height: float, labels: list[str], **shared: Any
) -> tuple[Figure, dict[str, list[Axes]]]:
    """A figure with a row of panels for each name. labels: of the horizontal axes."""
    size = ({2: 9.4, 3: 10.8}[columns], 0.7 + height * len(names))
    figure, found = grid(len(names), columns, size, **shared)
    for axes, text in zip(found[-1], labels, strict=True):
        axes.set_xlabel(text)
    for row, name in zip(found, names, strict=True):
        row[0].set_title(name, loc="left")
    return figure, dict(zip(names, found, strict=True))


def _unique(rows: pl.DataFrame, column: str) -> list[str]:
    return rows[column].unique(maintain_order=True).to_list()


def draw_tokens(lengths: pl.DataFrame, path: Path) -> None:
    """Figure 2: tokens of a vocabulary by length in bytes, and in symbols after the second BPE.

    lengths: columns tokenizer, longest (S; 0 for plain bytes), length, tokens; a row of panels for each tokenizer.
    """
    lengths = lengths.with_columns(share=100 * pl.col("tokens") / pl.col("tokens").sum().over("tokenizer", "longest"))
    figure, found = _rows(_unique(lengths, "tokenizer"), 2, 3.0, ["bytes", "symbols"])
    for tokenizer, (left, right) in found.items():
        of_one = lengths.filter(tokenizer=tokenizer)
        plain = of_one.filter(longest=0)
        left.bar(plain["length"], plain["share"], color=SECOND, width=0.8)
        largest = int(plain["length"].max())  # type: ignore[arg-type]
        left.set(xlim=(0, min(largest, _LAST_TOKEN) + 1), ylabel="tokens, %")
        left.set_title("")
        left.set_title(f"{tokenizer}: {plain['tokens'].sum():,} tokens, the longest of {largest:,} bytes", loc="left")
        squeezed = of_one.filter(pl.col("longest") > 0).group_by("longest", maintain_order=True)
        for colour, ((longest,), points) in zip(_LONGEST_COLOURS, squeezed, strict=False):
            right.plot(points["length"], points["share"], "o-", color=colour, label=f"S = {longest}", markersize=4)
        right.set_title("after the second BPE, with the marker")
        right.xaxis.set_major_locator(MaxNLocator(integer=True))
        for axes in (left, right):
            axes.set_ylim(bottom=0)
    save(figure, path, legend=5)


def draw_lengths(patchers: pl.DataFrame, lengths: pl.DataFrame, sources: Mapping[str, str | None], path: Path) -> None:
    """Figure 3: mean bytes of a patch beside the paper's, and how they are distributed; a row for each corpus.

    patchers: columns corpus, patcher, kind, tokenizer, bytes_per_patch. lengths: corpus, patcher, longest, unit,
    length, patches. sources: corpus -> its entry in the catalogue.
    """
    paper, means = published(sources), patchers.unique(["corpus", "patcher"], keep="first", maintain_order=True)
    height = 0.9 + 0.24 * int(means.group_by("corpus").len()["len"].max())  # type: ignore[arg-type]
    figure, found = _rows(_unique(patchers, "corpus"), 2, height, ["bytes a patch", "bytes"])
    for corpus, (left, right) in found.items():
        of_corpus = means.filter(corpus=corpus)
        places = np.arange(len(of_corpus))
        colours = [_line(name)[0] for name in of_corpus["patcher"]]
        left.barh(places, of_corpus["bytes_per_patch"], color=colours, height=0.7)
        printed = (printed_length(paper, one) for one in of_corpus.iter_rows(named=True))
        known = [(length, place) for place, length in zip(places, printed, strict=True) if length is not None]
        if known:
            left.plot(*zip(*known, strict=True), "D", color="white", markeredgecolor=INK, label="paper, other text")
        left.set_yticks(places, of_corpus["patcher"].to_list(), fontsize=9)
        left.invert_yaxis()
        for (patcher,), of_one in lengths.filter(corpus=corpus, unit="bytes").group_by("patcher", maintain_order=True):
            if patcher not in _LINES and str(patcher).partition("-")[0] in _LINES:
                continue  # Another size or rule of a family: a bar is enough.
            first = of_one.filter(longest=of_one["longest"][0]).sort("length")
            share = 100 * first["patches"].cum_sum() / first["patches"].sum()
            colour, line = _line(str(patcher))
            right.plot(first["length"], share, line, color=colour, marker=".", label=str(patcher))
        right.set(xlim=(0, _LAST_PATCH), ylim=(0, 101), ylabel="patches of at most so many bytes, %")
        right.grid()
    save(figure, path, legend=5)


def draw_training(losses: pl.DataFrame, path: Path) -> None:
    """Figure 4: held-out bits per byte over training steps and over training FLOPs; a row of panels for each name.

    losses: columns name, variant, seed, step, flops, held_out; of the main comparison. Lines are means over seeds,
    bands reach from the lowest to the highest seed.
    """
    value = pl.col("held_out")
    figure, found = _rows(_unique(losses, "name"), 2, 3.4, ["step", "training TFLOPs"], sharey="row")
    for name, row in found.items():
        of_name = losses.filter(name=name)
        for (variant,), curves in of_name.group_by("variant", maintain_order=True):
            means = [pl.col("flops").mean() / 1e12, value.mean(), value.min().alias("low"), value.max().alias("high")]
            points = curves.group_by("step", maintain_order=True).agg(means)
            colour, line = _line(str(variant))
            spread = (points["low"], points["high"])
            for axes, column in zip(row, ("step", "flops"), strict=True):
                style = {"color": colour, "label": variant_name(str(variant))}
                curve(axes, points[column], points["held_out"], line, spread=spread, **style)
        last = of_name.filter(pl.col("step") == pl.col("step").max().over("variant"))["held_out"]
        lowest, highest = float(last.min()), float(last.max())  # type: ignore[arg-type]
        # The first steps fall from eight bits; what is compared lies far below.
        row[0].set_ylim(lowest - 0.1 * (highest - lowest) - 0.02, highest + 0.8 * (highest - lowest) + 0.2)
        row[0].set_ylabel("held-out bits per byte")
        row[0].xaxis.set_major_formatter(THOUSANDS)
        for axes in row:
            axes.set_xlim(left=0)
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=axes is row[0]))
            axes.grid()
    save(figure, path, legend=5)


def draw_ablation(points: pl.DataFrame, x: str, path: Path) -> None:
    """Figures 5 to 7: nats per token or patch, bits per byte and FLOPs against the size of the vocabulary, or against
    S; a row for each name.

    points: scores of `evaluate_patch_lm`, with the ablation `x`.
    """
    rows, (x_label, *labels) = per_byte(points), _ABLATIONS[x]
    figure, found = _rows(_unique(rows, "name"), 3, 2.9, [x_label] * 3)
    for name, (nats, bits, costs) in found.items():
        for model, colour in _MODEL_COLOURS.items():
            points = rows.filter(name=name, model=model)
            for axes, column in ((nats, "nats_per_patch"), (bits, "bits_per_byte")):
                _points(axes, points, x, column, color=colour, label=MODELS_OF_BPE[model])
            for column, (line, _) in _COSTS.items():
                _points(costs, points, x, column, line, color=colour)
        costs.set_ylim(bottom=0)
        for axes, text in zip((nats, bits, costs), labels, strict=True):
            axes.set_ylabel(text)
            if x == "vocabulary":
                axes.set_xscale("log", base=2)
            axes.set_xticks(rows.filter(name=name)[x].unique().sort().to_list())
            axes.xaxis.set_major_formatter(THOUSANDS)
            axes.minorticks_off()
    styles: list[dict[str, Any]] = [{"linestyle": line, "label": text} for line, text in _COSTS.values()]
    lines = [Line2D([], [], color=GREY, **style) for style in styles]
    legend_above(figure, lines, columns=5)
    save(figure, path)


def _points(axes: Axes, rows: pl.DataFrame, x: str, y: str, line: str = "-", **style: Any) -> None:
    """A line through means over seeds, and a point for each seed; nothing without values."""
    known = rows.filter(pl.col(y).is_not_null())
    if known.is_empty():
        return
    means = known.group_by(x, maintain_order=True).agg(pl.col(y).mean()).sort(x)
    axes.plot(means[x], means[y], line, **style)
    if line == "-":
        axes.plot(known[x], known[y], "o", color=style["color"], markersize=4, alpha=0.7)


def _line(variant: str) -> tuple[str, str]:
    """Colour and line of a variant or patcher; those of a family share the colour."""
    return _LINES.get(variant) or _LINES.get(variant.partition("-")[0], _OTHER)
