"""Stage `segment`: every training and test part cut by every method; lambda, thresholds and the weight of the evidence
chosen on validation sentences."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.cutting import Entropies, Signals, cut, mean_entropy, read_entropies_of
from tasks.entropy_figures import draw_choices
from tasks.parts import Parts, parts
from tasks.readings import Chosen, CombinedReading, EntropyReading, Method, Reading, choice, methods, one_row, scopes
from tasks.segmentation_figures import draw_curves
from tasks.stage import Stage, run, write_json
from tokenlab.files import atomic_file, atomic_folder
from tokenlab.metrics import score_segmentation
from tokenlab.ngrams import read_statistics
from tokenlab.text.documents import words

_SCHEMA = pa.schema(
    [
        pa.field("seed", pa.int32()),  # null: the text that all seeds share
        pa.field("part", pa.string()),
        pa.field("method", pa.string()),
        pa.field("sentence", pa.int32()),
        pa.field("boundaries", pa.list_(pa.int32())),
    ]
)


class _Point(NamedTuple):
    """Word F1 on the validation sentences with one value that may be chosen."""

    scope: str
    reading: str
    parameter: str
    value: float
    seed: int
    f1: float


class _Work(NamedTuple):
    """A corpus, its entropies (None without a language model), and the signals of each training part."""

    corpus: Parts
    entropies: Entropies | None
    of_seed: dict[int, Signals]
    of_rest: Signals

    def cut(self, numbers: Iterable[int], method: Method, signals: Signals) -> Iterator[list[int]]:
        """The boundaries of a method in these sentences."""
        return cut(self.corpus, numbers, method, signals, self.entropies)

    def signals(self, scope: str, seed: int) -> Signals:
        """Those that the test part of a seed is cut with."""
        return self.of_seed[seed] if scope == "draw" else self.of_rest


def segment(stage: Stage) -> None:
    """Write the segments of both scopes, the curves over what may be chosen and the choices made from them."""
    readings = scopes(stage)
    work = _read(stage)
    curves: list[_Point] = []
    chosen = {scope: _choose(scope, of_scope, work, curves) for scope, of_scope in readings.items()}
    with atomic_folder(stage.data("segments", stage.variant)) as folder:
        for scope, of_scope in readings.items():
            rows = methods(of_scope, chosen[scope])
            _write(folder / f"{scope}.parquet", _drawn(work, rows) if scope == "draw" else _rest(work, rows))
    _write_curves(stage, curves)
    write_json(stage.reports("lambda", stage.variant, "chosen.json"), chosen)


def _read(stage: Stage) -> _Work:
    corpus = parts(stage)
    entropies = read_entropies_of(stage, corpus)
    tables = stage.data("statistics", stage.variant)
    of_seed = {
        seed: Signals(read_statistics(tables / f"draw-{seed}.parquet"), mean_entropy(entropies, split.train.tolist()))
        for seed, split in corpus.splits.items()
    }
    of_rest = Signals(read_statistics(tables / "rest.parquet"), mean_entropy(entropies, corpus.rest))
    return _Work(corpus, entropies, of_seed, of_rest)


def _choose(scope: str, readings: dict[str, Reading], work: _Work, curves: list[_Point]) -> Chosen:
    """The value of each choosing reading with the best mean F1 (the smaller of equals), or what it takes otherwise.

    Adds the points that say so to the curves.
    """
    chosen: Chosen = {}
    for name in sorted(readings, key=lambda name: isinstance(readings[name], CombinedReading)):  # they take over lambda
        options = choice(readings[name])
        if options is None:
            continue
        found: dict[float, list[float]] = {}
        for value in options.values:
            points = list(_points(scope, name, readings, chosen | {name: value}, work))
            found[value] = [f1 for _, f1 in points]
            curves += [_Point(scope, name, options.parameter, value, seed, f1) for seed, f1 in points]
        means = {value: np.mean(f1 or [0.0]) for value, f1 in found.items()}
        measured = max(means.values()) > 0
        chosen[name] = max(means, key=lambda value: (means[value], -value)) if measured else options.otherwise
    return chosen


def _points(
    scope: str, name: str, readings: dict[str, Reading], chosen: Chosen, work: _Work
) -> Iterator[tuple[int, float]]:
    """Seed, and word F1 on the validation sentences with its signals; nothing where no gold words are known."""
    corpus = work.corpus
    validation = corpus.select(corpus.validation)
    if not validation or validation[0].boundaries is None:
        return
    gold = [words(document.text, document.boundaries or ()) for document in validation]
    method = one_row(name, readings, chosen)
    seeds = list(corpus.splits)
    # Boundaries by entropy alone are the same with every seed.
    for seed in seeds[:1] if isinstance(readings[name], EntropyReading) else seeds:
        boundaries = work.cut(corpus.validation, method, work.signals(scope, seed))
        predicted = [words(d.text, cuts) for d, cuts in zip(validation, boundaries, strict=True)]
        yield seed, score_segmentation(gold, predicted).words.f1 or 0.0


def _write_curves(stage: Stage, curves: list[_Point]) -> None:
    """The curves over lambda, and those over what belongs to predictive entropy, as tables and pictures."""
    texts = dict.fromkeys(("scope", "reading", "parameter"), pl.String)
    schema = {**texts, "value": pl.Float64, "seed": pl.Int64, "f1": pl.Float64}
    table = pl.DataFrame(curves, schema=schema, orient="row").sort("scope", "seed", maintain_order=True)
    weights = table.filter(pl.col("parameter") == "lambda").drop("parameter").rename({"value": "lambda"})
    others = table.filter(pl.col("parameter") != "lambda")
    for name, part in (("curves", weights), ("choices", others)):
        with atomic_file(stage.reports("lambda", stage.variant, f"{name}.csv")) as path:
            part.write_csv(path)
    draw_curves(weights, stage.reports("lambda", stage.variant, "curves"))
    draw_choices(others, stage.reports("lambda", stage.variant, "choices"))


def _drawn(work: _Work, rows: list[Method]) -> Iterator[pa.RecordBatch]:
    for seed, split in work.corpus.splits.items():
        for method in rows:
            for part, numbers in (("train", split.train), ("test", split.test)):
                yield _batch(seed, part, method.name, numbers, work.cut(numbers, method, work.of_seed[seed]))


def _rest(work: _Work, rows: list[Method]) -> Iterator[pa.RecordBatch]:
    corpus = work.corpus
    for method in rows:
        yield _batch(None, "train", method.name, corpus.rest, work.cut(corpus.rest, method, work.of_rest))
        for seed, split in corpus.splits.items():
            yield _batch(seed, "test", method.name, split.test, work.cut(split.test, method, work.of_rest))


def _batch(
    seed: int | None, part: str, method: str, numbers: Iterable[int], boundaries: Iterable[list[int]]
) -> pa.RecordBatch:
    cuts = pa.array(list(boundaries), pa.list_(pa.int32()))
    same = {"seed": pa.array([seed] * len(cuts), pa.int32())}
    same |= {name: pa.array([value] * len(cuts), pa.string()) for name, value in (("part", part), ("method", method))}
    columns = {**same, "sentence": pa.array([int(number) for number in numbers], pa.int32()), "boundaries": cuts}
    return pa.RecordBatch.from_pydict(columns, schema=_SCHEMA)


def _write(path: Path, batches: Iterator[pa.RecordBatch]) -> None:
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)


if __name__ == "__main__":
    run(segment)
