"""Result tables: from the rows of the evaluation stages to cells of text, beside the papers' own figures.

One `Table` is shown four ways: in the terminal, as Markdown (README and docs), as CSV and in the HTML report.
"""

import csv
import io
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import yaml

PAPERS = Path(__file__).with_name("papers.yaml")
_PAPER = "paper P / R / F1"
_HEADER = ["method", "λ", _PAPER, "P", "R", "F1", "BPE P", "BPE R", "BPE F1", "BPE F1, pre-cut", "|V|"]
_HEADER_WITHOUT_GOLD = ["method", "λ", "characters per segment", "characters per BPE token", "|V|"]


class Table(NamedTuple):
    """Cells of text, the first column left-aligned; `notes` go below."""

    name: str
    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str]

    def text(self) -> str:
        """Aligned columns for a terminal."""
        widths = [max(len(row[i]) for row in [self.header, *self.rows]) for i in range(len(self.header))]
        lines = [_aligned(row, widths) for row in [self.header, *self.rows]]
        rule = "-" * len(lines[0])
        return "\n".join([self.title, rule, lines[0], rule, *lines[1:], *self.notes]) + "\n"

    def markdown(self) -> str:
        """A table of GitHub's Markdown, title and notes around it."""
        escaped = [[cell.replace("|", "\\|") for cell in row] for row in [self.header, *self.rows]]
        lines = ["| " + " | ".join(row) + " |" for row in escaped]
        rule = "| --- |" + " ---: |" * (len(self.header) - 1)
        notes = [f"*{note}*  " for note in self.notes]
        return "\n".join([f"**{self.title}**", "", lines[0], rule, *lines[1:], "", *notes]).rstrip() + "\n"

    def csv(self) -> str:
        """The cells as comma-separated values."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([self.header, *self.rows])
        return out.getvalue()


def _aligned(row: list[str], widths: list[int]) -> str:
    cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
    return "  ".join(cells).rstrip()


def segmentation_tables(scores: pl.DataFrame, facts: dict[str, Any]) -> list[Table]:
    """Table 1 of the entropy paper for one corpus, and the same with statistics from all the rest of it."""
    notes, gold = facts["notes"], facts["gold_words"] is not None
    if not gold:
        notes = [*notes, "no gold words are marked in this corpus: precision, recall and F1 are left out"]
    drawn, rest = (scores.filter(pl.col("scope") == scope) for scope in ("draw", "rest"))
    name = f"segmentation-{facts['corpus']}"
    return [
        _segmentation_table(name, _title(drawn, "drawn sentences"), drawn, _paper_rows(facts), gold, notes),
        # The paper has no such table: its baseline, too, was trained on the drawn sentences.
        _segmentation_table(f"{name}-rest", _title(rest, "sentences, all but those held out"), rest, {}, gold, notes),
    ]


def _title(scores: pl.DataFrame, what: str) -> str:
    first = scores.row(0, named=True)
    return (
        f"{first['corpus']}: statistics and BPE from {first['training_sentences']:,} {what} "
        f"({first['training_characters']:,} characters in the first draw); "
        f"mean ± sd of {scores['seed'].n_unique()} draws"
    )


def _paper_rows(facts: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Table 1 of the paper, by the names that its rows have here; nothing where the text is of another source."""
    paper = yaml.safe_load(PAPERS.read_text(encoding="utf-8"))["entropy_pretokenization"]
    return paper["rows"] if facts["source"] == paper["source"] else {}


def _segmentation_table(
    name: str, title: str, scores: pl.DataFrame, paper: dict[str, dict[str, float]], gold: bool, notes: list[str]
) -> Table:
    rows = []
    for (method,), of_method in scores.group_by("method", maintain_order=True):
        first = of_method.row(0, named=True)
        weight = "" if first["lambda"] is None else f"{first['lambda']:g}"
        cells = {bpe: of_method.filter(pl.col("bpe") == bpe) for bpe in ("none", "raw", "pretokenized")}
        vocabulary = _mean(cells["raw"], "vocabulary", 0)
        label = [_label(str(method), first), weight]
        if gold:
            printed = paper.get(_paper_row(str(method), first["reading"]))
            beside = " / ".join(f"{printed[k]:.2f}" for k in ("precision", "recall", "f1")) if printed else ""
            ours = [*_prf(cells["none"]), *_prf(cells["raw"]), _f1(cells["pretokenized"]), vocabulary]
            rows.append([*label, *([beside] if paper else []), *ours])
        else:
            lengths = [_mean(cells[bpe], "characters_per_segment", 3) for bpe in ("none", "raw")]
            rows.append([*label, *lengths, vocabulary])
    rows.sort(key=lambda row: not row[0].startswith("BPE"))  # baselines first, as in the paper
    if not gold:
        return Table(name, title, _HEADER_WITHOUT_GOLD, rows, notes)
    return Table(name, title, [cell for cell in _HEADER if paper or cell != _PAPER], rows, notes)


def _label(method: str, row: dict[str, Any]) -> str:
    reading = row["reading"]
    if reading is None:
        return "BPE alone" if method == "bpe" else "BPE, punctuation split off"
    if method == f"{reading}-entropy":
        return f"{reading}, entropy only"
    chosen = {"θ": row["threshold"], "ν": row["nu"]}
    return ", ".join([reading, *(f"{name} = {value:g}" for name, value in chosen.items() if value is not None)])


def _paper_row(method: str, reading: str | None) -> str:
    """The row of the paper's Table 1 that a method stands for; the paper has none of the name of a reading."""
    return method if reading is None else method.removeprefix(f"{reading}-")


def _prf(rows: pl.DataFrame) -> list[str]:
    if not len(rows):
        return ["", "", ""]
    return [_percent(rows, "precision"), _percent(rows, "recall"), _f1(rows)]


def _f1(rows: pl.DataFrame) -> str:
    if not len(rows):
        return ""
    spread = rows["f1"].std()
    return _percent(rows, "f1") + (f" ± {100 * float(spread):.1f}" if spread is not None else "")  # type: ignore[arg-type]


def _percent(rows: pl.DataFrame, column: str) -> str:
    return f"{100 * float(rows[column].mean()):.1f}" if len(rows) else ""  # type: ignore[arg-type]


def _mean(rows: pl.DataFrame, column: str, digits: int) -> str:
    return f"{float(rows[column].mean()):,.{digits}f}" if len(rows) else ""  # type: ignore[arg-type]
