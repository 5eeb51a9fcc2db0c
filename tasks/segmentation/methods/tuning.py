"""Tuning of methods: the value of a grid with the best mean word F1 on validation sentences."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from tasks.segmentation.methods.interface import Configuration
from tasks.segmentation.methods.registry import Methods
from tasks.segmentation.methods.signals import CorpusSignals, place_boundaries
from tasks.segmentation.splits import TRAININGS, CorpusSplits, Training
from tokenlab.metrics.segmentation import score_segmentation
from tokenlab.text.documents import words


class Trial(NamedTuple):
    """Word F1 (0..1) on the validation sentences with one value of a grid and the signals of one seed."""

    training: Training
    method: str
    parameter: str
    value: float
    seed: int
    f1: float


def tune(
    training: Training, methods: Methods, corpus: CorpusSplits, signals: CorpusSignals
) -> tuple[dict[str, float | None], list[Trial]]:
    """The tuned value of each method with a grid, and all trials.

    The value is the one with the best mean F1 over the seeds, the smaller of equal ones; where no gold words are known,
    it is the method's default.
    """
    tuned: dict[str, float | None] = {}
    trials: list[Trial] = []
    # Methods that use the tuned value of another come last.
    for name in sorted(methods, key=lambda name: methods[name].based_on is not None):
        tuning = methods[name].tuning
        if tuning is None:
            continue
        means = {}
        for value in tuning.grid:
            (configuration,) = methods[name].configurations(name, methods, tuned | {name: value})
            per_seed = methods[name].needs_statistics
            found = list(_validation_f1(training, configuration, corpus, signals, per_seed))
            trials += [Trial(training, name, tuning.parameter, value, seed, f1) for seed, f1 in found]
            means[value] = np.mean([f1 for _, f1 in found] or [0.0])
        best = max(means, key=lambda value: (means[value], -value))
        tuned[name] = best if means[best] > 0 else tuning.default
    return tuned, trials


def trial_tables(trials: Iterable[Trial]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The trials of lambda (columns training, method, lambda, seed, f1), and those of thresholds and nu (columns
    training, method, parameter, value, seed, f1)."""
    texts = dict.fromkeys(("training", "method", "parameter"), pl.String)
    schema = {**texts, "value": pl.Float64, "seed": pl.Int64, "f1": pl.Float64}
    ordered = sorted(trials, key=lambda trial: (TRAININGS.index(trial.training), trial.seed))
    table = pl.DataFrame(ordered, schema=schema, orient="row")
    weights = table.filter(pl.col("parameter") == "lambda").drop("parameter").rename({"value": "lambda"})
    return weights, table.filter(pl.col("parameter") != "lambda")


def _validation_f1(
    training: Training, configuration: Configuration, corpus: CorpusSplits, signals: CorpusSignals, per_seed: bool
) -> Iterator[tuple[int, float]]:
    """Seed, and word F1 on the validation sentences with its signals; nothing where no gold words are known."""
    validation = corpus.select(corpus.validation)
    if not validation or validation[0].boundaries is None:
        return
    gold = [words(document.text, document.boundaries or ()) for document in validation]
    seeds = list(corpus.of_seed)
    for seed in seeds if per_seed else seeds[:1]:  # By entropy alone, boundaries are the same for every seed.
        of_split = signals.subset[seed] if training == "subset" else signals.full
        boundaries = place_boundaries(configuration, corpus, corpus.validation, signals, of_split)
        predicted = [words(document.text, cuts) for document, cuts in zip(validation, boundaries, strict=True)]
        yield seed, score_segmentation(gold, predicted).words.f1 or 0.0
