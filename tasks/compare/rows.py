"""Rows of the tables of measures: one for each tokenizer and corpus, with every metric of the registry."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from tasks.compare.entries import Measured, Texts
from tasks.runtime.stage import Stage, write_json
from tasks.runtime.tables import nested, write_table
from tokenlab.metrics.counting import TextTokenizer, count_tokens
from tokenlab.metrics.registry import COUNT, TOKENIZERS, of_parallel

_KEY = {"name": pl.String, "corpus": pl.String, "family": pl.String, "tokenizer": pl.String}
_SIZES = {"texts": pl.Int64, "words": pl.Int64, "characters": pl.Int64, "bytes": pl.Int64, "vocabulary": pl.Int64}
_SIZES |= {"types": pl.Int64}
_METRICS = {metric.name: pl.Int64 if metric.unit == COUNT else pl.Float64 for metric in TOKENIZERS}
SCHEMA = pl.Schema(_KEY | _SIZES | _METRICS | {"gini": pl.Float64, "param.reference": pl.String})
"""Columns of the scores. `gini`: of the tokens per text of all corpora of the row's entry; null for a single corpus.

`words` is null where the text has no known words, `types` is the number of tokens that occur."""


class Candidate(NamedTuple):
    """A tokenizer or code in a table."""

    family: str
    name: str
    tokenizer: TextTokenizer


def score_rows(
    name: str, entry: Measured, texts: Texts, candidates: Iterable[Candidate], reference: Candidate
) -> Iterator[dict[str, Any]]:
    """The rows of an entry, tokenizer by tokenizer, without the parameters."""
    lengths = [count_tokens(reference.tokenizer, of_corpus).tokens for of_corpus in texts.values()]
    for candidate in candidates:
        counts = [count_tokens(candidate.tokenizer, of_corpus) for of_corpus in texts.values()]
        compared = [replace(found, reference_tokens=length) for found, length in zip(counts, lengths, strict=True)]
        english = None if entry.english is None else entry.corpora.index(entry.english)
        for corpus, found, measures in zip(texts, counts, of_parallel(compared, english), strict=True):
            yield {
                "name": name,
                "corpus": corpus,
                "family": candidate.family,
                "tokenizer": candidate.name,
                **{size: getattr(found, size) for size in _SIZES if size != "types"},
                "types": len(found.types),
                **measures,
            }


def write_scores(stage: Stage, rows: Iterable[Mapping[str, Any]], reference: str) -> None:
    """Write the table of a stage, and its metrics as {name: {corpus: {family: {tokenizer: {metric: value}}}}} without
    those that are undefined."""
    table = pl.DataFrame([{**row, "param.reference": reference} for row in rows], schema=SCHEMA)
    reports = stage.reports("measures", stage.variant)
    write_table(reports / "scores.parquet", table)
    values = table.select(*_KEY, *_METRICS, "gini").iter_rows(named=True)
    write_json(reports / "metrics.json", nested(values, *_KEY))
