"""Stage `draw_patches`: lengths of tokens and patches, bits per byte during training, vocabularies and S."""

from collections.abc import Callable
from functools import partial
from typing import Any

import polars as pl

from tasks.report.figures.canvas import draw_all
from tasks.report.figures.patch_figures import (
    draw_lengths,
    draw_longest,
    draw_tokens,
    draw_training,
    draw_vocabulary,
    largest_tokenizers,
    main_losses,
)
from tasks.report.inputs import read_parts, read_table
from tasks.report.sections.patches_section import corpus_facts
from tasks.report.tables.patch_tables import longest_points, vocabulary_points
from tasks.runtime.stage import Stage, run
from tokenlab.core.files import atomic_folder


def draw(stage: Stage) -> None:
    """Draw all vocabularies together, and all corpora together."""
    with atomic_folder(stage.reports("figures", "patches")) as folder:
        drawings: list[Callable[[], None]] = []
        tokens = _read_tables(stage, "patches.tokenizers", "patch_tokenizers", "lengths.csv")
        if tokens is not None:
            drawings.append(partial(draw_tokens, largest_tokenizers(tokens), folder / "tokens"))
        patchers = read_parts(stage, "patches.corpora", "patches", "patchers.parquet")
        lengths = _read_tables(stage, "patches.corpora", "patches", "lengths.csv")
        scores = read_parts(stage, "patches.models", "patch_scores", "scores.parquet")
        losses = _read_tables(stage, "patches.models", "patch_models", "loss.csv")
        if patchers is not None and lengths is not None and scores is not None and losses is not None:
            sources = {name: facts["source"] for name, facts in corpus_facts(stage).items()}
            drawings.append(partial(draw_lengths, patchers, lengths, sources, folder / "lengths"))
            drawings.append(partial(draw_training, main_losses(losses, scores), folder / "training"))
            if len(vocabulary_points(scores)):
                drawings.append(partial(draw_vocabulary, scores, folder / "vocabulary"))
            if len(longest_points(scores)):
                drawings.append(partial(draw_longest, scores, folder / "longest"))
        draw_all(drawings)


def _read_tables(stage: Stage, section: str, folder: str, name: str) -> pl.DataFrame | None:
    """The tables `name` of all variants of a section, one below the other; None where the section has no variant."""
    tables = [
        read_table(stage.reports(folder, key, name)).with_columns(key=pl.lit(key))
        for key in stage.parameters(section, dict[str, Any])
    ]
    return pl.concat(tables, how="diagonal_relaxed") if tables else None


if __name__ == "__main__":
    run(draw)
