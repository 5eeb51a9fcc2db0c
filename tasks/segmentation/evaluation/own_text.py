"""Stage `own_text`: a text segmented by what it says itself, without other text for training, and scored.

Statistics and word models are of the unsegmented text; the gold words serve to score it, and nothing is tuned here.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, Literal

import polars as pl
from pydantic import Field

from tasks.runtime.pool import pooled
from tasks.runtime.stage import Parameters, Stage, run
from tasks.runtime.tables import write_table
from tasks.segmentation.evaluation.scores import score, score_table
from tasks.segmentation.methods import (
    Methods,
    StatisticalMethod,
    WordMethod,
    boundaries_of,
    option_columns,
    read_sections,
)
from tasks.segmentation.splits import training_size
from tokenlab.core.errors import InputError
from tokenlab.ngrams.counting import ngram_statistics
from tokenlab.ngrams.options import StatisticsOptions
from tokenlab.segment.by_statistics import Segmenter
from tokenlab.segment.description_length import segment_by_description_length
from tokenlab.segment.isolation import apply_slm_rules
from tokenlab.segment.options import SegmentOptions
from tokenlab.segment.words.model import WordModel
from tokenlab.segment.words.options import WordOptions
from tokenlab.text.documents import Document, words
from tokenlab.text.store import read_corpus

Options = SegmentOptions | WordOptions | None
"""Of a method; None for `description-length`."""
DESCRIPTION_LENGTH = "description-length"
"""The method that is no entry of `segmentation.methods`."""


class Slices(Parameters):
    """`count` slices at equal distances, each of whole sentences with at least `characters` characters."""

    count: int = Field(ge=1, le=1000)
    characters: int = Field(ge=1)


class OwnText(Parameters):
    """A text and the methods that segment it: those by statistics, with their first lambda, and by words in
    `segmentation.methods`, and `description-length`, which has no options.

    slices: each by itself; null: the whole corpus, of which the sentences with gold words are scored. rules: `slm` for
    the rules of `tokenlab.segment.isolation`. seeds: of word models.
    """

    corpus: str
    methods: list[str] = Field(min_length=1)
    slices: Slices | None = None
    rules: Literal["slm"] | None = None
    seeds: list[int] = Field(default=[0], min_length=1)


def evaluate(stage: Stage) -> None:
    """Write the scores: one row for each slice, method and seed of a word model."""
    own = stage.parameters(f"segmentation.own_text.{stage.variant}", OwnText)
    statistics = stage.parameters("segmentation.statistics", StatisticsOptions)
    options = _options(own, read_sections(stage))
    corpus = list(read_corpus(stage.data("corpora", own.corpus)))
    if all(document.boundaries is None for document in corpus):
        raise InputError(
            f"no gold words are marked in {own.corpus}; segmentation.own_text is for corpora that have them"
        )
    parts = [corpus] if own.slices is None else slices(corpus, own.slices)

    def work(job: tuple[int, str, Options]) -> dict[str, Any]:
        part, method, chosen = job
        documents = parts[part]
        boundaries = segment([document.text for document in documents], chosen, statistics)
        if own.rules == "slm":
            boundaries = [apply_slm_rules(doc.text, at) for doc, at in zip(documents, boundaries, strict=True)]
        scored = [(doc, at) for doc, at in zip(documents, boundaries, strict=True) if doc.boundaries is not None]
        return {
            "text": stage.variant,
            "corpus": own.corpus,
            "part": part,
            "configuration": method,
            "seed": chosen.seed if isinstance(chosen, WordOptions) else None,
            "lambda": chosen.weight if isinstance(chosen, SegmentOptions) else None,
            "rules": own.rules or "none",
            **training_size(documents),
            **score([doc for doc, _ in scored], [words(doc.text, at) for doc, at in scored], None),
            **{f"param.{name}": value for name, value in option_columns(chosen).items()},
        }

    jobs = [(part, name, given) for part in range(len(parts)) for name, given in options]
    table = score_table(pooled(work, jobs, "segmenting"))
    path = stage.reports("own_text", stage.variant, "scores.parquet")
    write_table(path, table.with_columns(pl.col("seed").cast(pl.Int64)))


def _options(own: OwnText, methods: Methods) -> list[tuple[str, Options]]:
    """The methods with all their options, words with each seed."""
    found: list[tuple[str, Options]] = []
    for name in own.methods:
        if name == DESCRIPTION_LENGTH:
            found.append((name, None))
        elif isinstance(method := methods[name], WordMethod):
            found += [(name, replace(method.options, seed=seed)) for seed in own.seeds]
        elif isinstance(method, StatisticalMethod):
            found.append((name, method.options(None)))
    return found


def slices(corpus: Sequence[Document], wanted: Slices) -> list[list[Document]]:
    """The slices of a corpus: slice i begins at the first sentence at or after i / count of the characters.

    Raises InputError where the corpus is too small for slices that share no sentence.
    """
    edges = [0, *accumulate(len(document.text) for document in corpus)]
    found, end = [], 0
    for number in range(wanted.count):
        start = next(i for i, before in enumerate(edges) if before * wanted.count >= number * edges[-1])
        if start < end or edges[-1] - edges[start] < wanted.characters:
            break
        end = next(i for i, after in enumerate(edges) if after - edges[start] >= wanted.characters)
        found.append(list(corpus[start:end]))
    if len(found) < wanted.count:
        raise InputError(
            f"the corpus has {edges[-1]:,} characters, too few for {wanted.count} slices of {wanted.characters:,}; "
            "ask for fewer or shorter ones"
        )
    return found


def segment(texts: Sequence[str], options: Options, statistics: StatisticsOptions) -> list[list[int]]:
    """For each sentence the offsets at which its second and later segments begin, by the text itself."""
    if options is None:
        batches = [segment_by_description_length(texts)]
    elif isinstance(options, WordOptions):
        segmented = WordModel.fit(texts, options).training
        batches = [] if segmented is None else [segmented]
    else:
        batches = list(Segmenter(ngram_statistics(texts, statistics), options).segment(texts))
    return list(boundaries_of(batches))


if __name__ == "__main__":
    run(evaluate)
