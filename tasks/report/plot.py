"""The one plot helper: style, fonts, sizes, legends, and the same PNG and SVG bytes every time.

Fonts are those of installed packages, never the system's: a picture has the same bytes on every machine. Matplotlib
shapes the text. `draw_all` draws many pictures on all cores: a picture takes 0.3 to 2.5 s, a worker process 2 to 3 s to
start.
"""

import os
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from operator import call
from pathlib import Path
from typing import Any, NamedTuple

import manimgx_fonts
import matplotlib
import mplfonts
import numpy as np
import regex
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from tasks.report.style import ACCENT, INK, RULE
from tasks.report.svg import smaller
from tasks.runtime.pool import in_processes
from tokenlab.core.files import atomic_file

THOUSANDS = FuncFormatter(lambda value, _: f"{value:,.0f}".replace("-", "−"))

_METADATA: dict[str, dict[str, None]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
"""What is left out of files, so that they do not change with the day or the version of Matplotlib."""

_FAR = 8
"""Times the third quartile: a scale that reaches farther is logarithmic."""

_ENTRY_WIDTH = 1.75
"""Inches of a legend's entry."""

_WORTH_PROCESSES = 24
"""Drawings; fewer are drawn sooner than workers have started."""

_CLUSTER = regex.compile(r"\X\p{M}*")
_VISIBLE = {"\n": "⏎", "\t": "⇥"}
_INVISIBLE = ("Cc", "Cf", "Zs", "Zl", "Zp")
"""Categories of characters that need no font; neither do selectors of variants."""


@cache
def _fonts() -> dict[str, frozenset[int]]:
    """Family -> the code points that it has, in the order in which fonts are tried; registers them with Matplotlib.

    The first has Latin, Greek, Cyrillic, Han, Kana and Hangul.
    """
    han = Path(mplfonts.__file__).parent / "fonts" / "NotoSansCJKsc-Regular.otf"
    others = sorted(path for path in Path(manimgx_fonts.__file__).parent.glob("*.ttf") if "Italic" not in path.name)
    last = ("NotoSansSymbols", "NotoEmoji")  # Both have letters and digits of their own.
    found = {}
    for path in (han, *sorted(others, key=lambda path: path.name.startswith(last))):
        font_manager.fontManager.addfont(str(path))
        family = font_manager.FontProperties(fname=str(path)).get_name()
        found[family] = frozenset(FT2Font(str(path)).get_charmap())
    return found


matplotlib.use("Agg")
matplotlib.rcdefaults()  # A matplotlibrc of the user would draw other figures.
matplotlib.rcParams.update(
    {
        "font.family": next(iter(_fonts())),
        "font.size": 10,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.labelsize": 9,
        "axes.titlesize": 10,
        "axes.edgecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "grid.color": RULE,
        "grid.linewidth": 0.5,
        "lines.linewidth": 1.4,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "svg.hashsalt": "tokenlab",  # Otherwise every run names the elements differently.
    }
)


def families_for(text: str) -> list[str]:
    """The families that a text needs, the main one first; each further one makes Matplotlib slower."""
    main, *others = _fonts()
    left = {ord(character) for character in text} - _fonts()[main]
    needed = [main]
    for family in others:
        if left & _fonts()[family]:
            needed.append(family)
            left -= _fonts()[family]
    return needed


def missing_note(text: str) -> str:
    """How many characters of a text no font has, and the first of them; empty where all can be drawn."""
    drawable = frozenset().union(*_fonts().values())
    drawable |= frozenset(range(0xFE00, 0xFE10))
    missing = [
        f"U+{ord(character):04X}"
        for character in sorted(set(text))
        if ord(character) not in drawable and unicodedata.category(character) not in _INVISIBLE
    ]
    return f"no font for {len(missing)} characters, such as {missing[0]}; shown as boxes" if missing else ""


def grid(rows: int, columns: int, size: tuple[float, float], **shared: Any) -> tuple[Figure, list[list[Axes]]]:
    """A figure with rows of panels. size: width and height in inches. shared: `sharex` and `sharey` of Matplotlib."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, [list(row) for row in figure.subplots(rows, columns, squeeze=False, **shared)]


def panels(
    names: Iterable[str], columns: int, size: tuple[float, float], labels: tuple[str, str], **shared: Any
) -> tuple[Figure, dict[str, Axes]]:
    """A figure with a titled panel for each name, at most so many in a row.

    Args:
        size: of a panel, in inches.
        labels: of the horizontal axis of every panel, and of the vertical one of the panels on the left.
    """
    names = list(names)
    columns = max(1, min(columns, len(names)))
    rows = max(1, -(-len(names) // columns))
    figure, found = grid(rows, columns, (1.2 + size[0] * max(2, columns), 0.9 + size[1] * rows), **shared)
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)  # type: ignore[union-attr, call-arg]
    flat = [axes for row in found for axes in row]
    for axes, name in zip(flat, names, strict=False):
        axes.set(title=name, xlabel=labels[0])
    for row in found:
        row[0].set_ylabel(labels[1])
    for axes in flat[len(names) :]:
        axes.remove()
    return figure, dict(zip(names, flat, strict=False))


def whole_numbers(axes: Axes, ticks: int = 5) -> None:
    """Whole numbers along the horizontal axis, thousands set apart."""
    axes.xaxis.set_major_locator(MaxNLocator(ticks, integer=True))
    axes.xaxis.set_major_formatter(THOUSANDS)


def log_where_needed(found: Sequence[Axes]) -> None:
    """A logarithmic scale on both sides of zero where a few values lie far out, such as near |C|; linear up to the
    power of ten nearest to the third quartile. found: panels that share their vertical axis, whose label says it."""
    drawn = [np.asarray(line.get_ydata(), np.float64) for axes in found for line in axes.lines]
    sizes = np.abs(np.concatenate([values for values in drawn if len(values) > 2] or [np.zeros(0)]))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if not len(sizes) or (third := float(np.percentile(sizes, 75))) * _FAR > sizes.max():
        return
    for axes in found:
        axes.set_yscale("symlog", linthresh=10.0 ** np.round(np.log10(third)), linscale=2)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}".replace("-", "−")))
        axes.yaxis.set_minor_locator(NullLocator())
    found[0].set_ylabel(", ".join(filter(None, [found[0].get_ylabel(), "logarithmic"])))


def curve(axes: Axes, x: Any, y: Any, line: str = "-", *, spread: Any = None, **style: Any) -> None:
    """A line, and a band around it. spread: one standard deviation, or the lower and upper ends of the band."""
    if len(x) == 1:
        style.setdefault("marker", "o")  # A line of one point would not be seen.
    axes.plot(x, y, line, **{"markersize": 3.5, **style})
    if spread is None:
        return
    mean = np.asarray(y, np.float64)
    if isinstance(spread, tuple):
        low, high = spread
    else:
        deviation = np.nan_to_num(np.asarray(spread, np.float64))
        low, high = mean - deviation, mean + deviation
    axes.fill_between(x, low, high, color=style["color"], alpha=0.15, linewidth=0)


def legend_above(figure: Figure, others: Iterable[Any] = (), *, columns: int) -> None:
    """One legend of all panels and of `others`, above them; lines of the same label are one entry."""
    found = [pair for axes in figure.axes for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
    handles = {label: handle for handle, label in found} | {str(line.get_label()): line for line in others}
    if handles:
        fitting = max(1, int(figure.get_figwidth() // _ENTRY_WIDTH))
        figure.legend(handles.values(), handles, loc="outside upper center", ncols=min(columns, fitting))


def legend_over(axes: Axes) -> None:
    """The legend of one panel, over its upper edge."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderaxespad=0.2)


class Line(NamedTuple):
    """A text in cells of width 1, from 0 on in reading order.

    A cell holds one extended grapheme cluster, such as a Thai consonant with its vowel and tone; a boundary inside a
    cluster stands inside the cell.
    """

    cells: list[str]
    positions: list[float]
    """offset of a code point -> where it begins; the last is the end of the line"""
    right_to_left: bool

    def spans(self, words: Iterable[str]) -> list[tuple[float, float]]:
        """Where the words, which together are the text, begin and end."""
        ends = np.cumsum([0, *map(len, words)])
        return [(self.positions[start], self.positions[end]) for start, end in pairwise(ends)]

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of a horizontal axis: the line begins on the right where its script does."""
        return (self.positions[-1], 0.0) if self.right_to_left else (0.0, self.positions[-1])

    def draw(self, axes: Axes, y: float, colours: Sequence[str] | None = None, **style: Any) -> None:
        """Write the cells at a height. colours: of the cells."""
        for place, cell in enumerate(self.cells):
            shade: dict[str, Any] = {"color": colours[place]} if colours else {}
            axes.text(place + 0.5, y, cell, ha="center", va="center", **shade, **style)

    def bare(self, axes: Axes, rows: Sequence[str]) -> None:
        """An axis for rows of such lines: their names on the left, no ticks and no frame."""
        axes.set(xlim=self.limits, ylim=(len(rows) - 0.45, -0.55), xticks=[])
        axes.set_yticks(range(len(rows)), rows, fontsize=10)
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_visible(False)


def in_cells(text: str) -> Line:
    """Place a text; the line begins on the right where its first letter is of such a script."""
    clusters = _CLUSTER.findall(text)
    positions = [
        number + place / len(cluster) for number, cluster in enumerate(clusters) for place in range(len(cluster))
    ]
    strong = (unicodedata.bidirectional(character) for character in text)
    direction = next((kind for kind in strong if kind in ("L", "R", "AL")), "L")
    cells = [_VISIBLE.get(cluster, cluster) for cluster in clusters]
    return Line(cells, [*positions, float(len(clusters))], direction != "L")


def save(figure: Figure, path: Path, *, legend: int = 0, formats: Sequence[str] = ("png", "svg")) -> None:
    """Write `path`.png and `path`.svg; equal figures give equal bytes. A picture with characters that no font has says
    so. legend: the columns of one above all panels."""
    if legend:
        legend_above(figure, columns=legend)
    labels = [label for axes in figure.axes for label in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    texts = [text for text in (*figure.findobj(Text), *labels) if isinstance(text, Text)]
    for text in texts:
        families = families_for(text.get_text())
        if len(families) > 1:
            text.set_fontfamily(families)
    if note := missing_note("".join(text.get_text() for text in texts)):
        figure.set_figheight(figure.get_figheight() + 0.2)
        figure.supxlabel(note, fontsize=8, color=ACCENT)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # The picture says it.
        for name in formats:
            with atomic_file(path.with_name(f"{path.name}.{name}")) as temporary:
                figure.savefig(temporary, format=name, dpi=150, metadata=_METADATA[name])
                if name == "svg":
                    temporary.write_text(smaller(temporary.read_text(encoding="utf-8")), encoding="utf-8")


def draw_all(drawings: Sequence[Callable[[], None]]) -> None:
    """Run functions without arguments, such as `functools.partial`: many of them in worker processes on all cores."""
    workers = len(os.sched_getaffinity(0)) if len(drawings) >= _WORTH_PROCESSES else 1
    in_processes(call, drawings, workers, "pictures")
