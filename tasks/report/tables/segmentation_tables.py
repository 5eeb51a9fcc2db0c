"""Tables of segmentation: Table 1 of the entropy paper for each corpus, and a short one with word F1 alone.

They are made from the scores of `evaluate_segmentation`: one row for each training text (`subset` or `full`), seed,
configuration and use of BPE (`none`, `raw` or `pretokenized`).
"""

from pathlib import Path
from typing import Any

import polars as pl
import yaml

from tasks.report.style import OWN_METHODS
from tasks.report.tables.table import Table
from tasks.report.verdict import Ours, Spread, mark

PAPERS = Path(__file__).with_name("papers.yaml")

_PAPER = "paper P / R / F1"
_HEADER = ["method", "λ", _PAPER, "P", "R", "F1", "BPE P", "BPE R", "BPE F1", "BPE F1, pre-cut", "|V|"]
_HEADER_WITHOUT_GOLD = ["method", "λ", "characters per segment", "characters per BPE token", "|V|"]
_JUDGED = {"F1": "none", "BPE F1": "raw", "BPE F1, pre-cut": "pretokenized"}
"""Columns in which the best is marked -> the use of BPE."""

_BASELINES = {"bpe": "BPE alone", "bpe-punctuation": "BPE, punctuation split off"}
_SUMMARISED = _BASELINES | {
    "literal-4": "PMI and branching entropy, as in the paper (λ = 4)",
    "gpt2": "GPT-2's entropy, as in the paper",
    "viterbi": "viterbi: scripts isolated",
    "variation": "variation: with variation of branching entropy",
    "words": "words: a bigram of words, started from variation",
}
"""Configurations of the short table, and how it calls them."""


def segmentation_tables(scores: pl.DataFrame, facts: dict[str, Any]) -> list[Table]:
    """Table 1 of the entropy paper for one corpus, and the same with statistics from its full text.

    facts: of the corpus, as `prepare` writes them.
    """
    notes, gold = facts["notes"], facts["gold_words"] is not None
    if not gold:
        notes = [*notes, "no gold words are marked in this corpus: precision, recall and F1 are left out"]
    subset, full = (scores.filter(pl.col("training") == training) for training in ("subset", "full"))
    name = f"segmentation-{facts['corpus']}"
    return [
        _table(name, _title(subset, "drawn sentences"), subset, _paper_rows(facts), gold, notes),
        # The paper has no such table: its baseline was trained on the drawn sentences, too.
        _table(f"{name}-full", _title(full, "sentences, all but those held out"), full, {}, gold, notes),
    ]


def summary_table(scores: pl.DataFrame, facts: dict[str, Any]) -> Table | None:
    """Word F1 of at most seven configurations, beside the paper's; None where the corpus has no gold words."""
    if facts["gold_words"] is None:
        return None
    paper = _paper_rows(facts)
    sizes = {name: scores.filter(training=name)["training_sentences"][0] for name in ("subset", "full")}
    parts = [(training, bpe) for training in sizes for bpe in ("none", "raw")]
    header = ["method", "paper", *(f"{what}, {size:,}" for size in sizes.values() for what in ("segments", "BPE"))]
    rows, spreads = [], []
    for configuration, label in _SUMMARISED.items():
        of_configuration = scores.filter(configuration=configuration)
        if of_configuration.is_empty():
            continue
        printed = paper.get(_paper_row(configuration, of_configuration["method"][0]))
        shown = [of_configuration.filter(training=training, bpe=bpe) for training, bpe in parts]
        spreads.append([Spread.of(scored["f1"]) for scored in shown])
        rows.append([named(label, configuration), f"{printed['f1']:.2f}" if printed else "", *map(mean_share, shown)])
    for column in range(len(parts)):
        mark(rows, 2 + column, [of_row[column] for of_row in spreads])
    title = (
        f"{facts['corpus']}: word F1 of the segments and of BPE tokens, trained on {sizes['subset']:,} sentences and "
        f"on {sizes['full']:,}; mean ± sd of {scores['seed'].n_unique()} draws"
    )
    return Table(f"segmentation-{facts['corpus']}-summary", title, header, rows, facts["notes"])


def _title(scores: pl.DataFrame, what: str) -> str:
    first = scores.row(0, named=True)
    return (
        f"{first['corpus']}: statistics and BPE from {first['training_sentences']:,} {what} "
        f"({first['training_characters']:,} characters in the first draw); "
        f"mean ± sd of {scores['seed'].n_unique()} draws"
    )


def _paper_rows(facts: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Table 1 of the paper, row -> numbers; empty where the corpus is another text."""
    paper = yaml.safe_load(PAPERS.read_text(encoding="utf-8"))["entropy_pretokenization"]
    return paper["rows"] if facts["source"] == paper["source"] else {}


def _table(
    name: str, title: str, scores: pl.DataFrame, paper: dict[str, dict[str, float]], gold: bool, notes: list[str]
) -> Table:
    rows, spreads = [], []
    for (configuration,), of_configuration in scores.group_by("configuration", maintain_order=True):
        first = of_configuration.row(0, named=True)
        weight = "" if first["lambda"] is None else f"{first['lambda']:g}"
        cells = {bpe: of_configuration.filter(pl.col("bpe") == bpe) for bpe in ("none", "raw", "pretokenized")}
        vocabulary = _mean(cells["raw"], "vocabulary", 0)
        label = [named(_label(str(configuration), first), first["method"]), weight]
        if gold:
            printed = paper.get(_paper_row(str(configuration), first["method"]))
            beside = " / ".join(f"{printed[k]:.2f}" for k in ("precision", "recall", "f1")) if printed else ""
            ours = [*_prf(cells["none"]), *_prf(cells["raw"]), mean_share(cells["pretokenized"]), vocabulary]
            rows.append([*label, *([beside] if paper else []), *ours])
            spreads.append({name: Spread.of(cells[bpe]["f1"]) for name, bpe in _JUDGED.items()})
        else:
            lengths = [_mean(cells[bpe], "characters_per_segment", 3) for bpe in ("none", "raw")]
            rows.append([*label, *lengths, vocabulary])
    header = [cell for cell in _HEADER if paper or cell != _PAPER] if gold else _HEADER_WITHOUT_GOLD
    for heading in _JUDGED if gold else ():
        mark(rows, header.index(heading), [of_row[heading] for of_row in spreads])
    rows.sort(key=lambda row: not row[0].startswith("BPE"))  # Baselines first, as in the paper.
    return Table(name, title, header, rows, notes)


def named(label: str, method: str | None) -> str:
    """The label of a row, marked where the method is one of this project."""
    return Ours(label) if method in OWN_METHODS else label


def _label(configuration: str, row: dict[str, Any]) -> str:
    method = row["method"]
    if method is None:
        return _BASELINES.get(configuration, configuration)
    if configuration == f"{method}-entropy":
        return f"{method}, entropy only"
    tuned = {"θ": row["threshold"], "ν": row["nu"]}
    return ", ".join([method, *(f"{name} = {value:g}" for name, value in tuned.items() if value is not None)])


def _paper_row(configuration: str, method: str | None) -> str:
    """The row of the paper's Table 1 that corresponds to a configuration; most methods have none."""
    return configuration if method is None else configuration.removeprefix(f"{method}-")


def _prf(rows: pl.DataFrame) -> list[str]:
    if not len(rows):
        return ["", "", ""]
    return [percent(rows, "precision"), percent(rows, "recall"), mean_share(rows)]


def mean_share(rows: pl.DataFrame, column: str = "f1") -> str:
    """The mean and the deviation in per cent; empty where there is no row or no value."""
    if rows[column].null_count() == len(rows):
        return ""
    spread = rows[column].std()
    return percent(rows, column) + (f" ± {100 * float(spread):.1f}" if spread is not None else "")  # type: ignore[arg-type]


def percent(rows: pl.DataFrame, column: str) -> str:
    """The mean in per cent; empty where there is no row."""
    return f"{100 * float(rows[column].mean()):.1f}" if len(rows) else ""  # type: ignore[arg-type]


def _mean(rows: pl.DataFrame, column: str, digits: int) -> str:
    return f"{float(rows[column].mean()):,.{digits}f}" if len(rows) else ""  # type: ignore[arg-type]
