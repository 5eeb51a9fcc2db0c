"""Pictures of exact character probabilities: figures 3 and 7 of the paper on tokenization bias, the bias of prompts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.report.figures.canvas import save
from tasks.report.figures.scales import legend_above, legend_over
from tasks.report.style import ACCENT, GREY, INK, RULE, SECOND
from tasks.report.tables.exact_tables import CORRECTED, vocabulary_name

_MODELS = {"exact": "exact tokenized model", "trained": "trained GPT-2"}
_SERIES = {"truth": ("chain", GREY), "naive": ("naive", ACCENT), CORRECTED: ("corrected", SECOND)}
_PLACES = {"inside a token": ACCENT, "at the end of a token": SECOND}
_DEEPEST = 8


def draw_markov(scores: pl.DataFrame, path: Path) -> None:
    """Figures 3 and 7: P(first character) after each context by the chain, by naive and by corrected estimates.

    A row of panels for each vocabulary, a column for each model. Columns: vocabulary, model, estimator, context, next,
    truth, probability, sd, undefined; of one chain.
    """
    first = scores["next"][0]
    vocabularies = scores["vocabulary"].unique(maintain_order=True).to_list()
    figure = Figure(figsize=(11, 0.6 + 2.6 * len(vocabularies)), layout="constrained")
    panels = figure.subplots(len(vocabularies), len(_MODELS), squeeze=False, sharey=True)
    for row, vocabulary in zip(panels, vocabularies, strict=True):
        for axes, (model, label) in zip(row, _MODELS.items(), strict=True):
            _bars(axes, scores.filter(vocabulary=vocabulary, model=model, next=first))
            axes.set_title(f"{vocabulary_name(vocabulary)}, {label}", fontsize=10)
        row[0].set_ylabel(f"P({first} | context)")
    for axes in panels[-1]:
        axes.set_xlabel("context")
    legend_above(figure)
    save(figure, path)


def _bars(axes: Axes, scores: pl.DataFrame) -> None:
    contexts = scores["context"].unique(maintain_order=True).to_list()
    width = 0.8 / len(_SERIES)
    for number, (name, (label, colour)) in enumerate(_SERIES.items()):
        rows = scores.filter(estimator="naive" if name == "truth" else name)
        places = np.arange(len(contexts)) + (number - 1) * width
        heights = rows["truth" if name == "truth" else "probability"].fill_null(0).to_numpy()
        spread = None if name == "truth" else rows["sd"].fill_null(0).to_numpy()
        thin = {"linewidth": 0.8}
        axes.bar(places, heights, width, yerr=spread, color=colour, label=label, ecolor=INK, error_kw=thin)
        if name == "truth":
            continue
        for place, undefined in zip(places, rows["undefined"], strict=True):
            if undefined == 1:
                axes.text(place, 0.02, "undefined", rotation=90, ha="center", va="bottom", fontsize=7, color=colour)
            elif undefined:
                axes.text(place - 1.5 * width, 1.05, "*", ha="center", va="center", fontsize=12, color=colour)
    axes.set_xticks(range(len(contexts)), contexts, fontsize=8)
    axes.set_ylim(0, 1.12)


def draw_bias(prompts: Mapping[str, pl.DataFrame], path: Path) -> None:
    """The bias of naive prompting, a row of panels for each model: its distribution over prompts, and its mean against
    the bytes since the last end of a token.

    prompts: name of the model -> a row for each prompt; columns place, depth, kl (bits), total_variation.
    """
    figure = Figure(figsize=(10, 0.6 + 2.7 * len(prompts)), layout="constrained")
    panels = figure.subplots(len(prompts), 2, squeeze=False)
    for (left, right), (name, rows) in zip(panels, prompts.items(), strict=True):
        _distribution(left, rows)
        left.set_title(name, fontsize=10, loc="left")
        left.set(ylabel="share of prompts", xlabel="KL(exact || naive) of the next byte, bits")
        _by_depth(right, rows)
        right.set(ylabel="total variation", xlabel="bytes of the prompt since the last end of a token")
    save(figure, path)


def _distribution(axes: Axes, rows: pl.DataFrame) -> None:
    for place, colour in _PLACES.items():
        kl = np.sort(rows.filter(pl.col("place") == place)["kl"].drop_nulls().to_numpy())
        if len(kl):
            axes.step(kl, np.arange(1, len(kl) + 1) / len(kl), where="post", color=colour, label=place, linewidth=1.4)
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.02)
    axes.grid(color=RULE, linewidth=0.6)
    legend_over(axes)


def _by_depth(axes: Axes, rows: pl.DataFrame) -> None:
    depth = pl.min_horizontal("depth", pl.lit(_DEEPEST))
    means = (
        rows.filter(pl.col("total_variation").is_not_null())
        .group_by(depth=depth)
        .agg(
            pl.col("total_variation").mean(),
            error=(pl.col("total_variation").std() / pl.len().sqrt()).fill_null(0),
            prompts=pl.len(),
        )
        .sort("depth")
    )
    colours = [ACCENT if number else SECOND for number in means["depth"]]
    thin: dict[str, Any] = {"linewidth": 0.8}
    heights, errors = means["total_variation"], means["error"]
    axes.bar(means["depth"], heights, color=colours, width=0.7, yerr=errors, ecolor=INK, error_kw=thin)
    for place, height, error, prompts in means.iter_rows():
        axes.text(place, height + error + 0.01, f"{prompts}", ha="center", va="bottom", fontsize=7)
    axes.set_xticks(range(_DEEPEST + 1), [*map(str, range(_DEEPEST)), f"{_DEEPEST}+"])
    axes.set(xlim=(-0.6, _DEEPEST + 0.6), ylim=(0, 1.14))
