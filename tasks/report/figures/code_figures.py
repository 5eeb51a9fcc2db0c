"""Pictures of codes: figures 2 to 16 of the Latom paper, and the likelihoods of its HMMs.

A picture takes `curves`, one row for each tokenizer, text, code, N, K and vocabulary size: means over the seeds, and
standard deviations in the columns `*_sd` (`tasks.codes.scores`). Codes with a length N are learned or drawn at random;
codes without one, beside characters and bytes, come from tables.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure

from tasks.report.figures.canvas import save
from tasks.report.style import ACCENT, INK, LENGTH_COLOURS, SECOND, Line, code_lines, line_colours

TRAINING, HELD_OUT = "training", "held-out"
"""Values of the column `text`."""


class Panel(NamedTuple):
    """What a row of panels shows: a column of the curves, its name, and whether zero stands for plain characters."""

    column: str
    label: str
    difference: bool = True
    linear: float | None = None
    """The scale is logarithmic above this value: tokens differ much near the alphabet, and little later on."""


TOKENS = Panel("tokens_saved", "tokens saved", linear=1e4)
PERPLEXITY = Panel("perplexity_saved", "perplexity saved")
BITS = Panel("bits_per_character", "bits per character", difference=False)
_ABSOLUTE = [Panel("tokens", "tokens", difference=False), Panel("perplexity", "perplexity", difference=False), BITS]
_LEARNED = ("random", "latom", "latom-refined")
_BASELINES = ("character", "byte")
_SELECTED = ("latom-best", "latom-best-refined")
"""The best of several restarts is in the tables only."""
_ramp = LinearSegmentedColormap.from_list("K", [SECOND, ACCENT])


def draw_lengths(curves: pl.DataFrame, tokenizer: str, smallest_K: dict[int, int], characters: int, path: Path) -> None:
    """Figures 2 to 5, 9 to 12: tokens, perplexity and bits over vocabulary sizes, a column for each code length.

    Args:
        smallest_K: code length N -> K.
        characters: the number of distinct characters, |C|.
    """
    panels = _panels(curves, tokenizer)
    figure = Figure(figsize=(1.2 + 3.1 * len(smallest_K), 7.6), layout="constrained")
    grid = figure.subplots(3, len(smallest_K), sharex=True, sharey="row", squeeze=False)
    for panel, row in zip(panels, grid, strict=True):
        for (N, K), axes in zip(smallest_K.items(), row, strict=True):
            _baselines(axes, curves, tokenizer, panel, characters)
            _learned(axes, curves, tokenizer, panel, N=N, K=K)
            if panel is panels[0]:
                axes.set_title(f"N = {N}, K = {K}", fontsize=10)
        row[0].set_ylabel(panel.label)
    for axes in grid[-1]:
        axes.set_xlabel("vocabulary size")
    grid[0][-1].legend(frameon=False, fontsize=8)
    save(figure, path)


def table_codes(curves: pl.DataFrame) -> list[str]:
    """The codes that come from tables."""
    codes = curves.filter(pl.col("N").is_null())["code"].unique(maintain_order=True)
    return [code for code in codes if code not in _BASELINES]


def draw_tables(curves: pl.DataFrame, N: int | None, K: int | None, characters: int, path: Path) -> None:
    """Figures 13 and 14: codes that come from tables, beside the learned ones of length N."""
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    for axes, panel in zip(figure.subplots(1, 3), _panels(curves, "bpe"), strict=True):
        _baselines(axes, curves, "bpe", panel, characters)
        for code, line in code_lines(table_codes(curves)).items():
            _curve(axes, of_code(curves, "bpe", TRAINING, code), panel, line)
        if N is not None:
            _learned(axes, curves, "bpe", panel, N=N, K=K)
        axes.set(xlabel="vocabulary size", ylabel=panel.label)
    figure.axes[-1].legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_K_sweep(curves: pl.DataFrame, sizes_of_K: Sequence[int], characters: int, path: Path) -> None:
    """Figures 6 and 7: Latom with N = 2 and more atoms than needed."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, panel in zip(figure.subplots(1, 2), (TOKENS, PERPLEXITY), strict=True):
        _zero(axes, panel, characters)
        for place, K in enumerate(sizes_of_K):
            colour = to_hex(_ramp(place / max(1, len(sizes_of_K) - 1)))
            _curve(axes, of_code(curves, "bpe", TRAINING, "latom", N=2, K=K), panel, Line(f"K = {K}", colour))
        axes.set(xlabel="vocabulary size", ylabel=panel.label)
    figure.axes[-1].legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_K_summary(curves: pl.DataFrame, sizes_of_K: Sequence[int], vocabulary: int, path: Path) -> None:
    """Figure 8: token count and bigram perplexity over K at one vocabulary size."""
    at = curves.filter(pl.col("vocabulary") == vocabulary, tokenizer="bpe", text=TRAINING, N=2)
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    left = figure.subplots()
    right = left.twinx()
    for code, style in (("latom", "-"), ("latom-refined", "--"), ("random", ":")):
        points = at.filter(pl.col("K").is_in(sizes_of_K), code=code).sort("K")
        for axes, column, colour in ((left, "tokens", ACCENT), (right, "perplexity", SECOND)):
            axes.plot(points["K"], points[column], style, color=colour, marker="o", markersize=3.5, linewidth=1.4)
        left.plot([], [], style, color=INK, label=code_lines([code])[code].label)
    left.set(xlabel="K", ylabel=f"tokens at |V| = {vocabulary:,}")
    right.set_ylabel("bigram perplexity")
    right.spines["right"].set_visible(True)
    left.yaxis.label.set_color(ACCENT)
    right.yaxis.label.set_color(SECOND)
    left.legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_held_out(curves: pl.DataFrame, path: Path) -> None:
    """Figures 15 and 16: tokenizers of the training split applied to held-out text."""
    rows = curves.filter(text=HELD_OUT)
    lengths = sorted(rows["N"].drop_nulls().unique())
    figure = Figure(figsize=(1.2 + 3.6 * len(lengths), 6), layout="constrained")
    grid = figure.subplots(2, len(lengths), sharey="row", squeeze=False)
    byte = code_lines(["byte"])["byte"]
    for row, panel in zip(grid, (TOKENS, PERPLEXITY), strict=True):
        for axes, N in zip(row, lengths, strict=True):
            _scale(axes, panel)
            _curve(axes, of_code(rows, "bpe", HELD_OUT, "byte"), panel, byte, marker="o")
            _learned(axes, rows, "bpe", panel, text=HELD_OUT, marker="o", N=N)
            axes.set(xlabel="vocabulary size", title=f"N = {N}")
        row[0].set_ylabel(panel.label)
    grid[0][-1].legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_overview(corpora: dict[str, pl.DataFrame], characters: dict[str, int], panel: Panel, path: Path) -> None:
    """Figures 9 to 12 at a glance: every corpus, BPE, the learned and random codes of length 2, and bytes.

    corpora: name -> curves. characters: name -> |C|.
    """
    columns = min(4, len(corpora))
    rows = -(-len(corpora) // columns)
    figure = Figure(figsize=(1 + 3 * columns, 0.6 + 2.4 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (name, curves) in zip(grid, corpora.items(), strict=False):
        _baselines(axes, curves, "bpe", panel, characters[name])
        of_two = curves.filter(tokenizer="bpe", text=TRAINING, N=2)
        _learned(axes, of_two, "bpe", panel, K=of_two["K"].min())
        axes.set_title(name, fontsize=10)
        axes.tick_params(labelsize=8)
    for axes in grid[len(corpora) :]:
        axes.set_visible(False)
    grid[0].legend(frameon=False, fontsize=8)
    grid[0].set_ylabel(panel.label)
    save(figure, path)


def draw_likelihood(table: pl.DataFrame, characters: int, path: Path) -> None:
    """Log-likelihood of the HMM before each iteration and after the last, in nats per character; a line for each seed.

    Args:
        table: columns N, K, seed, iteration, log_likelihood (nats, of the whole text).
        characters: the length of the text.
    """
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    colours = line_colours(table["N"].unique().sort(), LENGTH_COLOURS)
    for N, colour in colours.items():
        for number, (_, line) in enumerate(table.filter(N=N).group_by("K", "seed", maintain_order=True)):
            mean = line["log_likelihood"] / characters
            label = None if number else f"N = {N}"
            axes.plot(line["iteration"], mean, color=colour, linewidth=0.9, label=label)
    axes.set(xlabel="iteration of EM", ylabel="log-likelihood, nats per character")
    if len(table):
        axes.legend(frameon=False, fontsize=8)
    save(figure, path)


def of_code(curves: pl.DataFrame, tokenizer: str, text: str, code: str, **values: Any) -> pl.DataFrame:
    """The curve of one code, ascending by vocabulary size."""
    same: dict[str, Any] = {"tokenizer": tokenizer, "text": text, "code": code, **values}
    return curves.filter(**same).sort("vocabulary")


def _panels(curves: pl.DataFrame, tokenizer: str) -> list[Panel]:
    """Differences to characters, unless these have a tokenizer of one size only because all others are below |C|."""
    comparable = len(of_code(curves, tokenizer, TRAINING, "character")) > 1
    return [TOKENS, PERPLEXITY, BITS] if comparable else _ABSOLUTE


def _baselines(axes: Axes, curves: pl.DataFrame, tokenizer: str, panel: Panel, characters: int) -> None:
    _zero(axes, panel, characters)
    lines = code_lines(_BASELINES)
    if not panel.difference:
        _curve(axes, of_code(curves, tokenizer, TRAINING, "character"), panel, lines["character"])
    _curve(axes, of_code(curves, tokenizer, TRAINING, "byte"), panel, lines["byte"])


def _learned(
    axes: Axes,
    curves: pl.DataFrame,
    tokenizer: str,
    panel: Panel,
    text: str = TRAINING,
    marker: str | None = None,
    **shape: Any,
) -> None:
    """The codes with a length N: random, Latom, refined, and other kinds in their order."""
    found = curves.filter(pl.col("N").is_not_null())["code"].unique(maintain_order=True)
    codes = [*_LEARNED, *(code for code in found if code not in (*_LEARNED, *_SELECTED))]
    for code, line in code_lines(codes).items():
        _curve(axes, of_code(curves, tokenizer, text, code, **shape), panel, line, marker)


def _zero(axes: Axes, panel: Panel, characters: int) -> None:
    _scale(axes, panel)
    axes.axvline(characters, color=INK, linewidth=0.8, linestyle=":")


def _scale(axes: Axes, panel: Panel) -> None:
    if panel.difference:
        axes.axhline(0, color=INK, linewidth=0.8)
    if panel.linear:
        axes.set_yscale("symlog", linthresh=panel.linear)


def _curve(axes: Axes, curve: pl.DataFrame, panel: Panel, line: Line, marker: str | None = None) -> None:
    """The mean of the seeds, and a band of one standard deviation."""
    known = curve.filter(pl.col(panel.column).is_not_null())
    if known.is_empty():
        return
    sizes, mean = known["vocabulary"].to_numpy(), known[panel.column].to_numpy()
    spread = known[f"{panel.column}_sd"].fill_null(0).to_numpy()
    marker = marker or ("o" if len(known) == 1 else None)  # A line of one point is invisible.
    axes.plot(sizes, mean, line.style, color=line.colour, label=line.label, linewidth=1.3, marker=marker, markersize=3)
    if spread.any():
        axes.fill_between(sizes, mean - spread, mean + spread, color=line.colour, alpha=0.15, linewidth=0)
