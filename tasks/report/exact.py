"""The exact family: tables of the Markov experiments, of bits per character, and of the bias of prompts; then figures 3
and 7 of the tokenization-bias paper, the bias of prompts, and losses of the language models."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from tasks.report.inputs import corpus_facts, examples, notes_of, pictures, read_parts, tables_of, trained_models
from tasks.report.plot import grid, legend_over, save
from tasks.report.segmentation import draw_loss
from tasks.report.style import ACCENT, GREY, INK, SECOND
from tasks.report.table import Caveat, Column, Results, Table, tabulate
from tasks.runtime.stage import Stage

CORRECTED = "incremental"
"""The estimator of the columns `corrected`; all that are exact agree."""

_ESTIMATORS = {"naive": "naive", "mpc": "MPC", "bpc": "BPC", "incremental": "incremental"}
_FIGURES = {"mpe": "MPE (figure 3)", "bpe": "BPE (figure 7)"}
_SHOWN_END = 30
"""Characters of a prompt that tables show, its last ones."""


def exact_results(stage: Stage) -> Results:
    """Read the results of a preset."""
    scores = read_parts(stage, "exact.evaluated", "exact", "scores.parquet")
    tables = []
    if len(scores):
        notes = notes_of(corpus_facts(stage, name) for name in scores["corpus"].unique(maintain_order=True))
        tables = [bits_table(scores, notes), bias_table(scores, notes)]
    chains = tables_of(stage, "exact.markov", "markov", "scores.parquet")
    errors = tables_of(stage, "exact.markov", "markov", "summary.parquet")
    experiments = [_experiment(stage, name, of_chains, errors[name]) for name, of_chains in chains.items()]
    page = {
        "experiments": experiments,
        "tables": tables,
        "examples": examples(stage, "exact.evaluated", "exact", examples_table),
        "bias": pictures(stage.reports("figures", "exact")).get("bias"),
        "models": trained_models(stage, "exact.models", "exact", "language_models"),
    }
    main = [*(experiment["errors"] for experiment in experiments), *tables]
    return Results(main, [table for experiment in experiments for table in experiment["tables"]], page)


def _experiment(stage: Stage, name: str, scores: pl.DataFrame, summary: pl.DataFrame) -> dict[str, Any]:
    drawn = pictures(stage.reports("figures", "exact", "markov"))
    return {
        "name": name,
        "errors": markov_errors(summary),
        "tables": markov_tables(scores),
        "pictures": [drawn[f"{name}-seed{seed}"] for seed in scores["seed"].unique().sort()],
    }


def vocabulary_name(vocabulary: str) -> str:
    """A vocabulary of the Markov experiments as tables and pictures name it."""
    return _FIGURES.get(vocabulary, vocabulary)


def markov_tables(scores: pl.DataFrame) -> list[Table]:
    """Figures 3 and 7 as tables, one for each vocabulary: P(first character of the alphabet) after each context."""
    first = scores["next"][0]
    tables = []
    for (vocabulary,), rows in scores.filter(next=first).group_by("vocabulary", maintain_order=True):
        experiment, prompts = rows["experiment"][0], rows["prompts"][0]
        several = rows["seed"].n_unique() > 1
        columns = [
            Column("context", partial(_context, several=several)),
            Column(f"P({first})", "truth", "{:.3f}"),
        ]
        for model in ("exact", "trained"):
            for name, estimator in (("naive", "naive"), ("corrected", CORRECTED)):
                which = {"model": model, "estimator": estimator}
                columns.append(Column(f"{name}, {model} model", _probability, where=which, result=name == "corrected"))
        title = (
            f"{experiment}, {vocabulary_name(str(vocabulary))}: probability of {first} by the chain and by its "
            f"tokenized models; mean ± sd of {prompts} prompts"
        )
        tables.append(tabulate(f"markov-{experiment}-{vocabulary}", title, rows, columns, key=["seed", "context"]))
    return tables


def _context(rows: pl.DataFrame, several: bool) -> str:
    context, seed = rows.select("context", "seed").row(0)
    return f"{context}, chain {seed}" if several else context


def _probability(rows: pl.DataFrame) -> str:
    row = rows.row(0, named=True)
    if row["probability"] is None:
        return "undefined"
    undefined = f" ({100 * row['undefined']:.0f} % undefined)" if row["undefined"] else ""
    return f"{row['probability']:.3f} ± {row['sd']:.3f}{undefined}"


def markov_errors(summary: pl.DataFrame) -> Table:
    """Absolute errors of every estimator, and its model calls; means over the chains."""
    columns = [
        Column("estimator", _estimator),
        Column("vocabulary", "vocabulary", vocabulary_name),
        Column("mean", "mean_error", _error, result=True),
        Column("largest", lambda rows: rows["max_error"].max(), _error),
        Column("mean, biased", "mean_error_biased", _error),
        Column("undefined %", "undefined", "{:.1f}", 100),
        Column("calls", "calls", "{:.1f}"),
    ]
    experiment, chains = summary["experiment"][0], summary["seed"].n_unique()
    of_chains = "1 chain" if chains == 1 else f"means over {chains} chains"
    title = f"{experiment}: absolute error of the probability of the next character, {of_chains}"
    key = ["vocabulary", "model", "estimator"]
    return tabulate(f"markov-{experiment}-errors", title, summary, columns, key=key)


def _estimator(rows: pl.DataFrame) -> str:
    name, model = rows.select("estimator", "model").row(0)
    return f"{_ESTIMATORS.get(name, name)}, {model} model"


def _error(value: float) -> str:
    return "< 1e-12" if value < 1e-12 else f"{value:.4f}" if value >= 5e-5 else f"{value:.0e}"


def bits_table(scores: pl.DataFrame, notes: Sequence[str]) -> Table:
    """Bits per character of held-out sentences, a row for each model."""

    def saved(rows: pl.DataFrame) -> float:
        exact, naive = (rows[f"{which}_bits_per_character"][0] for which in ("exact", "naive"))
        return (naive - exact) / naive

    short = scores.filter(place="short text").select("name", short_never_made="never_made")
    rows = scores.filter(place="text").join(short, on="name", maintain_order="left")
    columns = [
        Column("model", "name"),
        Column("corpus", "corpus"),
        Column("sentences", "texts", "{:,}"),
        Column("characters/token", lambda rows: rows["characters"] / rows["tokens"], "{:.2f}"),
        *(Column(which, f"{which}_bits_per_character", "{:.4f}") for which in ("exact", "naive", "untruncated")),
        Column("saved %", saved, "{:.2f}", 100, result=True),
        Column("n-grams", "ngram_bits_per_character", "{:.4f}"),
        Column("never made %", "short_never_made", "{:.2f}", 100),
        Column("calls/byte", "calls_per_byte", "{:.2f}"),
        Column("tokens/byte", "tokens_per_byte", "{:.2f}"),
    ]
    counted = ", ".join(f"{row['ngram_characters'] / 1e6:.3g} million ({row['name']})" for row in rows.to_dicts())
    notes = [*notes, f"n-grams: of bytes, of the best order up to 7; characters counted: {counted}", *_behind(scores)]
    return tabulate("exact-bits", "Bits per character of held-out sentences", rows, columns, notes=notes)


def _behind(scores: pl.DataFrame) -> list[str]:
    """Which models are worse than n-grams on whole texts."""
    worse = pl.col("exact_bits_per_character") > pl.col("ngram_bits_per_character")
    names = scores.filter(worse, place="text")["name"]
    if names.is_empty():
        return []
    return [Caveat(f"worse than n-grams, so little was learned: {', '.join(names)}; each is one training")]


def bias_table(scores: pl.DataFrame, notes: Sequence[str]) -> Table:
    """How wrong naive is about the next byte, a row for each model and place of the cut."""
    columns = [
        Column("model", "name"),
        Column("cut", "place"),
        Column("prompts", "texts", "{:,}"),
        Column("KL", "kl", "{:.3f}"),
        Column("TV", "total_variation", "{:.3f}"),
        Column("other best %", "differs", "{:.1f}", 100, result=True),
        Column("undefined %", "undefined", "{:.1f}", 100),
        Column("bits, exact", "exact_next_bits", "{:.3f}"),
        Column("bits, naive", "naive_next_bits", "{:.3f}"),
        Column("missing", "missing", "{:.4f}"),
        Column("calls", "calls", "{:.1f}"),
    ]
    rows = scores.filter(pl.col("place").is_in(["text", "short text"]).not_())
    title = "The next byte after prompts cut at random characters"
    return tabulate("exact-bias", title, rows, columns, notes=[*notes, *_behind(scores)])


def examples_table(name: str, prompts: Sequence[Mapping[str, Any]]) -> Table:
    """Prompts that end inside a token: the most probable characters by both."""
    rows = []
    for example in prompts:
        tokens = "|".join(example["tokens"])
        end = tokens if len(tokens) <= _SHOWN_END else f"…{tokens[-_SHOWN_END:]}"
        best = (_listed(example[which]) for which in ("exact", "naive"))
        rows.append([end.replace("\n", "⏎"), _visible(example["true"]), *best, f"{example['kl']:.2f}"])
    header = ["end of the prompt, its tokens", "true", "exact", "naive", "KL"]
    return Table(f"exact-examples-{name}", f"{name}: prompts that end inside a token", header, rows, [])


def _listed(best: Sequence[Sequence[Any]]) -> str:
    return "  ".join(f"{_visible(character)} {probability:.2f}" for character, probability in best)


def _visible(character: str) -> str:
    return {" ": "␣", "\n": "⏎"}.get(character, character)


_MODELS = {"exact": "exact tokenized model", "trained": "trained GPT-2"}
_SERIES = {"truth": ("chain", GREY), "naive": ("naive", ACCENT), CORRECTED: ("corrected", SECOND)}
_PLACES = {"inside a token": ACCENT, "at the end of a token": SECOND}
_DEEPEST = 8
_ERRORS: dict[str, Any] = {"ecolor": INK, "error_kw": {"linewidth": 0.8}}
"""How bars show deviations."""


def exact_figures(stage: Stage, folder: Path) -> Iterator[Callable[[], None]]:
    """Drawings of every chain of the Markov experiments, of all evaluated models together, and of the loss of each
    trained one."""
    for name, scores in tables_of(stage, "exact.markov", "markov", "scores.parquet").items():
        for (seed,), of_chain in scores.group_by("seed", maintain_order=True):
            yield partial(draw_markov, of_chain, folder / "markov" / f"{name}-seed{seed}")
    if prompts := tables_of(stage, "exact.evaluated", "exact", "prompts.parquet"):
        yield partial(draw_bias, prompts, folder / "bias")
    for name, loss in tables_of(stage, "exact.models", "language_models", "loss.csv").items():
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
