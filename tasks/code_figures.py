"""Pictures of the codes family: figures 2 to 16 of the Latom paper, one style."""

from pathlib import Path
from typing import NamedTuple

import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure

from tasks.code_scores import of_variant
from tasks.figures import ACCENT, INK, SECOND, save


class Line(NamedTuple):
    """How a code is drawn."""

    label: str
    colour: str
    style: str = "-"


class Panel(NamedTuple):
    """What a row of panels shows: a column of the curves, its name, and whether zero is plain characters."""

    column: str
    label: str
    difference: bool = True
    linear: float | None = None
    """Where given, the scale is logarithmic above it: tokens differ much near the alphabet, little later on."""


LINES = {
    "latom": Line("Latom", ACCENT),
    "latom-refined": Line("Latom, refined", "#7a1f5c"),
    "random": Line("random", SECOND),
    "byte": Line("byte", "#7b8794"),
    "radical": Line("radical", "#2f7d4f"),
    "stroke": Line("stroke", "#b58900"),
    "myte": Line("MYTE", "#6a51a3", "--"),
}
TOKENS = Panel("tokens_saved", "tokens saved", linear=1e4)
PERPLEXITY = Panel("perplexity_saved", "perplexity saved")
BITS = Panel("bits_per_character", "bits per character", difference=False)
_ABSOLUTE = [Panel("tokens", "tokens", difference=False), Panel("perplexity", "perplexity", difference=False), BITS]
_LEARNED = ("random", "latom", "latom-refined")
_ramp = LinearSegmentedColormap.from_list("larger K", [SECOND, ACCENT])


def draw_lengths(curves: pl.DataFrame, tokenizer: str, smallest_K: dict[int, int], characters: int, path: Path) -> None:
    """Figures 2 to 5, 9 to 12: tokens, perplexity and bits over vocabulary sizes, a column for each code length."""
    panels = _panels(curves, tokenizer)
    figure = Figure(figsize=(1.2 + 3.1 * len(smallest_K), 7.6), layout="constrained")
    grid = figure.subplots(3, len(smallest_K), sharex=True, sharey="row", squeeze=False)
    for panel, row in zip(panels, grid, strict=True):
        for (N, K), axes in zip(smallest_K.items(), row, strict=True):
            _baselines(axes, curves, tokenizer, panel, characters)
            for code in _LEARNED:
                _curve(axes, of_variant(curves, tokenizer, "same", code, N=N, K=K), panel, LINES[code])
            if panel is panels[0]:
                axes.set_title(f"N = {N}, K = {K}", fontsize=10)
        row[0].set_ylabel(panel.label)
    for axes in grid[-1]:
        axes.set_xlabel("vocabulary size")
    grid[0][-1].legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_fixed(curves: pl.DataFrame, fixed: tuple[str, ...], K: int, characters: int, path: Path) -> None:
    """Figures 13 and 14: codes that nobody learned from this corpus beside the learned ones of length 2."""
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    for axes, panel in zip(figure.subplots(1, 3), _panels(curves, "bpe"), strict=True):
        _baselines(axes, curves, "bpe", panel, characters)
        for code in fixed:
            _curve(axes, of_variant(curves, "bpe", "same", code), panel, LINES[code])
        for code in _LEARNED:
            _curve(axes, of_variant(curves, "bpe", "same", code, N=2, K=K), panel, LINES[code])
        axes.set(xlabel="vocabulary size", ylabel=panel.label)
    figure.axes[-1].legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_larger_K(curves: pl.DataFrame, sizes_of_K: list[int], characters: int, path: Path) -> None:
    """Figures 6 and 7: Latom with N = 2 and more atoms than needed."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, panel in zip(figure.subplots(1, 2), (TOKENS, PERPLEXITY), strict=True):
        _zero(axes, panel, characters)
        for place, K in enumerate(sizes_of_K):
            shade = place / max(1, len(sizes_of_K) - 1)
            colour = to_hex(_ramp(shade))
            _curve(axes, of_variant(curves, "bpe", "same", "latom", N=2, K=K), panel, Line(f"K = {K}", colour))
        axes.set(xlabel="vocabulary size", ylabel=panel.label)
    figure.axes[-1].legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_K_summary(curves: pl.DataFrame, sizes_of_K: list[int], vocabulary: int, path: Path) -> None:
    """Figure 8: token count and bigram perplexity over K at one vocabulary size."""
    at = curves.filter(pl.col("vocabulary") == vocabulary, tokenizer="bpe", text="same", N=2)
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    left = figure.subplots()
    right = left.twinx()
    for code, style in (("latom", "-"), ("latom-refined", "--"), ("random", ":")):
        points = at.filter(pl.col("K").is_in(sizes_of_K), code=code).sort("K")
        for axes, column, colour in ((left, "tokens", ACCENT), (right, "perplexity", SECOND)):
            axes.plot(points["K"], points[column], style, color=colour, marker="o", markersize=3.5, linewidth=1.4)
        left.plot([], [], style, color=INK, label=LINES[code].label)
    left.set(xlabel="K", ylabel=f"tokens at |V| = {vocabulary:,}")
    right.set_ylabel("bigram perplexity")
    right.spines["right"].set_visible(True)
    left.yaxis.label.set_color(ACCENT)
    right.yaxis.label.set_color(SECOND)
    left.legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_unseen(curves: pl.DataFrame, path: Path) -> None:
    """Figures 15 and 16: tokenizers of the training part applied to the held-out part."""
    rows = curves.filter(text="unseen")
    lengths = sorted(rows["N"].drop_nulls().unique())
    figure = Figure(figsize=(1.2 + 3.6 * len(lengths), 6), layout="constrained")
    grid = figure.subplots(2, len(lengths), sharey="row", squeeze=False)
    for row, panel in zip(grid, (TOKENS, PERPLEXITY), strict=True):
        for axes, N in zip(row, lengths, strict=True):
            _scale(axes, panel)
            _curve(axes, of_variant(rows, "bpe", "unseen", "byte"), panel, LINES["byte"], marker="o")
            for code in _LEARNED:
                _curve(axes, of_variant(rows, "bpe", "unseen", code, N=N), panel, LINES[code], marker="o")
            axes.set(xlabel="vocabulary size", title=f"N = {N}")
        row[0].set_ylabel(panel.label)
    grid[0][-1].legend(frameon=False, fontsize=8)
    save(figure, path)


def draw_overview(corpora: dict[str, pl.DataFrame], characters: dict[str, int], panel: Panel, path: Path) -> None:
    """Figures 9 to 12 at a glance: every corpus, BPE, Latom and random of length 2, refined, and bytes."""
    columns = min(4, len(corpora))
    rows = -(-len(corpora) // columns)
    figure = Figure(figsize=(1 + 3 * columns, 0.6 + 2.4 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (name, curves) in zip(grid, corpora.items(), strict=False):
        _baselines(axes, curves, "bpe", panel, characters[name])
        of_two = curves.filter(tokenizer="bpe", text="same", N=2)
        for code in _LEARNED:
            _curve(axes, of_variant(of_two, "bpe", "same", code, K=of_two["K"].min()), panel, LINES[code])
        axes.set_title(name, fontsize=10)
        axes.tick_params(labelsize=8)
    for axes in grid[len(corpora) :]:
        axes.set_visible(False)
    grid[0].legend(frameon=False, fontsize=8)
    grid[0].set_ylabel(panel.label)
    save(figure, path)


def _panels(curves: pl.DataFrame, tokenizer: str) -> list[Panel]:
    """Differences to characters, unless these have a tokenizer of one size only, all others being below |C|."""
    comparable = len(of_variant(curves, tokenizer, "same", "character")) > 1
    return [TOKENS, PERPLEXITY, BITS] if comparable else _ABSOLUTE


def _baselines(axes: Axes, curves: pl.DataFrame, tokenizer: str, panel: Panel, characters: int) -> None:
    _zero(axes, panel, characters)
    if not panel.difference:
        plain = of_variant(curves, tokenizer, "same", "character")
        _curve(axes, plain, panel, Line("characters", INK))
    _curve(axes, of_variant(curves, tokenizer, "same", "byte"), panel, LINES["byte"])


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
    marker = marker or ("o" if len(known) == 1 else None)  # or nobody sees it
    axes.plot(sizes, mean, line.style, color=line.colour, label=line.label, linewidth=1.3, marker=marker, markersize=3)
    if spread.any():
        axes.fill_between(sizes, mean - spread, mean + spread, color=line.colour, alpha=0.15, linewidth=0)
