"""Stage `statistics`: n-gram statistics of every training part, and the distributions of PMI and entropy (figure 2)."""

from typing import Literal

import numpy as np
import polars as pl

from tasks.parts import parts
from tasks.segmentation_figures import draw_distributions
from tasks.stage import Parameters, Stage, run
from tokenlab.files import atomic_file, atomic_folder
from tokenlab.ngrams import NgramStatistics, StatisticsOptions, ngram_statistics, write_statistics

_BINS = 60


class Statistics(Parameters):
    """As tokenlab.ngrams.StatisticsOptions."""

    n_max: int
    count_tokens: Literal["ngram", "unigram", "bigram"]
    edge: Literal["skip", "symbol"]
    min_frequency: int
    log_base: Literal["e", "2"]

    def options(self) -> StatisticsOptions:
        """The options as the library takes them, checked."""
        return StatisticsOptions(**self.model_dump())


def count(stage: Stage) -> None:
    """One Parquet table a seed, and one of all the rest."""
    options = stage.parameters("segmentation.statistics", Statistics).options()
    corpus = parts(stage)
    rest = [document.text for document in corpus.select(corpus.rest)]
    with atomic_folder(stage.data("statistics", stage.variant)) as folder:
        for position, (seed, split) in enumerate(corpus.splits.items()):
            texts = [document.text for document in corpus.select(split.train)]
            statistics = ngram_statistics(texts, options)
            write_statistics(statistics, folder / f"draw-{seed}.parquet")
            if position == 0:
                _write_distributions(stage, statistics)
        write_statistics(ngram_statistics(rest, options), folder / "rest.parquet")


def _write_distributions(stage: Stage, statistics: NgramStatistics) -> None:
    """Histograms of the PMI of adjacent characters and of the entropies of all n-grams, as tables and as a picture."""
    pmi = statistics.min_pmi[statistics.rows(2)] if statistics.options.n_max > 1 else np.empty(0)
    sides = {"left": statistics.left_entropy, "right": statistics.right_entropy}
    tables = {"pmi": _histogram({"pmi": pmi}), "entropy": _histogram(sides)}
    folder = stage.reports("statistics", stage.variant)
    for name, table in tables.items():
        with atomic_file(folder / f"{name}.csv") as path:
            table.write_csv(path)
    unit = "nats" if statistics.options.log_base == "e" else "bits"
    draw_distributions(tables["pmi"], tables["entropy"], unit, folder / "distributions")


def _histogram(columns: dict[str, np.ndarray]) -> pl.DataFrame:
    """Columns `from`, `to` (edges of the bins) and one count for each of `columns`, over their common range."""
    values = np.concatenate(list(columns.values()))
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    counts = {name: np.histogram(column, edges)[0] for name, column in columns.items()}
    return pl.DataFrame({"from": edges[:-1].round(6), "to": edges[1:].round(6), **counts})


if __name__ == "__main__":
    run(count)
