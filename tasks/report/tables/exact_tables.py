"""Tables of exact character probabilities: the Markov experiments, bits per character, and the bias of prompts."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tasks.report.tables.table import Table

CORRECTED = "incremental"
"""The estimator of the columns `corrected`; all that are exact agree."""

_ESTIMATORS = {"naive": "naive", "mpc": "MPC", "bpc": "BPC", "incremental": "incremental"}
_FIGURES = {"mpe": "MPE (figure 3)", "bpe": "BPE (figure 7)"}
_SHOWN_END = 30
"""Characters of a prompt that tables show, its last ones."""


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
        cells = []
        for (seed, context), of_context in rows.group_by("seed", "context", maintain_order=True):
            label = f"{context}, chain {seed}" if several else str(context)
            values = [
                _probability(of_context.filter(model=model, estimator=estimator))
                for model in ("exact", "trained")
                for estimator in ("naive", CORRECTED)
            ]
            cells.append([label, f"{of_context['truth'][0]:.3f}", *values])
        header = ["context", f"P({first})"]
        header += [f"{which}, {model} model" for model in ("exact", "trained") for which in ("naive", "corrected")]
        title = (
            f"{experiment}, {vocabulary_name(str(vocabulary))}: probability of {first} by the chain and by its "
            f"tokenized models; mean ± sd of {prompts} prompts"
        )
        tables.append(Table(f"markov-{experiment}-{vocabulary}", title, header, cells, []))
    return tables


def _probability(rows: pl.DataFrame) -> str:
    row = rows.row(0, named=True)
    if row["probability"] is None:
        return "undefined"
    undefined = f" ({100 * row['undefined']:.0f} % undefined)" if row["undefined"] else ""
    return f"{row['probability']:.3f} ± {row['sd']:.3f}{undefined}"


def markov_errors(summary: pl.DataFrame) -> Table:
    """Absolute errors of every estimator, and its model calls; means over the chains."""
    key = ["vocabulary", "model", "estimator"]
    columns = ["mean_error", "mean_error_biased", "undefined", "calls"]
    means = summary.group_by(key, maintain_order=True).agg(pl.col(*columns).mean(), pl.col("max_error").max())
    rows = [
        [
            f"{_ESTIMATORS.get(row['estimator'], row['estimator'])}, {row['model']} model",
            vocabulary_name(row["vocabulary"]),
            *(_error(row[name]) for name in ("mean_error", "max_error", "mean_error_biased")),
            f"{100 * row['undefined']:.1f}",
            f"{row['calls']:.1f}",
        ]
        for row in means.iter_rows(named=True)
    ]
    experiment, chains = summary["experiment"][0], summary["seed"].n_unique()
    of_chains = "1 chain" if chains == 1 else f"means over {chains} chains"
    title = f"{experiment}: absolute error of the probability of the next character, {of_chains}"
    header = ["estimator", "vocabulary", "mean", "largest", "mean, biased", "undefined %", "calls"]
    return Table(f"markov-{experiment}-errors", title, header, rows, [])


def _error(value: float | None) -> str:
    if value is None:
        return ""
    return "< 1e-12" if value < 1e-12 else f"{value:.4f}" if value >= 5e-5 else f"{value:.0e}"


def bits_table(scores: pl.DataFrame, notes: Sequence[str]) -> Table:
    """Bits per character of held-out sentences, a row for each model."""
    rows = []
    for (name,), of_model in scores.group_by("name", maintain_order=True):
        text = of_model.filter(place="text").row(0, named=True)
        short = of_model.filter(place="short text").row(0, named=True)
        exact, naive = text["exact_bits_per_character"], text["naive_bits_per_character"]
        rows.append(
            [
                str(name),
                text["corpus"],
                f"{text['texts']:,}",
                f"{text['characters'] / text['tokens']:.2f}",
                *(f"{value:.4f}" for value in (exact, naive, text["untruncated_bits_per_character"])),
                f"{100 * (naive - exact) / naive:.2f}",
                f"{100 * short['never_made']:.2f}",
                f"{text['calls_per_byte']:.2f}",
                f"{text['tokens_per_byte']:.2f}",
            ]
        )
    header = ["model", "corpus", "sentences", "characters/token", "exact", "naive", "untruncated"]
    header += ["saved %", "never made %", "calls/byte", "tokens/byte"]
    return Table("exact-bits", "Bits per character of held-out sentences", header, rows, list(notes))


def bias_table(scores: pl.DataFrame, notes: Sequence[str]) -> Table:
    """How wrong naive is about the next byte, a row for each model and place of the cut."""
    rows = [
        [
            row["name"],
            row["place"],
            f"{row['texts']:,}",
            *(_number(row[name], 3) for name in ("kl", "total_variation")),
            *(_percent(row[name]) for name in ("differs", "undefined")),
            *(_number(row[name], 3) for name in ("exact_next_bits", "naive_next_bits")),
            _number(row["missing"], 4),
            _number(row["calls"], 1),
        ]
        for row in scores.filter(pl.col("place").is_in(["text", "short text"]).not_()).iter_rows(named=True)
    ]
    header = ["model", "cut", "prompts", "KL", "TV", "other best %", "undefined %"]
    header += ["bits, exact", "bits, naive", "missing", "calls"]
    return Table("exact-bias", "The next byte after prompts cut at random characters", header, rows, list(notes))


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def examples_table(name: str, examples: Sequence[Mapping[str, Any]]) -> Table:
    """Prompts that end inside a token: the most probable characters by both."""
    rows = []
    for example in examples:
        tokens = "|".join(example["tokens"])
        shown = tokens if len(tokens) <= _SHOWN_END else f"…{tokens[-_SHOWN_END:]}"
        rows.append(
            [
                shown.replace("\n", "⏎"),
                _shown(example["true"]),
                *(_listed(example[which]) for which in ("exact", "naive")),
                f"{example['kl']:.2f}",
            ]
        )
    header = ["end of the prompt, its tokens", "true", "exact", "naive", "KL"]
    return Table(f"exact-examples-{name}", f"{name}: prompts that end inside a token", header, rows, [])


def _listed(best: Sequence[Sequence[Any]]) -> str:
    return "  ".join(f"{_shown(character)} {probability:.2f}" for character, probability in best)


def _shown(character: str) -> str:
    return {" ": "␣", "\n": "⏎"}.get(character, character)
