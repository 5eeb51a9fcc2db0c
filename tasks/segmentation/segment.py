"""Stage `segment`: training and test sentences of every split segmented by every configuration of every method.

Lambda, thresholds and the weight of boundary scores (nu) are tuned on validation sentences first. Parquet, one row a
sentence; `boundaries` are the offsets at which its second and later segments begin.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.runtime.stage import Stage, run, write_json
from tasks.segmentation.methods.interface import Configuration
from tasks.segmentation.methods.registry import Methods, SegmentedCorpus, configurations, read_methods
from tasks.segmentation.methods.signals import CorpusSignals, place_boundaries, read_scored, read_signals
from tasks.segmentation.methods.tuning import Trial, trial_tables, tune
from tasks.segmentation.splits import TRAININGS, CorpusSplits, Splitting, Training, read_splits
from tokenlab.core.files import atomic_file, atomic_folder

_SCHEMA = pa.schema(
    [
        pa.field("seed", pa.int32()),  # null: the full training text, which all seeds share
        pa.field("split", pa.string()),
        pa.field("configuration", pa.string()),
        pa.field("sentence", pa.int32()),
        pa.field("boundaries", pa.list_(pa.int32())),
    ]
)


class Settings(NamedTuple):
    """The parameters of the stage."""

    splitting: Splitting
    has_entropy: bool
    tables: dict[Training, Methods]


class Inputs(NamedTuple):
    """The folders that the stage reads."""

    documents: Path
    ngrams: Path
    entropy: Path
    word_models: Path


def segment(stage: Stage) -> None:
    """Write the segments of both trainings, the tuned values and the trials that led to them."""
    settings = Settings(
        splitting=stage.parameters("segmentation", Splitting),
        has_entropy=stage.parameters(f"segmentation.corpora.{stage.variant}", SegmentedCorpus).entropy,
        tables=read_methods(stage),
    )
    inputs = Inputs(
        documents=stage.data("corpora", stage.variant),
        ngrams=stage.data("signals", stage.variant, "ngrams"),
        entropy=stage.data("signals", stage.variant, "entropy"),
        word_models=stage.models("word_models", stage.variant),
    )
    corpus = read_splits(inputs.documents, settings.splitting)
    entropies = read_scored(inputs.entropy, corpus.documents) if settings.has_entropy else None
    signals = read_signals(inputs.ngrams, inputs.word_models, corpus, entropies)

    tuned, trials = {}, []
    for training, methods in settings.tables.items():
        tuned[training], of_training = tune(training, methods, corpus, signals)
        trials += of_training
    subset, full = (configurations(settings.tables[training], tuned[training]) for training in TRAININGS)

    with atomic_folder(stage.data("segments", stage.variant)) as folder:
        _write_batches(folder / "subset.parquet", _by_subsets(subset, corpus, signals))
        _write_batches(folder / "full.parquet", _by_full(full, corpus, signals))
    reports = stage.reports("tuning", stage.variant)
    write_json(reports / "tuned.json", tuned)
    _write_trials(reports, trials)


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


def _write_trials(folder: Path, trials: list[Trial]) -> None:
    weights, others = trial_tables(trials)
    for name, table in (("lambda", weights), ("entropy", others)):
        with atomic_file(folder / f"{name}.csv") as path:
            table.write_csv(path)


if __name__ == "__main__":
    run(segment)
