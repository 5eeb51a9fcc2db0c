"""Stage `draw_segmentation`: figures 2 to 5 of the entropy paper, tuning curves, and losses of language models."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from tasks.report.figures.canvas import draw_all
from tasks.report.figures.entropy_figures import ScoredSentence, draw_entropies, draw_thresholds
from tasks.report.figures.segmentation_figures import draw_boundaries, draw_distributions, draw_lambda, draw_loss
from tasks.report.inputs import read_table
from tasks.runtime.stage import Stage, read_json, run
from tokenlab.core.files import atomic_folder


def draw(stage: Stage) -> None:
    """Draw every segmented corpus, and the loss of every language model that was trained."""
    corpora = stage.parameters("segmentation.corpora", dict[str, Any])
    models = stage.parameters("entropy.models", dict[str, Any])
    with atomic_folder(stage.reports("figures", "segmentation")) as folder:
        drawings: list[Callable[[], None]] = []
        for name in corpora:
            drawings += _distributions(stage.reports("ngram_statistics", name), folder / name)
            drawings += _tuning(stage.reports("tuning", name), folder / name)
            drawings += _sentences(stage.reports("segmentation", name), folder / name)
        for name in models:
            loss = read_table(stage.reports("entropy_models", name, "loss.csv"))
            drawings.append(partial(draw_loss, loss, folder / "entropy_models" / name))
        draw_all(drawings)


def _distributions(statistics: Path, folder: Path) -> Iterator[Callable[[], None]]:
    pmi, entropy = read_table(statistics / "pmi.csv"), read_table(statistics / "entropy.csv")
    unit = read_json(statistics / "unit.json")["unit"]
    yield partial(draw_distributions, pmi, entropy, unit, folder / "distributions")


def _tuning(tuning: Path, folder: Path) -> Iterator[Callable[[], None]]:
    """Nothing for a table without rows: nothing was tuned."""
    if len(curves := read_table(tuning / "lambda.csv")):
        yield partial(draw_lambda, curves, folder / "lambda")
    if len(curves := read_table(tuning / "entropy.csv")):
        yield partial(draw_thresholds, curves, folder / "thresholds")


def _sentences(segmentation: Path, folder: Path) -> Iterator[Callable[[], None]]:
    """One sentence as each configuration segments it, and the entropies of a few, where the corpus has them."""
    configurations = pl.read_parquet(segmentation / "scores.parquet", columns=["configuration"])["configuration"]
    found = read_json(segmentation / "sentences.json")
    rows = {name: found["example"].get(name) for name in ("gold", *configurations.unique(maintain_order=True))}
    yield partial(draw_boundaries, {name: words for name, words in rows.items() if words}, folder / "sentence")
    if found["entropies"]:
        scored = [ScoredSentence(**sentence) for sentence in found["entropies"]]
        yield partial(draw_entropies, scored, folder / "entropy")


if __name__ == "__main__":
    run(draw)
