"""Stage `evaluate_segmentation`: word F1 of every configuration, alone and through BPE, on the test sentences of every
seed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
from tokenizers import Tokenizer

from tasks.runtime.stage import Stage, read_json, run, write_json
from tasks.runtime.tables import write_table
from tasks.segmentation.evaluation.scores import score, score_table
from tasks.segmentation.methods import (
    NUMBERS,
    Configuration,
    Entropies,
    SegmentedCorpus,
    configurations,
    read_methods,
)
from tasks.segmentation.segment import read_scored
from tasks.segmentation.splits import CorpusSplits, Splitting, read_splits, training_size
from tasks.segmentation.tokenizer import BASELINES, Bpe, Full
from tokenlab.segment.by_entropy import entropy_boundaries
from tokenlab.segment.options import BoundaryOptions
from tokenlab.text.documents import Document, words
from tokenlab.tokenizers.bpe import token_spans

_EXAMPLE_LENGTH = range(20, 36)
_ENTROPY_EXAMPLES = 3


class Prediction(NamedTuple):
    """The test sentences as segmented by a configuration or, where `row` is None, by a baseline."""

    name: str
    row: Configuration | None
    bpe: str
    """`none` for the segments themselves; `raw` or `pretokenized` for tokens, by the text they were made from."""
    vocabulary: int | None
    segments: list[list[str]]

    @property
    def columns(self) -> dict[str, Any]:
        """What identifies it in the table of scores."""
        none = {"configuration": self.name, **dict.fromkeys(("method", "signal", *NUMBERS))}
        row = none if self.row is None else self.row.columns
        return {**row, "bpe": self.bpe, "vocabulary": self.vocabulary}


def evaluate(stage: Stage) -> None:
    """Write the scores (one row: training x seed x configuration x use of BPE), their means, and the data of figures 3
    to 5."""
    splitting, tables = stage.parameters("segmentation", Splitting), read_methods(stage)
    has_entropy = stage.parameters(f"segmentation.corpora.{stage.variant}", SegmentedCorpus).entropy
    bpe, full = stage.parameters("segmentation.bpe", Bpe), stage.parameters("segmentation.full", Full)
    vocabulary_sizes = {"subset": bpe.vocabulary_size, "full": full.vocabulary_size}
    corpus = read_splits(stage.data("corpora", stage.variant), splitting)
    tuned, trainings = read_json(stage.reports("tuning", stage.variant, "tuned.json")), corpus.trainings

    scores: list[dict[str, Any]] = []
    example: dict[str, list[str]] = {}
    for training, methods in tables.items():
        rows = configurations(methods, tuned[training])
        segments = pl.read_parquet(stage.data("segments", stage.variant, f"{training}.parquet"))
        tested = segments.filter(pl.col("split") == "test")
        for seed, split in corpus.of_seed.items():
            name = "full" if training == "full" else f"subset-{seed}"
            test, trained_on = corpus.select(split.test), corpus.select(trainings[name])
            of_seed = segmented(rows, test, tested.filter(pl.col("seed") == seed))
            folder = stage.models("tokenizers", stage.variant, training) / (str(seed) if training == "subset" else "")
            names = [*(row.name for row in rows), *BASELINES]
            tokenizers = {name: Tokenizer.from_file(str(folder / name / "tokenizer.json")) for name in names}
            predictions = list(predict(rows, test, of_seed, tokenizers, bpe.inference))
            known = {word for document in trained_on for word in words(document.text, document.boundaries or ())}
            key = {"corpus": stage.variant, "training": training, "seed": seed, **training_size(trained_on)}
            scores += [
                {
                    **key,
                    **prediction.columns,
                    **score(test, prediction.segments, known),
                    **own_parameters(splitting, prediction, vocabulary_sizes[training]),
                }
                for prediction in predictions
            ]
            example = example or example_sentence(test, predictions)

    table = score_table(scores)
    sentences: dict[str, Any] = {"example": example, "entropies": []}
    if has_entropy:
        entropies = read_scored(stage.data("signals", stage.variant, "entropy"), corpus.documents)
        sentences["entropies"] = entropy_examples(corpus, entropies)
    reports = stage.reports("segmentation", stage.variant)
    write_table(reports / "scores.parquet", table)
    write_json(reports / "metrics.json", mean_f1(table))
    write_json(reports / "sentences.json", sentences)


def own_parameters(splitting: Splitting, prediction: Prediction, vocabulary_size: int) -> dict[str, Any]:
    """The parameters of a row, in columns `param.NAME`."""
    own = splitting.columns | ({} if prediction.row is None else dict(prediction.row.parameters))
    if prediction.bpe != "none":
        own["bpe.vocabulary_size"] = vocabulary_size
    return {f"param.{name}": value for name, value in own.items()}


def segmented(
    rows: Sequence[Configuration], test: Sequence[Document], segments: pl.DataFrame
) -> dict[str, list[list[str]]]:
    """The segments of the test sentences by the name of each configuration.

    segments: columns configuration and boundaries, rows in the order of the sentences.
    """
    found = {}
    for row in rows:
        boundaries = segments.filter(pl.col("configuration") == row.name)["boundaries"].to_list()
        found[row.name] = [words(document.text, at) for document, at in zip(test, boundaries, strict=True)]
    return found


def predict(
    rows: Sequence[Configuration],
    test: Sequence[Document],
    segments: Mapping[str, list[list[str]]],
    tokenizers: Mapping[str, Tokenizer],
    inference: Sequence[str],
) -> Iterator[Prediction]:
    """Every configuration without BPE and through it, then the baselines."""
    texts = [document.text for document in test]
    for row in rows:
        yield Prediction(row.name, row, "none", None, segments[row.name])
        for source in inference:
            given = texts if source == "raw" else [" ".join(pieces) for pieces in segments[row.name]]
            yield _through_bpe(row.name, row, source, tokenizers[row.name], given)
    for name in BASELINES:
        yield _through_bpe(name, None, "raw", tokenizers[name], texts)


def _through_bpe(
    name: str, row: Configuration | None, source: str, tokenizer: Tokenizer, texts: list[str]
) -> Prediction:
    spans = token_spans(tokenizer, texts)
    tokens = [[text[start:end] for start, end in found] for text, found in zip(texts, spans, strict=True)]
    # Without the whitespace tokens that are added for decoding.
    return Prediction(name, row, source, tokenizer.get_vocab_size(with_added_tokens=False), tokens)


def mean_f1(table: pl.DataFrame) -> dict[str, Any]:
    """Mean word F1 over the seeds by training and configuration, alone (`f1`) and through BPE (`f1_bpe`)."""
    found: dict[str, Any] = {}
    for bpe, name in (("none", "f1"), ("raw", "f1_bpe")):
        rows = table.filter(pl.col("bpe") == bpe).group_by("training", "configuration", maintain_order=True)
        for training, configuration, f1 in rows.agg(pl.col("f1").mean().round(6)).iter_rows():
            found.setdefault(training, {}).setdefault(configuration, {})[name] = f1
    return found


def example_sentence(test: Sequence[Document], predictions: Iterable[Prediction]) -> dict[str, list[str]]:
    """Figure 4: the words of one sentence by gold, every configuration without BPE and every baseline."""
    index = next((i for i, document in enumerate(test) if len(document.text) in _EXAMPLE_LENGTH), 0)
    rows = {p.name: p.segments[index] for p in predictions if p.bpe == ("none" if p.row else "raw")}
    sentence = test[index]
    if sentence.boundaries is not None:
        rows = {"gold": words(sentence.text, sentence.boundaries)} | rows
    return rows


def entropy_examples(corpus: CorpusSplits, entropies: Entropies) -> list[dict[str, Any]]:
    """Figures 3 and 5: predictive entropies (nats) of a few test sentences of the first seed, and the boundaries at
    their strict local maxima."""
    test = next(iter(corpus.of_seed.values())).test.tolist()
    indices = [index for index in test if len(corpus.documents[index].text) in _EXAMPLE_LENGTH][:_ENTROPY_EXAMPLES]
    examples = []
    for document, values in zip(corpus.select(indices), [entropies[index] for index in indices], strict=True):
        gold = None if document.boundaries is None else words(document.text, document.boundaries)
        examples.append(
            {
                "text": document.text,
                "entropy": [None if value != value else value for value in values.tolist()],
                "boundaries": entropy_boundaries(values, BoundaryOptions("maxima")).tolist(),
                "gold": gold,
            }
        )
    return examples


if __name__ == "__main__":
    run(evaluate)
