"""The table of the exported tokenizers of a corpus.

It is made from the scores of the stage `export`: one row for each tokenizer and seed.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tasks.report.tables.segmentation_tables import named
from tasks.report.tables.table import Table
from tasks.report.verdict import Spread, mark

_HEADER = ["method", "tokenizer", "|V|", "MB", "round trip", "equal segments", "equal tokens"]
_HEADER_WITH_GOLD = ["method F1", "word F1", "token F1"]
_GOLD = ["f1_of_segments", "f1_of_words", "f1"]
_SHARES = ["restored", "segments_equal_to_a_word", "segments_equal_to_a_token"]


def export_table(scores: pl.DataFrame, left_out: Mapping[str, str], facts: Mapping[str, Any]) -> Table | None:
    """Means over the seeds, a row for each method and tokenizer; None where there is none.

    Args:
        left_out: names of tokenizers that could not be made, and why.
        facts: of the corpus, as `prepare` writes them.
    """
    if scores.is_empty():
        return None
    gold = facts["gold_words"] is not None
    shares = [*_SHARES, *(_GOLD if gold else [])]
    key = ["configuration", "export", "vocabulary", "bytes"]
    rows = [
        [named(row["configuration"], row["configuration"]), row["export"], f"{row['vocabulary']:,}"]
        + [f"{row['bytes'] / 1e6:.2f}"]
        + ["" if row[name] is None else f"{100 * row[name]:.2f}" for name in shares]
        for row in scores.group_by(key, maintain_order=True).agg(pl.col(shares).mean()).iter_rows(named=True)
    ]
    for place, column in enumerate(_GOLD[1:] if gold else ()):
        spreads = [Spread.of(of_one[column]) for _, of_one in scores.group_by(key, maintain_order=True)]
        mark(rows, len(_HEADER) + 1 + place, spreads)
    first = scores.row(0, named=True)
    title = (
        f"{first['corpus']}: methods as plain tokenizers, learned from {first['training_sentences']:,} sentences "
        f"({first['training_characters']:,} characters); per cent, means over the test sentences of "
        f"{scores['seed'].n_unique()} draws"
    )
    notes = [*facts["notes"], *(f"{name} is left out: {reason}" for name, reason in left_out.items())]
    return Table(f"export-{facts['corpus']}", title, _HEADER + (_HEADER_WITH_GOLD if gold else []), rows, notes)
