"""Stage `ngram_statistics`: n-gram statistics of every training split, and the distributions of PMI and entropy (figure
2)."""

import numpy as np
import polars as pl

from tasks.runtime.stage import Stage, run, write_json
from tasks.runtime.tables import write_table
from tasks.segmentation.splits import Splitting, read_splits
from tokenlab.core.files import atomic_folder
from tokenlab.ngrams.counting import NgramStatistics, ngram_statistics
from tokenlab.ngrams.options import StatisticsOptions
from tokenlab.ngrams.table import write_statistics

_BINS = 60


def count(stage: Stage) -> None:
    """Write a table for each seed and one for the full training text, and histograms of the first one."""
    options = stage.parameters("segmentation.statistics", StatisticsOptions)
    splitting = stage.parameters("segmentation", Splitting)
    corpus = read_splits(stage.data("corpora", stage.variant), splitting)
    tables: dict[str, pl.DataFrame] = {}
    with atomic_folder(stage.data("signals", stage.variant, "ngrams")) as folder:
        for name, indices in corpus.trainings.items():
            statistics = ngram_statistics([document.text for document in corpus.select(indices)], options)
            write_statistics(statistics, folder / f"{name}.parquet")
            tables = tables or distributions(statistics)
    reports = stage.reports("ngram_statistics", stage.variant)
    for name, table in tables.items():
        write_table(reports / f"{name}.csv", table)
    write_json(reports / "unit.json", {"unit": "nats" if options.log_base == "e" else "bits"})


def distributions(statistics: NgramStatistics) -> dict[str, pl.DataFrame]:
    """Histograms over distinct n-grams: `pmi`, of adjacent characters; `entropy`, left and right, of all n-grams."""
    pmi = statistics.min_pmi[statistics.rows(2)] if statistics.options.n_max > 1 else np.empty(0)
    sides = {"left": statistics.left_entropy, "right": statistics.right_entropy}
    return {"pmi": _histogram({"pmi": pmi}), "entropy": _histogram(sides)}


def _histogram(columns: dict[str, np.ndarray]) -> pl.DataFrame:
    """Columns `from` and `to` (edges of the bins), and a count for each of `columns` over their common range."""
    values = np.concatenate(list(columns.values()))
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    counts = {name: np.histogram(column, edges)[0] for name, column in columns.items()}
    return pl.DataFrame({"from": edges[:-1].round(6), "to": edges[1:].round(6), **counts})


if __name__ == "__main__":
    run(count)
