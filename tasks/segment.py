"""Stage `segment`: every training and test part cut by every method; lambda chosen on validation sentences."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.figures import draw_curves
from tasks.parts import Parts, parts
from tasks.readings import Method, Reading, methods, options_of, scopes
from tasks.stage import Stage, run, write_json
from tokenlab.files import atomic_file, atomic_folder
from tokenlab.metrics import score_segmentation
from tokenlab.ngrams import NgramStatistics, read_statistics
from tokenlab.segment import Segmenter
from tokenlab.text.documents import Document, words

_Point = tuple[str, str, float, int, float]
"""Scope, reading, lambda, seed, word F1."""
_CURVES = {"scope": pl.String, "reading": pl.String, "lambda": pl.Float64, "seed": pl.Int64, "f1": pl.Float64}
_SCHEMA = pa.schema(
    [
        pa.field("seed", pa.int32()),  # null: the text that all seeds share
        pa.field("part", pa.string()),
        pa.field("method", pa.string()),
        pa.field("sentence", pa.int32()),
        pa.field("boundaries", pa.list_(pa.int32())),
    ]
)


def segment(stage: Stage) -> None:
    """Write the segments of both scopes, the curves over lambda and the choices made from them."""
    readings = scopes(stage)
    corpus = parts(stage)
    tables = stage.data("statistics", stage.variant)
    drawn = {seed: read_statistics(tables / f"draw-{seed}.parquet") for seed in corpus.splits}
    shared = read_statistics(tables / "rest.parquet")
    curves = [
        *_curves("draw", readings["draw"], corpus, drawn),
        *_curves("rest", readings["rest"], corpus, dict.fromkeys(corpus.splits, shared)),
    ]
    chosen = {scope: _best(scope, of_scope, curves) for scope, of_scope in readings.items()}
    with atomic_folder(stage.data("segments", stage.variant)) as folder:
        _write(folder / "draw.parquet", _drawn(corpus, drawn, methods(readings["draw"], chosen["draw"])))
        _write(folder / "rest.parquet", _rest(corpus, shared, methods(readings["rest"], chosen["rest"])))
    table = pl.DataFrame(curves, schema=_CURVES, orient="row")
    with atomic_file(stage.reports("lambda", stage.variant, "curves.csv")) as path:
        table.write_csv(path)
    draw_curves(table, stage.reports("lambda", stage.variant, "curves"))
    write_json(stage.reports("lambda", stage.variant, "chosen.json"), chosen)


def segments_of(segmenter: Segmenter, documents: Iterable[Document]) -> Iterator[list[int]]:
    """The boundaries that a segmenter puts into each document: where segments begin, the first left out."""
    for batch in segmenter.segment(document.text for document in documents):
        for spans in batch.spans():
            yield [start for start, _ in spans[1:]]


def _curves(
    scope: str, readings: dict[str, Reading], corpus: Parts, statistics: dict[int, NgramStatistics]
) -> Iterator[_Point]:
    """Word F1 on the validation sentences with the statistics of each seed, for every lambda that may be chosen."""
    validation = corpus.select(corpus.validation)
    if not validation or validation[0].boundaries is None:
        return
    gold = [words(document.text, document.boundaries or ()) for document in validation]
    for seed in corpus.splits:
        for name, reading in readings.items():
            for weight in reading.candidates:
                cut = segments_of(Segmenter(statistics[seed], options_of(reading, weight)), validation)
                predicted = [words(d.text, boundaries) for d, boundaries in zip(validation, cut, strict=True)]
                yield scope, name, weight, seed, score_segmentation(gold, predicted).words.f1 or 0.0


def _best(scope: str, readings: dict[str, Reading], curves: list[_Point]) -> dict[str, float]:
    """The lambda of each choosing reading with the best mean F1 (the smaller of equals), else its first weight."""
    best = {}
    for name, reading in readings.items():
        means = {
            weight: np.mean([f1 for s, r, w, _, f1 in curves if (s, r, w) == (scope, name, weight)] or [0.0])
            for weight in reading.candidates
        }
        if means:
            measured = max(means.values()) > 0
            best[name] = max(means, key=lambda weight: (means[weight], -weight)) if measured else reading.weights[0]
    return best


def _drawn(corpus: Parts, statistics: dict[int, NgramStatistics], rows: list[Method]) -> Iterator[pa.RecordBatch]:
    for seed, split in corpus.splits.items():
        selected = {"train": (split.train, corpus.select(split.train)), "test": (split.test, corpus.select(split.test))}
        for method in rows:
            segmenter = Segmenter(statistics[seed], method.options)
            for part, (numbers, documents) in selected.items():
                yield _batch(seed, part, method.name, numbers, segments_of(segmenter, documents))


def _rest(corpus: Parts, statistics: NgramStatistics, rows: list[Method]) -> Iterator[pa.RecordBatch]:
    for method in rows:
        segmenter = Segmenter(statistics, method.options)
        training = segments_of(segmenter, corpus.select(corpus.rest))
        yield _batch(None, "train", method.name, corpus.rest, training)
        for seed, split in corpus.splits.items():
            yield _batch(seed, "test", method.name, split.test, segments_of(segmenter, corpus.select(split.test)))


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
