"""Pictures of codes: figures 2 to 16 of the Latom paper, and the likelihoods of its HMMs.

A picture takes `curves`, one row for each tokenizer, text, code, N, K and vocabulary size: means over the seeds, and
standard deviations in the columns `*_sd` (`tasks.codes.evaluate`). Codes with a length N are learned or drawn at
random; codes without one, beside characters and bytes, come from tables.
"""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure

from tasks.report.figures.canvas import save
from tasks.report.figures.scales import THOUSANDS, band, break_where_needed, legend_above, whole_numbers
from tasks.report.style import ACCENT, INK, LENGTH_COLOURS, SECOND, Line, code_lines, line_colours

TRAINING, HELD_OUT = "training", "held-out"
"""Values of the column `text`."""


class Panel(NamedTuple):
    """What a row of panels shows: a column of the curves, its name, and whether zero stands for plain characters."""

    column: str
    label: str
    difference: bool = True


TOKENS = Panel("tokens_saved", "tokens saved")
PERPLEXITY = Panel("perplexity_saved", "perplexity saved")
BITS = Panel("bits_per_character_saved", "bits/character saved")
_DIFFERENCES = [TOKENS, PERPLEXITY, BITS]
_ABSOLUTE = [
    Panel("tokens", "tokens", difference=False),
    Panel("perplexity", "perplexity", difference=False),
    Panel("bits_per_character", "bits per character", difference=False),
]
_SIZE, _PARITY = "vocabulary size", "|V| = |C|"
_LEARNED = ("random", "latom", "latom-refined")
_BASELINES = ("character", "byte")
_SELECTED = ("latom-best", "latom-best-refined")
"""The best of several restarts is in the tables only."""
_SEED_STYLES = ("-", "--", ":", "-.")
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
        _finish(row, panel, shared=True)
    for axes in grid[-1]:
        axes.set_xlabel(_SIZE)
    legend_above(figure)
    save(figure, path)


def table_codes(curves: pl.DataFrame) -> list[str]:
    """The codes that come from tables."""
    codes = curves.filter(pl.col("N").is_null())["code"].unique(maintain_order=True)
    return [code for code in codes if code not in _BASELINES]


def draw_tables(curves: pl.DataFrame, N: int | None, K: int | None, characters: int, path: Path) -> None:
    """Figures 13 and 14: codes that come from tables, beside the learned ones of length N."""
    figure = Figure(figsize=(11, 3.9), layout="constrained")
    for axes, panel in zip(figure.subplots(1, 3), _panels(curves, "bpe"), strict=True):
        _baselines(axes, curves, "bpe", panel, characters)
        for code, line in code_lines(table_codes(curves)).items():
            _curve(axes, of_code(curves, "bpe", TRAINING, code), panel, line)
        if N is not None:
            _learned(axes, curves, "bpe", panel, N=N, K=K)
        axes.set(xlabel=_SIZE, ylabel=panel.label)
        _finish([axes], panel)
    legend_above(figure)
    save(figure, path)


def draw_K_sweep(curves: pl.DataFrame, sizes_of_K: Sequence[int], characters: int, path: Path) -> None:
    """Figures 6 and 7: Latom with N = 2 and more atoms than needed."""
    figure = Figure(figsize=(9, 3.9), layout="constrained")
    for axes, panel in zip(figure.subplots(1, 2), (TOKENS, PERPLEXITY), strict=True):
        _zero(axes, panel, characters)
        for place, K in enumerate(sizes_of_K):
            colour = to_hex(_ramp(place / max(1, len(sizes_of_K) - 1)))
            _curve(axes, of_code(curves, "bpe", TRAINING, "latom", N=2, K=K), panel, Line(f"K = {K}", colour))
        axes.set(xlabel=_SIZE, ylabel=panel.label)
        _finish([axes], panel)
    legend_above(figure)
    save(figure, path)


def draw_K_summary(curves: pl.DataFrame, sizes_of_K: Sequence[int], vocabulary: int, path: Path) -> None:
    """Figure 8: token count and bigram perplexity over K at one vocabulary size."""
    at = curves.filter(pl.col("vocabulary") == vocabulary, tokenizer="bpe", text=TRAINING, N=2)
    figure = Figure(figsize=(9, 3.7), layout="constrained")
    measures = {"tokens": f"tokens at |V| = {vocabulary:,}", "perplexity": f"bigram perplexity at |V| = {vocabulary:,}"}
    for axes, (column, label) in zip(figure.subplots(1, 2), measures.items(), strict=True):
        for place, (code, line) in enumerate(code_lines(_LEARNED).items(), -1):
            points = at.filter(pl.col("K").is_in(sizes_of_K), code=code).sort("K")
            if points.is_empty():
                continue
            spread = points[f"{column}_sd"].fill_null(0).to_numpy()
            style: dict[str, Any] = {"color": line.colour, "label": line.label, "marker": "o", "markersize": 3.5}
            beside = points["K"] + 0.012 * place * (max(sizes_of_K) - min(sizes_of_K))
            axes.errorbar(beside, points[column], spread, linewidth=1.4, capsize=3, **style)
        axes.set(xlabel="K", ylabel=label)
        axes.set_xticks(sizes_of_K)
        axes.yaxis.set_major_formatter(THOUSANDS if column == "tokens" else axes.yaxis.get_major_formatter())
    legend_above(figure)
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
            axes.set(xlabel=_SIZE, title=f"N = {N}")
        row[0].set_ylabel(panel.label)
        _finish(row, panel, shared=True)
    legend_above(figure)
    save(figure, path)


def draw_overview(corpora: dict[str, pl.DataFrame], characters: dict[str, int], panel: Panel, path: Path) -> None:
    """Figures 9 to 12 at a glance: every corpus, BPE, the learned and random codes of length 2, and bytes.

    corpora: name -> curves. characters: name -> |C|.
    """
    columns = min(4, len(corpora))
    rows = -(-len(corpora) // columns)
    figure = Figure(figsize=(1 + 3 * max(2, columns), 0.8 + 2.6 * rows), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)  # type: ignore[union-attr, call-arg]
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (name, curves) in zip(grid, corpora.items(), strict=False):
        _baselines(axes, curves, "bpe", panel, characters[name])
        of_two = curves.filter(tokenizer="bpe", text=TRAINING, N=2)
        _learned(axes, of_two, "bpe", panel, K=of_two["K"].min())
        axes.set_title(name, fontsize=10)
        axes.set_xlabel(_SIZE, fontsize=8)
        axes.tick_params(labelsize=8)
        _finish([axes], panel)
    for axes in grid[len(corpora) :]:
        axes.remove()
    for axes in grid[: len(corpora) : columns]:
        axes.set_ylabel(panel.label)
    legend_above(figure, columns=5)
    save(figure, path)


def draw_likelihood(table: pl.DataFrame, characters: int, path: Path) -> None:
    """Log-likelihood of the HMM before each iteration and after the last, in nats per character: a panel for each N, a
    colour for each K, a style for each seed.

    Args:
        table: columns N, K, seed, iteration, log_likelihood (nats, of the whole text).
        characters: the length of the text.
    """
    lengths = table["N"].unique().sort().to_list()
    figure = Figure(figsize=(1 + 3.4 * max(2, len(lengths)), 3.7), layout="constrained")
    styles = dict(zip(table["seed"].unique().sort(), cycle(_SEED_STYLES), strict=False))
    sizes_of_K = table["K"].unique().sort().to_list()
    colours = line_colours(sizes_of_K, LENGTH_COLOURS)
    for axes, N in zip(figure.subplots(1, max(1, len(lengths)), squeeze=False)[0], lengths, strict=False):
        for (K, seed), line in table.filter(N=N).group_by("K", "seed", maintain_order=True):
            style: dict[str, Any] = {"color": colours[K], "linestyle": styles[seed], "linewidth": 1.2}
            axes.plot(line["iteration"], line["log_likelihood"] / characters, label=f"K = {K}, seed {seed}", **style)
        axes.set(title=f"N = {N}", xlabel="iteration of EM", ylabel="log-likelihood, nats per character")
        axes.title.set_fontsize(10)
        whole_numbers(axes)
    legend_above(figure)
    save(figure, path)


def of_code(curves: pl.DataFrame, tokenizer: str, text: str, code: str, **values: Any) -> pl.DataFrame:
    """The curve of one code, ascending by vocabulary size."""
    same: dict[str, Any] = {"tokenizer": tokenizer, "text": text, "code": code, **values}
    return curves.filter(**same).sort("vocabulary")


def _panels(curves: pl.DataFrame, tokenizer: str) -> list[Panel]:
    """Differences to characters, unless these have a tokenizer of one size only because all others are below |C|."""
    comparable = len(of_code(curves, tokenizer, TRAINING, "character")) > 1
    return _DIFFERENCES if comparable else _ABSOLUTE


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
    axes.axvline(characters, color=INK, linewidth=0.8, linestyle=":", label=_PARITY)


def _scale(axes: Axes, panel: Panel) -> None:
    if panel.difference:
        axes.axhline(0, color=INK, linewidth=0.8, label="zero: characters")


def _finish(panels: Sequence[Axes], panel: Panel, *, shared: bool = False) -> None:
    """Whole sizes along the axis, and a broken scale where differences are large near |C| and small later on.

    shared: the panels share their vertical axis.
    """
    for axes in panels:
        whole_numbers(axes)
        if panel.column.startswith("tokens"):
            axes.yaxis.set_major_formatter(THOUSANDS)
    if panel.difference:
        for group in [panels] if shared else [[axes] for axes in panels]:
            drawn = [line.get_ydata() for axes in group for line in axes.lines if line.get_label() != _PARITY]
            break_where_needed(group, np.concatenate([np.asarray(values, np.float64) for values in drawn or [[]]]))


def _curve(axes: Axes, curve: pl.DataFrame, panel: Panel, line: Line, marker: str | None = None) -> None:
    """The mean of the seeds, and a band of one standard deviation."""
    known = curve.filter(pl.col(panel.column).is_not_null())
    if known.is_empty():
        return
    sizes, mean = known["vocabulary"].to_numpy(), known[panel.column].to_numpy()
    marker = marker or ("o" if len(known) == 1 else None)  # A line of one point is invisible.
    axes.plot(sizes, mean, line.style, color=line.colour, label=line.label, linewidth=1.3, marker=marker, markersize=3)
    band(axes, sizes, mean, known[f"{panel.column}_sd"].fill_null(0).to_numpy(), line.colour)
