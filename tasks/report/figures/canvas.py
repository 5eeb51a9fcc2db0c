"""Matplotlib as all pictures use it: one font, PNG and SVG with the letters as paths, the same bytes every time.

`draw_all` draws many pictures on all cores. A picture takes 0.3 to 2.5 s, a worker process 2 to 3 s to start.
"""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import matplotlib
import mplfonts
from matplotlib import font_manager
from matplotlib.figure import Figure

from tasks.report.style import INK
from tasks.runtime.parent_death import die_with_parent
from tokenlab.core.files import atomic_file

_FONT = Path(mplfonts.__file__).parent / "fonts" / "NotoSansCJKsc-Regular.otf"

_METADATA: dict[str, dict[str, None]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
"""What is left out of files, so that they do not change with the day or the version of Matplotlib."""

_WORTH_PROCESSES = 24
"""Drawings; fewer are drawn sooner than workers have started."""

matplotlib.use("Agg")
font_manager.fontManager.addfont(str(_FONT))
matplotlib.rcParams.update(
    {
        "font.family": font_manager.FontProperties(fname=str(_FONT)).get_name(),
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
    for name in formats:
        with atomic_file(path.with_name(f"{path.name}.{name}")) as temporary:
            figure.savefig(temporary, format=name, dpi=150, metadata=_METADATA[name])


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
