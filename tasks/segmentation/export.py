"""Stage `export`: the methods of the full training text as plain tokenizers, and how well each tokenizer agrees with
its method on the test sentences of every seed.

A method that maximises a sum of utilities gives a unigram tokenizer its own scores. The words of every other method,
and those that BPE is trained on, are read from the segments that the stage `segment` wrote.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import accumulate, islice
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from tokenizers import Tokenizer

from tasks.runtime.pool import pooled
from tasks.runtime.stage import Stage, read_json, run, write_json
from tasks.runtime.tables import nested, write_table
from tasks.segmentation.methods import Configuration, configurations, read_methods
from tasks.segmentation.splits import CorpusSplits, Splitting, read_splits, training_size
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import atomic_folder
from tokenlab.metrics.words import word_spans
from tokenlab.ngrams.counting import NgramStatistics
from tokenlab.ngrams.table import read_statistics
from tokenlab.segment.isolation import SPACE, CharacterClasses
from tokenlab.segment.options import SegmentOptions
from tokenlab.segment.segmentation import Segmentation
from tokenlab.text.code_points import code_points
from tokenlab.text.documents import Document
from tokenlab.tokenizers.export.agreement import Agreement, HuggingFace, measure_agreement
from tokenlab.tokenizers.export.hugging_face import export_tokenizer, save_tokenizer_folder, word_tokenizer
from tokenlab.tokenizers.export.options import ExportOptions, check_expressible, parse_special_tokens

_SENTENCES_PER_BATCH = 1 << 12
_SCHEMA = {
    "corpus": pl.String,
    "configuration": pl.String,
    "method": pl.String,
    "signal": pl.String,
    "lambda": pl.Float64,
    "threshold": pl.Float64,
    "nu": pl.Float64,
    "export": pl.String,
    "seed": pl.Int64,
    "training_sentences": pl.Int64,
    "training_characters": pl.Int64,
    "vocabulary": pl.Int64,
    "bytes": pl.Int64,
    "sentences": pl.Int64,
    "restored": pl.Float64,
    "segments": pl.Int64,
    "tokens": pl.Int64,
    "segments_equal_to_a_word": pl.Float64,
    "segments_equal_to_a_token": pl.Float64,
    "precision": pl.Float64,
    "recall": pl.Float64,
    "f1": pl.Float64,
    "f1_of_words": pl.Float64,
    "f1_of_segments": pl.Float64,
}
"""Columns of the scores before the parameters, in this order. `precision`, `recall` and `f1` are those of the tokens as
words; see `tokenlab.tokenizers.export.agreement.Agreement` for the others. `restored`: share of the sentences that are
decoded to themselves; `bytes`: size of tokenizer.json."""


class Text(NamedTuple):
    """Sentences of a split, and where their segments begin by one configuration."""

    documents: list[Document]
    boundaries: list[list[int]]


def export(stage: Stage) -> None:
    """Write a folder CONFIGURATION/EXPORT for each tokenizer, the scores (one row: tokenizer x seed), their means, and
    what was left out."""
    exports = stage.parameters("segmentation.export", dict[str, ExportOptions])
    splitting = stage.parameters("segmentation", Splitting)
    methods = read_methods(stage)["full"]
    corpus = read_splits(stage.data("corpora", stage.variant), splitting)
    rows = configurations(methods, read_json(stage.reports("tuning", stage.variant, "tuned.json"))["full"])
    segments = pl.read_parquet(stage.data("segments", stage.variant, "full.parquet"))
    statistics = read_statistics(stage.data("signals", stage.variant, "ngrams", "full.parquet"))
    training = training_size(corpus.select(corpus.full))

    def work(job: tuple[Configuration, str]) -> list[dict[str, Any]] | str:
        row, name = job
        isolation = isolation_of(row)
        of_row = segments.filter(configuration=row.name)
        try:
            tokenizer = learn(row, isolation, exports[name], read_text(of_row, corpus, None), statistics)
        except ParameterError as error:  # no room for the alphabet, which differs from corpus to corpus
            return str(error)
        save_tokenizer_folder(tokenizer, parse_special_tokens(exports[name].special_tokens), folder / row.name / name)
        file = folder / row.name / name / "tokenizer.json"
        written = Tokenizer.from_file(str(file))
        size = {"vocabulary": written.get_vocab_size(), "bytes": file.stat().st_size}
        key = {"corpus": stage.variant, **training, **row.columns, "export": name, **size}
        own = {**splitting.columns, **row.parameters, **option_columns(exports[name])}
        parameters = {f"param.{parameter}": value for parameter, value in own.items()}
        return [
            {**key, "seed": seed, **measure(written, isolation, read_text(of_row, corpus, seed)), **parameters}
            for seed in corpus.of_seed
        ]

    jobs = [(row, name) for row in rows for name in exports]
    with atomic_folder(stage.models("exported", stage.variant)) as folder:
        found = pooled(work, jobs, "exporting")
        left_out = {name: result for (_, name), result in zip(jobs, found, strict=True) if isinstance(result, str)}
        if left_out.keys() == exports.keys() and jobs:
            name, reason = next(iter(left_out.items()))
            raise ParameterError(f"{stage.params_file}: segmentation.export.{name}: {reason}")
    table = score_table([scores for result in found if not isinstance(result, str) for scores in result])
    reports = stage.reports("export", stage.variant)
    write_table(reports / "scores.parquet", table)
    write_json(reports / "left_out.json", left_out)
    write_json(reports / "metrics.json", means(table))


def isolation_of(row: Configuration) -> SegmentOptions:
    """What the configuration keeps apart; the other options have no meaning for it."""
    given = row.parameters
    split_kana = given.get("split_kana", given.get("word_model.split_kana", False))
    return SegmentOptions(isolate=given.get("isolate", "script"), split_kana=split_kana)


def learn(
    row: Configuration, isolation: SegmentOptions, options: ExportOptions, text: Text, statistics: NgramStatistics
) -> Tokenizer:
    """The tokenizer of a configuration.

    Args:
        text: the training text.
        statistics: of the same.

    Raises ParameterError where the vocabulary is smaller than the alphabet.
    """
    if options.model == "unigram" and row.objective is not None and is_expressible(row.objective):
        return export_tokenizer((document.text for document in text.documents), statistics, row.objective, options)
    return word_tokenizer(cut(text), options, isolation)


def is_expressible(options: SegmentOptions) -> bool:
    """Whether a tokenizer can maximise what the segmenter maximises."""
    try:
        check_expressible(options)
    except ParameterError:
        return False
    return True


def read_text(segments: pl.DataFrame, corpus: CorpusSplits, seed: int | None) -> Text:
    """The test sentences of a seed or, where it is None, the full training text.

    Args:
        segments: of one configuration, as the stage `segment` wrote them.

    Raises InputError where these are the segments of other sentences.
    """
    if seed is None:
        rows, indices = segments.filter(split="train"), corpus.full
    else:
        rows, indices = segments.filter(split="test", seed=seed), corpus.of_seed[seed].test.tolist()
    if rows["sentence"].to_list() != indices:
        raise InputError("segments of other sentences than those of the splits; run the stage `segment` again")
    return Text(corpus.select(indices), rows["boundaries"].to_list())


def cut(text: Text) -> Iterator[Segmentation]:
    """The segments, some sentences at a time."""
    for first in range(0, len(text.documents), _SENTENCES_PER_BATCH):
        some = slice(first, first + _SENTENCES_PER_BATCH)
        yield cut_at([document.text for document in text.documents[some]], text.boundaries[some])


def cut_at(sentences: Sequence[str], boundaries: Sequence[Sequence[int]]) -> Segmentation:
    """Sentences cut at given offsets, and at whitespace."""
    points = code_points("".join(f"{sentence}\n" for sentence in sentences))
    origin = np.fromiter(accumulate((len(sentence) + 1 for sentence in sentences), initial=0), np.int64)
    is_space = CharacterClasses("none")(points) == SPACE
    begins = np.append(True, is_space[:-1])
    begins[[start + offset for start, at in zip(origin.tolist(), boundaries, strict=False) for offset in at]] = True
    return Segmentation(points, is_space, begins & ~is_space, origin)


class StoredSegments:
    """The segments of a text in the place of the segmenter that found them: asked for the sentences in their order."""

    def __init__(self, text: Text, isolation: SegmentOptions) -> None:
        self.options = isolation
        self._remaining = iter(text.boundaries)

    def segment(self, sentences: Iterable[str]) -> Iterator[Segmentation]:
        """The segments of the next sentences."""
        some = list(sentences)
        yield cut_at(some, list(islice(self._remaining, len(some))))


def measure(tokenizer: Tokenizer, isolation: SegmentOptions, text: Text) -> dict[str, Any]:
    """How well a tokenizer agrees with the segments of test sentences, and both with gold words where these are
    known."""
    sentences = [document.text for document in text.documents]
    gold = None
    if text.documents[0].boundaries is not None:
        words = (word_spans(document, "gold") for document in text.documents)
        gold = [[(start, end) for start, end in spans.tolist()] for spans in words if spans is not None]
    return figures(measure_agreement(HuggingFace(tokenizer), StoredSegments(text, isolation), sentences, gold))


def figures(found: Agreement) -> dict[str, Any]:
    """The columns of an agreement. Speed is none of them: no two runs have the same."""
    values = {
        "sentences": found.lines,
        "restored": found.restored / found.lines,
        "segments": found.tokens.gold,
        "tokens": found.tokens.predicted,
        "segments_equal_to_a_word": found.words.recall,
        "segments_equal_to_a_token": found.tokens.recall,
    }
    if tokens := found.gold.get("tokens"):
        values |= {"precision": tokens.precision, "recall": tokens.recall, "f1": tokens.f1}
        values |= {f"f1_of_{name}": found.gold[name].f1 for name in ("words", "segments")}
    return values


def option_columns(options: ExportOptions) -> dict[str, Any]:
    """The options as parameters of a row."""
    given = {**asdict(options), "special_tokens": " ".join(options.special_tokens)}
    return {f"export.{name}": value for name, value in given.items() if name != "to"}


def score_table(scores: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """The scores with the columns and types of every corpus, gold words or not."""
    others = {name: None for row in scores for name in row if name not in _SCHEMA}
    rows = [dict.fromkeys((*_SCHEMA, *others)) | row for row in scores]
    return pl.DataFrame(rows, {**_SCHEMA, **others}, infer_schema_length=None)


def means(table: pl.DataFrame) -> dict[str, Any]:
    """Means over the seeds by configuration and export."""
    names = ["f1", "f1_of_words", "f1_of_segments", "segments_equal_to_a_word", "segments_equal_to_a_token"]
    rows = table.group_by("configuration", "export", maintain_order=True).agg(pl.col(names).mean().round(6))
    return nested(rows.iter_rows(named=True), "configuration", "export", values=names)


if __name__ == "__main__":
    run(export)
