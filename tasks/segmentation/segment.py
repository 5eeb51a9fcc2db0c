"""Stage `segment`: training and test sentences of every split segmented by every configuration of every method.

Lambda, thresholds and the weight of boundary scores (nu) are tuned on validation sentences first. Parquet, one row a
sentence; `boundaries` are the offsets at which its second and later segments begin.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.runtime.stage import Stage, run, write_json
from tasks.runtime.tables import write_table
from tasks.segmentation.methods import (
    CombinedMethod,
    Configuration,
    Entropies,
    Methods,
    SegmentedCorpus,
    Signals,
    configurations,
    read_methods,
)
from tasks.segmentation.splits import TRAININGS, CorpusSplits, Splitting, Training, read_splits
from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_folder
from tokenlab.entropy.stored import read_entropies
from tokenlab.metrics.segmentation import score_segmentation
from tokenlab.ngrams.table import read_statistics
from tokenlab.text.documents import Document, words

_SCHEMA = pa.schema(
    [
        pa.field("seed", pa.int32()),  # null: the full training text, which all seeds share
        pa.field("split", pa.string()),
        pa.field("configuration", pa.string()),
        pa.field("sentence", pa.int32()),
        pa.field("boundaries", pa.list_(pa.int32())),
    ]
)


class Trial(NamedTuple):
    """Word F1 (0..1) on the validation sentences with one value of a grid and the signals of one seed."""

    training: Training
    method: str
    parameter: str
    value: float
    seed: int
    f1: float


@dataclass(frozen=True, eq=False)
class CorpusSignals:
    """The signals of a corpus."""

    entropies: Entropies | None
    subset: dict[int, Signals]
    """Of the training sentences of each seed."""
    full: Signals
    """Of the full training text."""


def segment(stage: Stage) -> None:
    """Write the segments of both trainings, the tuned values and the trials that led to them."""
    splitting, tables = stage.parameters("segmentation", Splitting), read_methods(stage)
    has_entropy = stage.parameters(f"segmentation.corpora.{stage.variant}", SegmentedCorpus).entropy
    corpus = read_splits(stage.data("corpora", stage.variant), splitting)
    signals_of = stage.data("signals", stage.variant)
    entropies = read_scored(signals_of / "entropy", corpus.documents) if has_entropy else None
    signals = read_signals(signals_of / "ngrams", stage.models("word_models", stage.variant), corpus, entropies)

    tuned, trials = {}, []
    for training, methods in tables.items():
        tuned[training], of_training = tune(training, methods, corpus, signals)
        trials += of_training
    subset, full = (configurations(tables[training], tuned[training]) for training in TRAININGS)

    with atomic_folder(stage.data("segments", stage.variant)) as folder:
        _write_batches(folder / "subset.parquet", _by_subsets(subset, corpus, signals))
        _write_batches(folder / "full.parquet", _by_full(full, corpus, signals))
    reports, weights_and_others = stage.reports("tuning", stage.variant), trial_tables(trials)
    write_json(reports / "tuned.json", tuned)
    for name, table in zip(("lambda", "entropy"), weights_and_others, strict=True):
        write_table(reports / f"{name}.csv", table)


def _by_subsets(rows: list[Configuration], corpus: CorpusSplits, signals: CorpusSignals) -> Iterator[pa.RecordBatch]:
    """Training and test sentences of each seed, segmented with the signals of its training sentences."""
    for seed, split in corpus.of_seed.items():
        for row in rows:
            for name, indices in (("train", split.train), ("test", split.test)):
                boundaries = place_boundaries(row, corpus, indices, signals, signals.subset[seed])
                yield _batch(seed, name, row.name, indices, boundaries)


def _by_full(rows: list[Configuration], corpus: CorpusSplits, signals: CorpusSignals) -> Iterator[pa.RecordBatch]:
    """The full training text, and the test sentences of each seed, segmented with the signals of the former."""
    for row in rows:
        boundaries = place_boundaries(row, corpus, corpus.full, signals, signals.full)
        yield _batch(None, "train", row.name, corpus.full, boundaries)
        for seed, split in corpus.of_seed.items():
            boundaries = place_boundaries(row, corpus, split.test, signals, signals.full)
            yield _batch(seed, "test", row.name, split.test, boundaries)


def _batch(
    seed: int | None, split: str, configuration: str, indices: Iterable[int], boundaries: Iterable[list[int]]
) -> pa.RecordBatch:
    offsets = pa.array(list(boundaries), pa.list_(pa.int32()))
    columns = {
        "seed": pa.array([seed] * len(offsets), pa.int32()),
        "split": pa.array([split] * len(offsets), pa.string()),
        "configuration": pa.array([configuration] * len(offsets), pa.string()),
        "sentence": pa.array([int(index) for index in indices], pa.int32()),
        "boundaries": offsets,
    }
    return pa.RecordBatch.from_pydict(columns, schema=_SCHEMA)


def _write_batches(path: Path, batches: Iterator[pa.RecordBatch]) -> None:
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)


def read_signals(ngrams: Path, word_models: Path, corpus: CorpusSplits, entropies: Entropies | None) -> CorpusSignals:
    """Read the n-gram statistics of every training split, and compute the mean entropies of these splits.

    word_models: a folder with those of all splits, which methods by words read themselves.
    """

    def of_split(name: str, indices: Iterable[int]) -> Signals:
        statistics = read_statistics(ngrams / f"{name}.parquet")
        return Signals(name, statistics, mean_entropy(entropies, indices), word_models)

    found = {name: of_split(name, indices) for name, indices in corpus.trainings.items()}
    return CorpusSignals(entropies, {seed: found[f"subset-{seed}"] for seed in corpus.of_seed}, found["full"])


def read_scored(folder: Path, documents: list[Document]) -> Entropies:
    """The predictive entropies of the sentences of a corpus. Raises InputError where they are those of others."""
    scored = list(read_entropies(folder))
    if [id for id, _ in scored] != [document.id for document in documents]:
        raise InputError(f"{folder}: entropies of other sentences than those of {folder.parent.name}; score it again")
    return [values for _, values in scored]


def mean_entropy(entropies: Entropies | None, indices: Iterable[int]) -> float | None:
    """The mean over all characters of these sentences that have a value, in nats."""
    if entropies is None:
        return None
    return float(np.nanmean(np.concatenate([entropies[index] for index in indices], dtype=np.float64)))


def place_boundaries(
    configuration: Configuration, corpus: CorpusSplits, indices: Iterable[int], signals: CorpusSignals, split: Signals
) -> Iterator[list[int]]:
    """The boundaries inside these sentences by one configuration, with the signals of one training split."""
    indices = list(indices)
    texts = [document.text for document in corpus.select(indices)]
    entropies = None if signals.entropies is None else [signals.entropies[index] for index in indices]
    return configuration.segment(texts, entropies, split)


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
    for name in sorted(methods, key=lambda name: isinstance(methods[name], CombinedMethod)):
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


if __name__ == "__main__":
    run(segment)
