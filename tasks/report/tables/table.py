"""A table of text cells: for a terminal, as Markdown (README and docs), as CSV, and in the HTML page."""

import csv
import io
from typing import NamedTuple


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

    def without_empty_rows(self, leading: int) -> "Table":
        """The table without the rows whose cells are all empty after the first `leading`; a note lists these rows."""
        left_out = [row[0] for row in self.rows if not any(row[leading:])]
        if not left_out:
            return self
        rows = [row for row in self.rows if any(row[leading:])]
        return self._replace(rows=rows, notes=[*self.notes, f"no values: {', '.join(left_out)}"])


def _aligned(row: list[str], widths: list[int]) -> str:
    cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
    return "  ".join(cells).rstrip()
