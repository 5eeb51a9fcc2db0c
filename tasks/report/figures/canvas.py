"""Matplotlib as all pictures use it: fonts of installed packages, PNG and SVG with the letters as paths, the same bytes
every time. A picture with characters that no font has says which.

`draw_all` draws many pictures on all cores. A picture takes 0.3 to 2.5 s, a worker process 2 to 3 s to start.
"""

import multiprocessing
import os
import textwrap
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from matplotlib.text import Text

from tasks.report.figures.writing import families_for, main_family, missing_note
from tasks.report.style import ACCENT, INK
from tasks.runtime.parent_death import die_with_parent
from tokenlab.core.files import atomic_file

_METADATA: dict[str, dict[str, None]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
"""What is left out of files, so that they do not change with the day or the version of Matplotlib."""

_LETTERS_PER_INCH, _INCHES_PER_LINE = 13, 0.17
"""Of notes below a picture."""

_WORTH_PROCESSES = 24
"""Drawings; fewer are drawn sooner than workers have started."""

matplotlib.use("Agg")
matplotlib.rcdefaults()  # A matplotlibrc of the user would draw other figures.
matplotlib.rcParams.update(
    {
        "font.family": main_family(),
        "font.size": 10,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.hashsalt": "tokenlab",  # Otherwise every run names the elements differently.
    }
)


def save(figure: Figure, path: Path, formats: Sequence[str] = ("png", "svg")) -> None:
    """Write `path`.png and `path`.svg; equal figures give equal bytes."""
    texts = _texts(figure)
    for text in texts:
        families = families_for(text.get_text())
        if len(families) > 1:
            text.set_fontfamily(families)
    if note := missing_note({text.get_text() for text in texts}):
        width = int(_LETTERS_PER_INCH * figure.get_figwidth())
        lines = textwrap.wrap(note, width)
        figure.set_figheight(figure.get_figheight() + _INCHES_PER_LINE * len(lines))
        figure.supxlabel("\n".join(lines), fontsize=8, color=ACCENT)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # The picture says it.
        for name in formats:
            with atomic_file(path.with_name(f"{path.name}.{name}")) as temporary:
                figure.savefig(temporary, format=name, dpi=150, metadata=_METADATA[name])


def _texts(figure: Figure) -> list[Text]:
    """Every text of the figure, labels of ticks included."""
    labels = [label for axes in figure.axes for label in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    return [text for text in (*figure.findobj(Text), *labels) if isinstance(text, Text)]


def draw_all(drawings: Sequence[Callable[[], None]]) -> None:
    """Run functions without arguments, such as `functools.partial`: many of them in worker processes on all cores."""
    workers = len(os.sched_getaffinity(0))
    if workers < 2 or len(drawings) < _WORTH_PROCESSES:
        for drawing in drawings:
            drawing()
        return
    # Workers are spawned: a fork would copy the locks of polars' threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=die_with_parent) as pool:
        for done in [pool.submit(drawing) for drawing in drawings]:
            done.result()
