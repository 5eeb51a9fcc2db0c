"""Colours and labels of pictures, tables and the page.

A kind of code or a method without an entry here is shown under its own name, in the next colour of a cycle.
"""

from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import NamedTuple

INK, SOFT, RULE = "#1f2933", "#62707c", "#d9dee3"
ACCENT, SECOND = "#b5402a", "#2b6c8f"
GREEN, PURPLE, OCHRE, VIOLET, GREY = "#2f7d4f", "#7a1f5c", "#b58900", "#6a51a3", "#7b8794"

LINE_COLOURS = (INK, ACCENT, SECOND, GREEN, PURPLE)
"""Of lines without a colour of their own."""

LENGTH_COLOURS = (ACCENT, SECOND, GREEN, OCHRE, PURPLE)
"""Of code lengths."""

_OTHER_CODES = ("#00798c", "#c26d00", "#5a8f29", "#a14a76")

OWN_METHODS = ("viterbi", "variation", "combined", "combined-variation")
"""Methods of this project; tables mark their rows with †."""


class Line(NamedTuple):
    """How a code is drawn."""

    label: str
    colour: str
    style: str = "-"


_CODE_LINES = {
    "latom": Line("Latom", ACCENT),
    "latom-refined": Line("Latom, refined", PURPLE),
    "random": Line("random", SECOND),
    "character": Line("characters", INK),
    "byte": Line("byte", GREY),
    "radical": Line("radical", GREEN),
    "stroke": Line("stroke", OCHRE),
    "myte": Line("MYTE", VIOLET, "--"),
    "script": Line("SCRIPT", GREEN, "--"),
    "bits": Line("bit-level", OCHRE, "--"),
}

_CODE_NAMES = {
    "character": "characters",
    "byte": "bytes",
    "random": "random",
    "latom": "Latom",
    "latom-refined": "Latom, refined",
    "latom-best": "Latom, best of {restarts}",
    "latom-best-refined": "Latom, best of {restarts}, refined",
    "radical": "radicals",
    "stroke": "strokes",
    "myte": "MYTE",
    "script": "SCRIPT",
    "bits": "bit-level",
}


def code_lines(codes: Iterable[str]) -> dict[str, Line]:
    """Code -> how it is drawn."""
    others = cycle(_OTHER_CODES)
    return {code: _CODE_LINES[code] if code in _CODE_LINES else Line(code, next(others)) for code in codes}


def code_name(code: str, restarts: int = 1) -> str:
    """A code as tables name it; `restarts` is a part of some names."""
    return _CODE_NAMES[code].format(restarts=restarts) if code in _CODE_NAMES else code


def line_colours(names: Iterable[str], colours: Sequence[str] = LINE_COLOURS) -> dict[str, str]:
    """Name -> colour, from the cycle."""
    return dict(zip(names, cycle(colours), strict=False))
