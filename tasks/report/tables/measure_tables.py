"""Tables of tokenizers and codes by the measures of the registry, from the scores of the stages of `tasks.compare`.

First languages side by side: tokens against English, and Gini; then one table for each corpus.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tasks.report.tables.metric_tables import metric_cell, metric_heading
from tasks.report.tables.table import Table
from tokenlab.metrics.registry import TOKENIZERS, Metric

_NOTES = {
    "fertility": "fertility: tokens per word; words kept whole (STRR): share of the words that are one token",
    "normalised_length": "normalised length: tokens per token of {reference}",
    "byte_token_rate": "byte token rate: tokens that hold a part of a character",
    "renyi_efficiency": "Rényi entropy and efficiency at alpha 2.5; efficiency is over the whole vocabulary, observed "
    "efficiency over the tokens that occur",
}
_SEEN = "the learned codes and the tokenizers over their atoms were trained on these texts, which favours them"
_OF_ATOMS = "tokenizer of atoms"
"""The kind of tokenizers that `measure_codes` measures, on texts from the corpus that they were trained on."""
_SHARES = "↑: higher is better; ↓: lower is better; shares in per cent"


def measure_tables(scores: pl.DataFrame, facts: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """The tables, those of parallel corpora first; none where there are no scores.

    Args:
        scores: of all stages of the comparison, one below the other.
        facts: of every corpus, as `prepare` writes them.
    """
    parallel, single = [], []
    for (name,), rows in scores.group_by("name", maintain_order=True):
        if rows["gini"].null_count() < len(rows):
            parallel.append(_parity_table(str(name), rows, facts))
        else:
            single.append(_table_of_corpus(str(name), rows, facts))
    return parallel + single


def _parity_table(name: str, rows: pl.DataFrame, facts: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row for each tokenizer: parity of every language, and Gini."""
    corpora = rows["corpus"].unique(maintain_order=True).to_list()
    found = []
    for (family, tokenizer), of_one in rows.group_by("family", "tokenizer", maintain_order=True):
        parity = dict(zip(of_one["corpus"], of_one["parity"], strict=True))
        cells = ["" if parity.get(corpus) is None else f"{parity[corpus]:.2f}" for corpus in corpora]
        found.append([str(tokenizer), str(family), *cells, f"{of_one['gini'][0]:.3f}"])
    title = f"{name}: tokens for the same {rows['texts'][0]:,} texts, against English, and the Gini coefficient"
    header = ["tokenizer", "kind", *corpora, "Gini ↓"]
    return Table(f"parity-{name}", title, header, found, _notes_of(corpora, facts))


def _table_of_corpus(name: str, rows: pl.DataFrame, facts: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row for each tokenizer, a column for each measure that has a value."""
    known = [metric for metric in TOKENIZERS if rows[metric.name].null_count() < len(rows)]
    found = [
        [row["tokenizer"], row["family"], f"{row['vocabulary']:,}", *_cells(row, known)]
        for row in rows.iter_rows(named=True)
    ]
    first = rows.row(0, named=True)
    words = "" if first["words"] is None else f", {first['words']:,} words"
    title = f"{name}: tokenizers and codes on {first['texts']:,} texts ({first['characters']:,} characters{words})"
    names = {metric.name for metric in known}
    notes = [text.format(reference=first["param.reference"]) for metric, text in _NOTES.items() if metric in names]
    seen = [_SEEN] if _OF_ATOMS in rows["family"] else []
    header = ["tokenizer", "kind", "|V|", *map(metric_heading, known)]
    return Table(f"measures-{name}", title, header, found, [*_notes_of([name], facts), *seen, _SHARES, *notes])


def _cells(row: Mapping[str, Any], metrics: Sequence[Metric]) -> list[str]:
    return [metric_cell(row[metric.name], metric) for metric in metrics]


def _notes_of(corpora: Sequence[str], facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The notes of these corpora, each once."""
    return list(dict.fromkeys(note for corpus in corpora for note in facts.get(corpus, {}).get("notes", [])))
