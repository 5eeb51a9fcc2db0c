"""Axes: scales that are linear or clearly broken, whole numbers as ticks, legends beside the data."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from tasks.report.style import INK, RULE, SOFT

THOUSANDS = FuncFormatter(lambda value, _: f"{value:,.0f}")

_MOST = (25.0, 75.0)
"""Percentiles between which most values lie."""

_FENCE = 3.0
"""In the range of most values: what lies farther out may be compressed."""

_ENTRY_WIDTH = 1.75
"""Inches of a legend's entry."""

_COMPRESSED = 0.3
"""Height of a compressed part, in that of the other part."""


class Break(NamedTuple):
    """A scale that is linear from `low` to `high`, and linear with another slope below and above."""

    low: float
    high: float
    below: float
    """slope below `low`; 1 where nothing is compressed"""
    above: float

    def forward(self, values: np.ndarray) -> np.ndarray:
        """Values -> heights."""
        inside = np.clip(values, self.low, self.high)
        return inside + self.above * np.maximum(values - self.high, 0) + self.below * np.minimum(values - self.low, 0)

    def inverse(self, heights: np.ndarray) -> np.ndarray:
        """Heights -> values."""
        inside = np.clip(heights, self.low, self.high)
        over, under = np.maximum(heights - self.high, 0), np.minimum(heights - self.low, 0)
        return inside + over / self.above + under / self.below


def find_break(values: np.ndarray) -> Break | None:
    """Where a scale should be broken so that most values, and zero, can be told apart; None where it need not be."""
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    first, third = np.percentile(np.append(known, 0.0), _MOST)
    fence = _FENCE * (third - first)
    near = np.append(known[(known >= first - fence) & (known <= third + fence)], 0.0)
    low, high, least, most = (float(value) for value in (near.min(), near.max(), known.min(), known.max()))
    if low - least <= high - low:
        low = min(low, least)
    if most - high <= high - low:
        high = max(high, most)
    below, above = (_slope(distance, high - low) for distance in (low - least, most - high))
    return None if below == above == 1 else Break(low, high, below, above)


def _slope(distance: float, inside: float) -> float:
    """Of the part that reaches so far out of the range inside."""
    return _COMPRESSED * inside / distance if inside and distance > 0 else 1.0


def break_where_needed(panels: Sequence[Axes], values: np.ndarray) -> None:
    """Break the vertical scale of panels that share it, and say so at the breaks.

    values: all that are drawn in them.
    """
    found = find_break(values)
    for axes in panels if found else ():
        assert found is not None
        axes.set_yscale("function", functions=(found.forward, found.inverse))
        for edge, slope, side in ((found.low, found.below, "bottom"), (found.high, found.above, "top")):
            if slope < 1:
                _show_break(axes, edge, slope, side)
        axes.yaxis.set_major_locator(FixedLocator(_ticks(found, values)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def _show_break(axes: Axes, edge: float, slope: float, side: str) -> None:
    """Shade the compressed part, mark the axis where it begins, and say how much it is compressed."""
    low, high = axes.get_ylim()
    axes.axhspan(edge, high if side == "top" else low, color=RULE, alpha=0.35, linewidth=0, zorder=0)
    axes.set_ylim(low, high)
    slash: dict[str, Any] = {"marker": [(-1, -0.6), (1, 0.6)], "markersize": 9, "color": INK, "clip_on": False}
    axes.plot([0], [edge], linestyle="none", transform=axes.get_yaxis_transform(), **slash)
    place = {"top": (0.98, 0.98), "bottom": (0.98, 0.02)}[side]
    text = f"grey: scale 1 : {1 / slope:.0f}"
    style: dict[str, Any] = {"ha": "right", "va": side, "fontsize": 7, "color": SOFT}
    axes.text(*place, text, transform=axes.transAxes, **style)


def _ticks(found: Break, values: np.ndarray) -> list[float]:
    """Round numbers: several in the linear part, the outermost in each compressed one."""
    known = values[np.isfinite(values)]
    ends = {"low": min(found.low, float(known.min())), "high": max(found.high, float(known.max()))}
    within = MaxNLocator(5).tick_values(found.low, found.high)
    ticks = [float(tick) for tick in within if found.low <= tick <= found.high]
    if found.above < 1:
        ticks.append(float(max(tick for tick in MaxNLocator(3).tick_values(0, ends["high"]) if tick <= ends["high"])))
    if found.below < 1:
        ticks.append(float(min(tick for tick in MaxNLocator(3).tick_values(ends["low"], 0) if tick >= ends["low"])))
    return ticks


def whole_numbers(axes: Axes, ticks: int = 5) -> None:
    """Whole numbers along the horizontal axis, thousands set apart."""
    axes.xaxis.set_major_locator(MaxNLocator(ticks, integer=True))
    axes.xaxis.set_major_formatter(THOUSANDS)


def legend_above(figure: Figure, others: Iterable[Any] = (), columns: int = 4) -> None:
    """One legend of all panels and of `others`, above them; lines of the same label are one entry."""
    found = [pair for axes in figure.axes for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
    handles = {label: handle for handle, label in found} | {str(line.get_label()): line for line in others}
    if handles:
        fitting = max(1, int(figure.get_figwidth() // _ENTRY_WIDTH))
        style: dict[str, Any] = {"ncols": min(columns, fitting), "frameon": False, "fontsize": 9}
        figure.legend(handles.values(), handles, loc="outside upper center", **style)


def legend_over(axes: Axes, columns: int = 4) -> None:
    """The legend of one panel, over its upper edge."""
    if axes.get_legend_handles_labels()[0]:
        style: dict[str, Any] = {"frameon": False, "fontsize": 8, "borderaxespad": 0.2}
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=columns, **style)


def band(axes: Axes, x: Any, mean: np.ndarray, spread: np.ndarray, colour: str) -> None:
    """One standard deviation around a curve; nothing where there is none."""
    known = np.nan_to_num(spread)
    if known.any():
        axes.fill_between(x, mean - known, mean + known, color=colour, alpha=0.15, linewidth=0)
