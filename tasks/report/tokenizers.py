"""Tokenizers that were trained on one corpus, and the bits per byte of language models over them at equal FLOPs.

They are made from the table of `train_tokenizers`: one row for each tokenizer, size and seed of a model.
"""

import polars as pl

from tasks.report.generation import verdict_word
from tasks.report.inputs import corpus_facts, notes_of, read_parts
from tasks.report.table import Column, Table, tabulate
from tasks.report.verdict import Spread
from tasks.runtime.stage import Stage

BASELINE = "byte-level"
"""The candidate that the others are compared with: plain byte-level BPE with the cut of GPT-2."""

_KEY = ["vocabulary", "tokenizer"]
_RULE = (
    "lower, higher: the means differ by more than the root of the sum of both squared deviations; otherwise not "
    "separable; × tokens: against byte-level BPE of the same size"
)


def tokenizer_tables(stage: Stage) -> list[Table]:
    """A table for each corpus of `tokenizers.corpora`."""
    scores = read_parts(stage, "tokenizers.corpora", "trained_tokenizers", "scores.parquet")
    if scores is None:
        return []
    return [
        _table(stage, str(name), rows.sort("vocabulary", maintain_order=True))
        for (name,), rows in scores.group_by("name", maintain_order=True)
    ]


def _table(stage: Stage, name: str, scores: pl.DataFrame) -> Table:
    """A row for each tokenizer of each size."""

    def baseline(rows: pl.DataFrame) -> pl.DataFrame:
        return scores.filter(tokenizer=BASELINE, vocabulary=rows["vocabulary"][0])

    def ratio(rows: pl.DataFrame) -> float | None:
        others = baseline(rows)
        return rows["tokens"][0] / others["tokens"][0] if len(others) else None

    def verdict(rows: pl.DataFrame) -> str:
        found = [Spread.of(some["bits_per_byte"]) for some in (rows, baseline(rows))]
        if rows["tokenizer"][0] == BASELINE or found[0] is None or found[1] is None:
            return ""
        return verdict_word(found[0], found[1])

    columns = [
        Column("size", "vocabulary", "{:,}"),
        Column("tokenizer", "tokenizer"),
        Column("cut", lambda rows: f"`{rows['cut'][0]}`"),
        Column("entries", "entries", "{:,}"),
        Column("tokens", "tokens", "{:,}"),
        Column("× tokens", ratio, "{:.3f}", note=_RULE),
        Column("bytes/token", "bytes_per_token", "{:.3f}"),
        Column("bits/byte", "bits_per_byte", "{:.4f}", spread=True, result=True),
        Column("against byte-level", verdict),
        Column("weights", "parameters", "{:,}"),
        Column("epochs", "epochs", "{:.2f}"),
    ]
    first = scores.row(0, named=True)
    seeds = scores["seed"].n_unique()
    flops = float(scores["training_flops"].to_numpy().max())
    title = f"{name}: tokenizers, and language models over them at {flops:.2g} training FLOPs"
    title += f"; mean ± sd of {seeds} seeds" if seeds > 1 else ""
    notes = [*notes_of([corpus_facts(stage, first["corpus"])]), f"{first['bytes']:,} bytes of test text"]
    return tabulate(f"tokenizers-{name}", title, scores, columns, key=_KEY, notes=notes)
