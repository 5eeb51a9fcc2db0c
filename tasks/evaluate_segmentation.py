"""Stage `evaluate_segmentation`: word F1 of every method, alone and through BPE, on the test part of every seed."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from tokenizers import Tokenizer

from tasks.bpe import BASELINES, Bpe
from tasks.cutting import Entropies, read_entropies_of
from tasks.entropy_figures import ScoredSentence, draw_entropies
from tasks.parts import parts
from tasks.readings import FACTS, Method, methods, scopes
from tasks.segmentation_figures import draw_boundaries
from tasks.stage import Stage, read_json, run, write_json
from tokenlab.entropy import BoundaryOptions, entropy_boundaries
from tokenlab.files import atomic_file
from tokenlab.metrics import SegmentationScore, score_segmentation
from tokenlab.text.documents import Document, words
from tokenlab.tokenizers import token_spans

_SHOWN_LENGTH = range(20, 36)
_SHOWN_SENTENCES = 3


class Prediction(NamedTuple):
    """What one method made of the test sentences; `bpe` is `none` or what the tokenizer was applied to."""

    method: str
    row: Method | None  # None for baselines
    bpe: str
    vocabulary: int | None
    words: list[list[str]]


def evaluate(stage: Stage) -> None:
    """Write the scores (one row: scope x seed x method x use of BPE), their means, and figures 3 to 5."""
    chosen = read_json(stage.reports("lambda", stage.variant, "chosen.json"))
    corpus = parts(stage)
    scores: list[dict[str, Any]] = []
    folder = stage.reports("segmentation", stage.variant)
    for scope, readings in scopes(stage).items():
        rows = methods(readings, chosen[scope])
        for seed, split in corpus.splits.items():
            test = corpus.select(split.test)
            training = corpus.select(corpus.rest if scope == "rest" else split.train)
            known, size = _gold_words(training), _size_of(training)
            predictions = list(_predictions(stage, scope, seed, rows, test))
            for prediction in predictions:
                key = {"corpus": stage.variant, "scope": scope, "seed": seed} | size
                scores.append(key | _facts(prediction) | _figures(test, prediction.words, known))
            if scope == "draw" and seed == next(iter(corpus.splits)):
                _write_example(test, predictions, folder)
    first = next(iter(corpus.splits.values())).test.tolist()
    _write_entropies(corpus.select(first), first, read_entropies_of(stage, corpus), folder)
    counts = ("sentences", "gold_words", "predicted_words")  # the other figures are shares
    types = {name: pl.Int64 if name in counts else pl.Float64 for name in SegmentationScore.FIGURES}
    types |= dict.fromkeys(("lambda", "threshold", "nu"), pl.Float64)
    table = pl.DataFrame(scores, infer_schema_length=None, schema_overrides=types)
    with atomic_file(folder / "scores.parquet") as path:
        table.write_parquet(path)
    write_json(folder / "metrics.json", _means(table))


def _predictions(
    stage: Stage, scope: str, seed: int, rows: list[Method], test: Sequence[Document]
) -> Iterator[Prediction]:
    """Every method without BPE and through it, then the baselines."""
    inference = stage.parameters("segmentation.bpe", Bpe).inference
    tokenizers = stage.models("tokenizers", stage.variant, scope, *([str(seed)] if scope == "draw" else []))
    segments = pl.read_parquet(stage.data("segments", stage.variant, f"{scope}.parquet")).filter(
        pl.col("seed") == seed, pl.col("part") == "test"
    )
    texts = [document.text for document in test]
    for row in rows:
        cuts = segments.filter(pl.col("method") == row.name)["boundaries"].to_list()
        cut = [words(text, boundaries) for text, boundaries in zip(texts, cuts, strict=True)]
        yield Prediction(row.name, row, "none", None, cut)
        tokenizer = _load(tokenizers / row.name)
        for source in inference:
            given = texts if source == "raw" else [" ".join(pieces) for pieces in cut]
            yield Prediction(row.name, row, source, _size(tokenizer), _tokens(tokenizer, given))
    for name in BASELINES:
        tokenizer = _load(tokenizers / name)
        yield Prediction(name, None, "raw", _size(tokenizer), _tokens(tokenizer, texts))


def _load(folder: Path) -> Tokenizer:
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def _size(tokenizer: Tokenizer) -> int:
    """Entries of the vocabulary, the whitespace tokens that are added for decoding left out."""
    return tokenizer.get_vocab_size(with_added_tokens=False)


def _tokens(tokenizer: Tokenizer, texts: list[str]) -> list[list[str]]:
    spans = token_spans(tokenizer, texts)
    return [[text[start:end] for start, end in found] for text, found in zip(texts, spans, strict=True)]


def _gold_words(documents: Iterable[Document]) -> set[str]:
    """The words of a training text, for the recall of words that it does not hold."""
    return {word for document in documents for word in words(document.text, document.boundaries or ())}


def _size_of(training: Sequence[Document]) -> dict[str, int]:
    characters = sum(not character.isspace() for document in training for character in document.text)
    return {"training_sentences": len(training), "training_characters": characters}


def _facts(prediction: Prediction) -> dict[str, Any]:
    of_row = dict.fromkeys(FACTS) if prediction.row is None else prediction.row.facts
    return {"method": prediction.method, **of_row, "bpe": prediction.bpe, "vocabulary": prediction.vocabulary}


def _figures(test: Sequence[Document], predicted: list[list[str]], known: set[str]) -> dict[str, Any]:
    """The score where gold words are known; how long the segments are in any case."""
    segments = sum(map(len, predicted))
    characters = sum(len(piece) for pieces in predicted for piece in pieces)
    size = {"segments": segments, "characters_per_segment": characters / segments}
    if test[0].boundaries is None:
        return size | dict.fromkeys(SegmentationScore.FIGURES)
    gold = [words(document.text, document.boundaries or ()) for document in test]
    return size | score_segmentation(gold, predicted, known).as_dict()


def _means(table: pl.DataFrame) -> dict[str, Any]:
    """Mean word F1 of each scope and method over the seeds, alone and through BPE, as `dvc metrics` shows it."""
    nested: dict[str, Any] = {}
    for bpe, name in (("none", "f1"), ("raw", "f1_bpe")):
        rows = table.filter(pl.col("bpe") == bpe).group_by("scope", "method", maintain_order=True)
        for scope, method, f1 in rows.agg(pl.col("f1").mean().round(6)).iter_rows():
            nested.setdefault(scope, {}).setdefault(method, {})[name] = f1
    return nested


def _write_example(test: Sequence[Document], predictions: list[Prediction], folder: Path) -> None:
    """Figure 4: one sentence, the boundaries of every method in a row of its own."""
    number = next((i for i, document in enumerate(test) if len(document.text) in _SHOWN_LENGTH), 0)
    rows = {p.method: p.words[number] for p in predictions if p.bpe == ("none" if p.row else "raw")}
    sentence = test[number]
    if sentence.boundaries is not None:
        rows = {"gold": words(sentence.text, sentence.boundaries)} | rows
    write_json(folder / "sentence.json", rows)
    draw_boundaries(rows, folder / "sentence")


def _write_entropies(
    test: Sequence[Document], numbers: Sequence[int], entropies: Entropies | None, folder: Path
) -> None:
    """Figures 3 and 5: predictive entropy along a few sentences, and the boundaries at its strict local maxima."""
    shown = [i for i, document in enumerate(test) if len(document.text) in _SHOWN_LENGTH][:_SHOWN_SENTENCES]
    sentences = []
    for i in shown:
        if entropies is None:
            break
        text, boundaries = test[i].text, test[i].boundaries
        values = entropies[numbers[i]]
        peaks = entropy_boundaries(values, BoundaryOptions("maxima")).tolist()
        sentences.append(ScoredSentence(text, values, peaks, None if boundaries is None else words(text, boundaries)))
    draw_entropies(sentences, folder / "entropy")
    rows = [
        {"sentence": number, "position": position, "character": character, "entropy": float(value)}
        for number, sentence in enumerate(sentences)
        for position, (character, value) in enumerate(zip(sentence.text, sentence.entropy, strict=True))
    ]
    schema = {"sentence": pl.Int64, "position": pl.Int64, "character": pl.String, "entropy": pl.Float64}
    with atomic_file(folder / "entropy.csv") as path:
        pl.DataFrame(rows, schema=schema, orient="row").fill_nan(None).write_csv(path)


if __name__ == "__main__":
    run(evaluate)
