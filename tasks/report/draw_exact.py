"""Figures 3 and 7 of the tokenization-bias paper, the bias of prompts, and losses of the language models."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from tasks.report.draw_segmentation import draw_loss
from tasks.report.exact import CORRECTED, vocabulary_name
from tasks.report.inputs import read_table
from tasks.report.plot import grid, legend_over, save
from tasks.report.style import ACCENT, GREY, INK, SECOND
from tasks.runtime.stage import Stage

_MODELS = {"exact": "exact tokenized model", "trained": "trained GPT-2"}
_SERIES = {"truth": ("chain", GREY), "naive": ("naive", ACCENT), CORRECTED: ("corrected", SECOND)}
_PLACES = {"inside a token": ACCENT, "at the end of a token": SECOND}
_DEEPEST = 8
_ERRORS: dict[str, Any] = {"ecolor": INK, "error_kw": {"linewidth": 0.8}}
"""How bars show deviations."""


def exact_figures(stage: Stage, folder: Path) -> Iterator[Callable[[], None]]:
    """Drawings of every chain of the Markov experiments, of all evaluated models together, and of the loss of each
    trained one."""
    for name in stage.parameters("exact.markov", dict[str, Any]):
        scores = pl.read_parquet(stage.reports("markov", name, "scores.parquet"))
        for (seed,), of_chain in scores.group_by("seed", maintain_order=True):
            yield partial(draw_markov, of_chain, folder / "markov" / f"{name}-seed{seed}")
    prompts = {
        name: pl.read_parquet(stage.reports("exact", name, "prompts.parquet"))
        for name in stage.parameters("exact.evaluated", dict[str, Any])
    }
    if prompts:
        yield partial(draw_bias, prompts, folder / "bias")
    for name in stage.parameters("exact.models", dict[str, Any]):
        loss = read_table(stage.reports("language_models", name, "loss.csv"))
        yield partial(draw_loss, loss, folder / "language_models" / name, "token")


def draw_markov(scores: pl.DataFrame, path: Path) -> None:
    """Figures 3 and 7: P(first character) after each context by the chain, by naive and by corrected estimates.

    A row of panels for each vocabulary, a column for each model. Columns: vocabulary, model, estimator, context, next,
    truth, probability, sd, undefined; of one chain.
    """
    first = scores["next"][0]
    vocabularies = scores["vocabulary"].unique(maintain_order=True).to_list()
    size = (11, 0.6 + 2.6 * len(vocabularies))
    figure, found = grid(len(vocabularies), len(_MODELS), size, sharey=True)
    for row, vocabulary in zip(found, vocabularies, strict=True):
        for axes, (model, name) in zip(row, _MODELS.items(), strict=True):
            _bars(axes, scores.filter(vocabulary=vocabulary, model=model, next=first))
            axes.set_title(f"{vocabulary_name(vocabulary)}, {name}")
        row[0].set_ylabel(f"P({first} | context)")
    for axes in found[-1]:
        axes.set_xlabel("context")
    save(figure, path, legend=4)


def _bars(axes: Axes, scores: pl.DataFrame) -> None:
    contexts = scores["context"].unique(maintain_order=True).to_list()
    width = 0.8 / len(_SERIES)
    for number, (name, (text, colour)) in enumerate(_SERIES.items()):
        rows = scores.filter(estimator="naive" if name == "truth" else name)
        places = np.arange(len(contexts)) + (number - 1) * width
        heights = rows["truth" if name == "truth" else "probability"].fill_null(0).to_numpy()
        spread = None if name == "truth" else rows["sd"].fill_null(0).to_numpy()
        axes.bar(places, heights, width, yerr=spread, color=colour, label=text, **_ERRORS)
        if name == "truth":
            continue
        for place, undefined in zip(places, rows["undefined"], strict=True):
            if undefined == 1:
                axes.text(place, 0.02, "undefined", rotation=90, ha="center", va="bottom", fontsize=7, color=colour)
            elif undefined:
                axes.text(place - 1.5 * width, 1.05, "*", ha="center", va="center", fontsize=12, color=colour)
    axes.set_xticks(range(len(contexts)), contexts)
    axes.set_ylim(0, 1.12)


def draw_bias(prompts: Mapping[str, pl.DataFrame], path: Path) -> None:
    """The bias of naive prompting, a row of panels for each model: its distribution over prompts, and its mean against
    the bytes since the last end of a token.

    prompts: name of the model -> a row for each prompt; columns place, depth, kl (bits), total_variation.
    """
    figure, found = grid(len(prompts), 2, (10, 0.6 + 2.7 * len(prompts)))
    for (left, right), (name, rows) in zip(found, prompts.items(), strict=True):
        _distribution(left, rows)
        left.set_title(name, loc="left")
        left.set(ylabel="share of prompts", xlabel="KL(exact || naive) of the next byte, bits")
        _by_depth(right, rows)
        right.set(ylabel="total variation", xlabel="bytes of the prompt since the last end of a token")
    save(figure, path)


def _distribution(axes: Axes, rows: pl.DataFrame) -> None:
    for place, colour in _PLACES.items():
        kl = np.sort(rows.filter(pl.col("place") == place)["kl"].drop_nulls().to_numpy())
        if len(kl):
            axes.step(kl, np.arange(1, len(kl) + 1) / len(kl), where="post", color=colour, label=place)
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.02)
    axes.grid()
    legend_over(axes)


def _by_depth(axes: Axes, rows: pl.DataFrame) -> None:
    value = pl.col("total_variation")
    means = (
        rows.filter(value.is_not_null())
        .group_by(depth=pl.min_horizontal("depth", pl.lit(_DEEPEST)))
        .agg(value.mean(), error=(value.std() / pl.len().sqrt()).fill_null(0), prompts=pl.len())
        .sort("depth")
    )
    colours = [ACCENT if depth else SECOND for depth in means["depth"]]
    axes.bar(means["depth"], means["total_variation"], color=colours, width=0.7, yerr=means["error"], **_ERRORS)
    for place, height, error, prompts in means.iter_rows():
        axes.text(place, height + error + 0.01, f"{prompts}", ha="center", va="bottom", fontsize=7)
    axes.set_xticks(range(_DEEPEST + 1), [*map(str, range(_DEEPEST)), f"{_DEEPEST}+"])
    axes.set(xlim=(-0.6, _DEEPEST + 0.6), ylim=(0, 1.14))
