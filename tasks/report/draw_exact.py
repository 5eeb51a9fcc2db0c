"""Stage `draw_exact`: figures 3 and 7 of the tokenization-bias paper, the bias of prompts, and losses of the language
models."""

from collections.abc import Callable
from functools import partial
from typing import Any

import polars as pl

from tasks.report.figures.canvas import draw_all
from tasks.report.figures.exact_figures import draw_bias, draw_markov
from tasks.report.figures.segmentation_figures import draw_loss
from tasks.report.inputs import read_table
from tasks.runtime.stage import Stage, run
from tokenlab.core.files import atomic_folder


def draw(stage: Stage) -> None:
    """Draw every chain of the Markov experiments, all evaluated models together, and the loss of each trained one."""
    with atomic_folder(stage.reports("figures", "exact")) as folder:
        drawings: list[Callable[[], None]] = []
        for name in stage.parameters("exact.markov", dict[str, Any]):
            scores = pl.read_parquet(stage.reports("markov", name, "scores.parquet"))
            for (seed,), of_chain in scores.group_by("seed", maintain_order=True):
                drawings.append(partial(draw_markov, of_chain, folder / "markov" / f"{name}-seed{seed}"))
        prompts = {
            name: pl.read_parquet(stage.reports("exact", name, "prompts.parquet"))
            for name in stage.parameters("exact.evaluated", dict[str, Any])
        }
        if prompts:
            drawings.append(partial(draw_bias, prompts, folder / "bias"))
        for name in stage.parameters("exact.models", dict[str, Any]):
            loss = read_table(stage.reports("language_models", name, "loss.csv"))
            drawings.append(partial(draw_loss, loss, folder / "language_models" / name, "token"))
        draw_all(drawings)


if __name__ == "__main__":
    run(draw)
