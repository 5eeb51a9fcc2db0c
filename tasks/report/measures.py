"""Tables of tokenizers and codes by the measures of the registry, from the scores of the stages of `tasks.compare`.

First ways of cutting on equal terms (`tasks.report.compared`); then languages side by side: tokens against English, and
Gini; then one table for each corpus. A metric of the registry (`tokenlab.metrics.registry`) needs no entry here.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tasks.report.compared import compared_results
from tasks.report.inputs import corpus_facts, notes_of, read_parts
from tasks.report.style import code_name
from tasks.report.table import Caveat, Column, Results, Table, tabulate
from tasks.runtime.stage import Stage
from tokenlab.metrics.registry import COUNT, SHARE, TOKENIZERS, Metric

_ARROWS = {"higher": " ↑", "lower": " ↓", None: ""}
SHARES = "↑: higher is better; ↓: lower is better; shares in per cent"
_NOTES = {
    "fertility": "fertility: tokens per word; words kept whole (STRR): share of the words that are one token",
    "normalised_length": "normalised length: tokens per token of {reference}",
    "byte_token_rate": "byte token rate: tokens that hold a part of a character",
    "renyi_efficiency": "Rényi entropy and efficiency at alpha 2.5; efficiency is over the whole vocabulary, observed "
    "efficiency over the tokens that occur",
}
_RESULTS = ("normalised_length", "f1", "bits_per_character")
"""Metrics that stay in sight where there are many."""
_SEEN = Caveat("the learned codes and the tokenizers over their atoms were trained on these texts, which favours them")
_CODE = re.compile(r"([^/]+?)(?:-N(\d+)-K(\d+)-seed\d+)?((?:/.*)?)")
_OF_ATOMS = "tokenizer of atoms"
"""The kind of tokenizers that `measure_codes` measures, on texts from the corpus that they were trained on."""


def measure_results(stage: Stage) -> Results:
    """Read the results of a preset; tables of parallel corpora come first."""
    scores = read_parts(stage, "compare.measured", "measures", "scores.parquet")
    parity, single = [], []
    if len(scores):
        facts = {name: corpus_facts(stage, name) for name in scores["corpus"].unique()}
        for (name,), rows in scores.group_by("name", maintain_order=True):
            if rows["gini"].null_count() < len(rows):
                parity.append(_parity_table(str(name), rows, facts))
            else:
                single.append(_table_of_corpus(str(name), rows, facts))
    compared = compared_results(stage)
    page = {"compared": compared.page, "tables": parity + single}
    return Results(compared.main + parity, compared.others + single, page)


def _name(rows: pl.DataFrame) -> str:
    """The tokenizer; one with a stored code, such as latom-N2-K9-seed0/bpe, by the name of the code."""
    code, N, K, rest = _CODE.fullmatch(rows["tokenizer"][0]).groups()  # type: ignore[union-attr]
    return code_name(code, "several") + (f" (N = {N}, K = {K})" if N else "") + rest


_NAMES = [Column("tokenizer", _name), Column("kind", "family")]


def _parity_table(name: str, rows: pl.DataFrame, facts: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row for each tokenizer: parity of every language, and Gini."""
    corpora = rows["corpus"].unique(maintain_order=True).to_list()
    columns = [
        *_NAMES,
        *(Column(corpus, "parity", "{:.2f}", where={"corpus": corpus}) for corpus in corpora),
        Column("Gini ↓", "gini", "{:.3f}", result=True),
    ]
    title = f"{name}: tokens for the same {rows['texts'][0]:,} texts, against English, and the Gini coefficient"
    notes = notes_of(facts[corpus] for corpus in corpora)
    return tabulate(f"parity-{name}", title, rows, columns, key=["family", "tokenizer"], notes=notes)


def _table_of_corpus(name: str, rows: pl.DataFrame, facts: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row for each tokenizer, a column for each measure that has a value."""
    first = rows.row(0, named=True)
    columns = [*_NAMES, Column("|V|", "vocabulary", "{:,}")]
    columns += metric_columns(rows, TOKENIZERS, reference=first["param.reference"])
    words = "" if first["words"] is None else f", {first['words']:,} words"
    title = f"{name}: tokenizers and codes on {first['texts']:,} texts ({first['characters']:,} characters{words})"
    seen = [_SEEN] if _OF_ATOMS in rows["family"] else []
    notes = [*facts[name]["notes"], *seen, SHARES]
    return tabulate(f"measures-{name}", title, rows, columns, notes=notes)


def metric_columns(scores: pl.DataFrame, metrics: Sequence[Metric], reference: str = "") -> list[Column]:
    """A column for each metric that has a value, with an arrow to what is better. reference: a tokenizer for notes."""
    return [
        Column(
            metric.name.replace("_", " ") + _ARROWS[metric.better],
            metric.name,
            "{:.1f}" if metric.unit == SHARE else "{:,.0f}" if metric.unit == COUNT else "{:,.3f}",
            100 if metric.unit == SHARE else 1,
            result=metric.name in _RESULTS,
            note=_NOTES.get(metric.name, "").format(reference=reference) if reference else "",
        )
        for metric in metrics
        if metric.name in scores and scores[metric.name].null_count() < len(scores)
    ]
