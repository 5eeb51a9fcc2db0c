"""The results of the exact family for the page: tables, pictures, and facts about its models."""

from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tasks.report.tables.exact_tables import bias_table, bits_table, examples_table, markov_errors, markov_tables
from tasks.report.tables.table import Table
from tasks.runtime.stage import Stage, read_json


class ExactResults(NamedTuple):
    """What the page shows; everything may be empty."""

    experiments: list[dict[str, Any]]
    """of Markov chains: `name`, `errors`, `tables`, and the paths of its `pictures`"""
    tables: list[Table]
    """of all evaluated models"""
    examples: list[Table]
    bias: Path
    """the picture of the bias"""
    models: list[dict[str, Any]]
    """that were trained: `name`, `parameters`, `metrics`, and the path of its `loss`"""

    @property
    def main(self) -> list[Table]:
        """The tables of results.txt."""
        return [*(experiment["errors"] for experiment in self.experiments), *self.tables]

    @property
    def all(self) -> list[Table]:
        """The tables that are written as files. Examples are on the page alone: they quote corpora, which may not be
        passed on."""
        return [*self.main, *(table for experiment in self.experiments for table in experiment["tables"])]


def exact_results(stage: Stage) -> ExactResults:
    """Read the results of a preset."""
    figures = stage.reports("figures", "exact")
    evaluated = stage.parameters("exact.evaluated", dict[str, Any])
    tables, examples = [], []
    if evaluated:
        scores = pl.concat(
            [pl.read_parquet(stage.reports("exact", name, "scores.parquet")) for name in evaluated],
            how="diagonal_relaxed",
        )
        corpora = dict.fromkeys(scores["corpus"])
        facts = [read_json(stage.reports("corpora", f"{name}.json")) for name in corpora]
        notes = list(dict.fromkeys(note for of_corpus in facts for note in of_corpus["notes"]))
        tables = [bits_table(scores, notes), bias_table(scores, notes)]
        for name in evaluated:
            found = read_json(stage.reports("exact", name, "examples.json"))["examples"]
            if found:
                examples.append(examples_table(name, found))
    return ExactResults(
        [_experiment(stage, name, figures) for name in stage.parameters("exact.markov", dict[str, Any])],
        tables,
        examples,
        figures / "bias.svg",
        [
            {
                "name": name,
                "parameters": parameters,
                "metrics": read_json(stage.reports("language_models", name, "metrics.json")),
                "loss": figures / "language_models" / f"{name}.svg",
            }
            for name, parameters in stage.parameters("exact.models", dict[str, Any]).items()
        ],
    )


def _experiment(stage: Stage, name: str, figures: Path) -> dict[str, Any]:
    scores, summary = (
        pl.read_parquet(stage.reports("markov", name, f"{table}.parquet")) for table in ("scores", "summary")
    )
    return {
        "name": name,
        "errors": markov_errors(summary),
        "tables": markov_tables(scores),
        "pictures": [figures / "markov" / f"{name}-seed{seed}.svg" for seed in scores["seed"].unique().sort()],
    }
