"""Pictures in one style, as PNG and as SVG with the letters drawn, so that they look the same where no font is."""

from pathlib import Path

import matplotlib
import mplfonts
from matplotlib import font_manager
from matplotlib.figure import Figure

from tokenlab.files import atomic_file

INK, ACCENT, SECOND = "#1f2933", "#b5402a", "#2b6c8f"
_FONT = Path(mplfonts.__file__).parent / "fonts" / "NotoSansCJKsc-Regular.otf"

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
        "svg.hashsalt": "tokenlab",  # or every run names its elements differently
    }
)


def save(figure: Figure, path: Path) -> None:
    """Write `path`.png and `path`.svg; equal figures give equal bytes."""
    for suffix, options in ((".png", {"Software": None}), (".svg", {"Date": None, "Creator": None})):
        with atomic_file(path.with_suffix(suffix)) as temporary:
            figure.savefig(temporary, format=suffix[1:], dpi=150, metadata=options)
