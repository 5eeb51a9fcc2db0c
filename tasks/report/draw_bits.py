"""Stage `draw_bits`: tokens saved against known characters, the search for better splits, and the translation pilot."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tasks.report.figures.bits_figures import draw_losses, draw_savings, draw_search, draw_translation
from tasks.report.figures.canvas import draw_all
from tasks.report.inputs import read_lengths, read_parts, read_table
from tasks.runtime.stage import Stage, run
from tokenlab.core.files import atomic_folder


def draw(stage: Stage) -> None:
    """Draw all corpora together, and all pairs of languages together."""
    with atomic_folder(stage.reports("figures", "bits")) as folder:
        drawings: list[Callable[[], None]] = []
        lengths, search = read_lengths(stage), read_parts(stage, "bits.corpora", "bits", "search.parquet")
        if lengths is not None and search is not None:
            drawings.append(partial(draw_savings, lengths, folder / "savings"))
            drawings.append(partial(draw_search, search, folder / "search"))
        scores = read_parts(stage, "bits.translation", "translation", "scores.parquet")
        if scores is not None:
            losses = {
                name: read_table(stage.reports("translation_models", name, "loss.csv"))
                for name in stage.parameters("bits.translation", dict[str, Any])
            }
            drawings.append(partial(draw_translation, scores, folder / "translation"))
            drawings.append(partial(draw_losses, losses, folder / "loss"))
        draw_all(drawings)


if __name__ == "__main__":
    run(draw)
