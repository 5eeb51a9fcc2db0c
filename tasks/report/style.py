"""Colours and labels of pictures, tables and the page.

A kind of code or a method without an entry here is shown under its own name, in the next colour of a cycle.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import NamedTuple

INK, SOFT, RULE, PAPER = "#1f2933", "#5b6873", "#d9dee3", "#ffffff"
ACCENT, SECOND = "#b5402a", "#2b6c8f"
GREEN, PURPLE, OCHRE, VIOLET, GREY = "#2b7548", "#7a1f5c", "#8a6800", "#6a51a3", "#5f6b77"

LINE_COLOURS = (INK, ACCENT, SECOND, GREEN, PURPLE)
"""Of lines without a colour of their own."""

LENGTH_COLOURS = (ACCENT, SECOND, GREEN, OCHRE, PURPLE)
"""Of code lengths."""

_OTHER_CODES = ("#00758a", "#a35a00", "#4a7a22", "#a14a76")

PANEL, TINT = "#f6f7f9", "#eef3f6"
"""Backgrounds on the page: of the summary, and of a table's result."""

DARK = {
    PAPER: "#14191f",
    PANEL: "#1c232b",
    TINT: "#202c36",
    RULE: "#36424d",
    INK: "#e3e8ed",
    SOFT: "#a3b0bc",
    ACCENT: "#f08a73",
    SECOND: "#6fb4da",
    GREEN: "#6cc08e",
    PURPLE: "#d98ac0",
    OCHRE: "#d9b13b",
    VIOLET: "#b3a1e6",
    GREY: "#9aa7b3",
    **dict(zip(_OTHER_CODES, ("#4fb8c9", "#e0a050", "#9ccc6a", "#dd8fb5"), strict=True)),
}
"""Colour -> the one that stands for it on a dark page, in pictures too."""

OWN_METHODS = ("viterbi", "variation", "combined", "combined-variation", "words")
"""Methods of this project; tables mark their rows with †."""


_COLOUR = re.compile(r"#[0-9a-f]{6}\b")


class Line(NamedTuple):
    """How a code is drawn."""

    label: str
    colour: str
    style: str = "-"


_CODES = {
    "character": ("characters", Line("characters", INK)),
    "byte": ("bytes", Line("byte", GREY, "-.")),
    "random": ("random", Line("random", SECOND)),
    "latom": ("Latom", Line("Latom", ACCENT)),
    "latom-refined": ("Latom, refined", Line("Latom, refined", PURPLE)),
    "latom-best": ("Latom, best of {restarts}", None),
    "latom-best-refined": ("Latom, best of {restarts}, refined", None),
    "radical": ("radicals", Line("radical", GREEN)),
    "stroke": ("strokes", Line("stroke", OCHRE)),
    "myte": ("MYTE", Line("MYTE", VIOLET, "--")),
    "script": ("SCRIPT", Line("SCRIPT", GREEN, "--")),
    "bits": ("bit-level", Line("bit-level", OCHRE, "--")),
}
"""Code -> its name in tables, and how it is drawn; what the best of several restarts gives is in tables alone."""


def code_lines(codes: Iterable[str]) -> dict[str, Line]:
    """Code -> how it is drawn."""
    others = cycle(_OTHER_CODES)
    known = {code: _CODES[code][1] if code in _CODES else None for code in codes}
    return {code: line or Line(code, next(others)) for code, line in known.items()}


def code_name(code: str, restarts: int | str = 1) -> str:
    """A code as tables name it; `restarts` is a part of some names."""
    return _CODES[code][0].format(restarts=restarts) if code in _CODES else code


def variable(colour: str) -> str:
    """The CSS variable of a colour that differs between a light and a dark page."""
    return "--" + colour.removeprefix("#")


def with_variables(svg: str) -> str:
    """A picture whose colours follow those of the page."""
    return _COLOUR.sub(lambda found: f"var({variable(found[0])})" if found[0] in DARK else found[0], svg)


def line_colours(names: Iterable[str], colours: Sequence[str] = LINE_COLOURS) -> dict[str, str]:
    """Name -> colour, from the cycle."""
    return dict(zip(names, cycle(colours), strict=False))
