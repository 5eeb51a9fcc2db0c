"""A table of text cells: for a terminal, as Markdown (README and docs), as CSV, and in the HTML page.

Cells of `tasks.report.verdict` carry marks: the best is bold (on a terminal, a star), what is not separable from
it has ≈, and methods of this project have †. CSV has the cells alone.
"""

import csv
import io
import re
from typing import NamedTuple

from tasks.report.verdict import NOTE, Best, Ours, Tied

_MARKS: dict[type[str], str] = {Best: "*", Tied: "≈", Ours: "†"}
_CLASSES: dict[type[str], str] = {Best: "best", Tied: "tied", Ours: "ours"}
_OURS = "†: a method of this project"
_EXPLANATIONS = ("bold: ", _OURS)
_BARS, _NOTE = re.compile(r"(?<!\\)\|"), re.compile(r"\*[^*]")


class Table(NamedTuple):
    """Cells of text, the first column left-aligned; `notes` go below."""

    name: str
    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str]

    def explained(self, best: str = "bold") -> list[str]:
        """What the marks of the table mean. best: how the best is shown."""
        kinds = {type(cell) for row in self.rows for cell in row}
        leaders = [f"{best}: {NOTE}"] if kinds & {Best, Tied} else []
        return leaders + ([_OURS] if Ours in kinds else [])

    def text(self) -> str:
        """Aligned columns for a terminal."""
        columns = [_marked(column) for column in zip(self.header, *self.rows, strict=True)]
        widths = [max(map(len, column)) for column in columns]
        lines = [_aligned(row, widths) for row in zip(*columns, strict=True)]
        rule = "-" * len(lines[0])
        return "\n".join([self.title, rule, lines[0], rule, *lines[1:], *self.notes, *self.explained("*")]) + "\n"

    def markdown(self) -> str:
        """A table of GitHub's Markdown, title and notes around it."""
        lines = ["| " + " | ".join(map(_in_markdown, row)) + " |" for row in [self.header, *self.rows]]
        rule = "| --- |" + " ---: |" * (len(self.header) - 1)
        notes = [f"*{note}*  " for note in [*self.notes, *self.explained()]]
        return "\n".join([f"**{self.title}**", "", lines[0], rule, *lines[1:], "", *notes]).rstrip() + "\n"

    def csv(self) -> str:
        """The cells as comma-separated values."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([self.header, *self.rows])
        return out.getvalue()

    def without_empty_rows(self, leading: int) -> "Table":
        """The table without the rows whose cells are all empty after the first `leading`; a note lists these rows."""
        left_out = [row[0] for row in self.rows if not any(row[leading:])]
        if not left_out:
            return self
        rows = [row for row in self.rows if any(row[leading:])]
        return self._replace(rows=rows, notes=[*self.notes, f"no values: {', '.join(left_out)}"])


def cell_class(cell: str) -> str:
    """The class of a cell in the HTML page; empty for one without a mark."""
    return _CLASSES.get(type(cell), "")


def read_markdown(text: str) -> tuple[list[list[str]], list[str]]:
    """The rows of a table that `Table.markdown` wrote, header first, with the marks of their cells; and its notes."""
    lines = text.splitlines()
    rows = [[_from_markdown(cell) for cell in _BARS.split(line)[1:-1]] for line in lines if line.startswith("| ")]
    notes = [line.strip("* ") for line in lines if _NOTE.match(line)]
    return [rows[0], *rows[2:]], [note for note in notes if not note.startswith(_EXPLANATIONS)]


def _from_markdown(cell: str) -> str:
    text = cell.strip().replace("\\|", "|")
    if text.startswith("**") and text.endswith("**"):
        return Best(text.strip("*"))
    kind = next((kind for kind in (Tied, Ours) if text.endswith(f" {_MARKS[kind]}")), str)
    return kind(text if kind is str else text[:-2])


def _marked(column: tuple[str, ...]) -> list[str]:
    """The cells of a column with their marks; where some have one, the others are as much wider."""
    marks = [_MARKS.get(type(cell), "") for cell in column]
    gap = " " if any(marks) else ""
    return [cell + (mark or gap) for cell, mark in zip(column, marks, strict=True)]


def _in_markdown(cell: str) -> str:
    text = cell.replace("|", "\\|")
    if isinstance(cell, Best):
        return f"**{text}**"
    return f"{text} {_MARKS[type(cell)]}" if type(cell) in _MARKS else text


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
    return "  ".join(cells).rstrip()
