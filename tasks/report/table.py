"""The one table of the report: columns over groups of scores, then cells of text for a terminal, Markdown, CSV and the
HTML page.

`tabulate` makes a table from a frame of scores and `Column`s. Cells may carry marks (`tasks.report.verdict`): the best
is bold (on a terminal, a star), what is not separable from it has ≈, and methods of this project have †. CSV has the
cells alone.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl
import yaml

from tasks.report.verdict import FEW_NOTE, FEW_RUNS, NOTE, Best, Kind, Ours, Spread, Tied, kinds

Form = str | Callable[[Any], str]
"""How a value is shown: a format such as "{:.2f}", or a function."""


class Caveat(str):
    """A note that limits what the figures of its table say."""


_MARKS: dict[type[str], str] = {Best: "*", Tied: "≈", Ours: "†"}
_CLASSES: dict[type[str], str] = {Best: "best", Tied: "tied", Ours: "ours", Caveat: "warning"}
_OURS = "†: a method of this project"
_EXPLANATIONS = ("bold: ", FEW_NOTE, _OURS)
_FIGURE = re.compile(r"[-+±×(]?\d|$")
_WITH_SPREAD = re.compile(r"[-+\d.,]+ ±")
_BARS = re.compile(r"(?<!\\)\|")
NOTE_LINE = re.compile(r"\*[^*]")
"""The beginning of a note below a table in Markdown."""


@cache
def read_paper(name: str) -> dict[str, Any]:
    """What a paper prints, as papers.yaml has it."""
    return yaml.safe_load(Path(__file__).with_name("papers.yaml").read_text(encoding="utf-8"))[name]


def shown(value: Any, form: Form = "{}", scale: float = 1) -> str:
    """A value as text; empty for None. Text is shown as it is, unless the form is a function."""
    if value is None:
        return ""
    if callable(form):
        return form(value if scale == 1 else scale * value)
    return value if isinstance(value, str) else form.format(value if scale == 1 else scale * value)


def of_seeds(scores: pl.DataFrame) -> str:
    """The end of the title of a table of means over the seeds; empty for one seed."""
    seeds = scores["seed"].n_unique()
    return f"; mean ± sd of {seeds} seeds" if seeds > 1 else ""


def together(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """The rows with those of equal values together, in the order of the values."""
    return pl.concat(rows.partition_by(column, maintain_order=True))


def names_above(scores: pl.DataFrame, key: str, column: str, bound: float, kind: str) -> list[str]:
    """The values of `key` whose mean of `column` is above `bound`; where all are, "all" and their kind alone."""
    means = scores.group_by(key, maintain_order=True).agg(pl.col(column).mean())
    above = means.filter(pl.col(column) > bound)[key].to_list()
    return [f"all {kind}"] if len(above) == len(means) else above


@dataclass(frozen=True)
class Column:
    """A column: a cell is made from the scores of its row, those of one group."""

    heading: str
    value: str | Callable[[pl.DataFrame], Any]
    """a column of the scores, or a function of the row's scores. Of a series the mean is shown, or its first text,
    without its nulls"""
    form: Form = "{}"
    scale: float = 1
    """100 for a share in per cent"""
    where: Mapping[str, Any] = field(default_factory=dict)
    """column -> value: the scores of a row that the cell is made from; by default all"""
    spread: bool = False
    """whether "± standard deviation" follows a mean of several values"""
    best: Literal["largest", "smallest"] | None = None
    """which value leads; the leaders are marked"""
    judged: Callable[[pl.DataFrame], Spread | None] | None = None
    """what is compared for the mark; by default mean and deviation of the values"""
    optional: bool = False
    """whether the column is left out where no row has a value"""
    result: bool = False
    """whether this is the result, which stays in sight where a page is narrow; by default the first with `best`"""
    note: str = ""
    """stands below a table that has the column"""

    def values(self, rows: pl.DataFrame) -> Any:
        """What the cell of a row shows."""
        rows = rows.filter(**self.where) if self.where else rows
        return rows[self.value] if isinstance(self.value, str) else self.value(rows)

    def cell(self, rows: pl.DataFrame) -> str:
        """The text of a row, without a mark."""
        found = self.values(rows)
        if not isinstance(found, pl.Series):
            return shown(found, self.form, self.scale)
        found = found.drop_nulls()
        if found.n_unique() <= 1 or not found.dtype.is_numeric():  # One value keeps its type: 5, not 5.0.
            mean = found[0] if len(found) else None
        else:
            mean = found.mean()
        text = shown(mean, self.form, self.scale)
        if not self.spread or len(found) < 2:
            return text
        unsigned = self.form.replace("+", "") if isinstance(self.form, str) else self.form
        return f"{text} ± {shown(found.std(), unsigned, self.scale)}"

    def marks(self, groups: Sequence[pl.DataFrame]) -> list[Kind]:
        """The kind of cell in each of these rows, which are rivals."""
        if self.best is None:
            return [str] * len(groups)
        if self.judged is None:
            spreads = [Spread.of(self.values(rows)) for rows in groups]
        else:
            spreads = [self.judged(rows.filter(**self.where)) for rows in groups]
        return kinds(spreads, largest=self.best == "largest")


class Table(NamedTuple):
    """Cells of text; `notes` go below."""

    name: str
    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str]
    result: str = ""
    """heading of the column with the result; empty where no column is more than the others"""

    @property
    def label(self) -> int:
        """The place of the column that tells the rows apart: the one with the most names among the first three."""
        columns = [{cell for cell in column if not _FIGURE.match(cell)} for column in zip(*self.rows, strict=True)]
        return max(range(min(3, len(columns))), key=lambda place: len(columns[place]), default=0)

    @property
    def names(self) -> set[int]:
        """The places of the columns of text, which are left-aligned, and of the first one."""
        columns = (list(filter(None, column)) for column in zip(*self.rows, strict=True))
        return {0} | {i for i, cells in enumerate(columns) if cells and not any(map(_FIGURE.match, cells))}

    @property
    def prose(self) -> set[int]:
        """The places of the columns with long text."""
        return {i for row in self.rows for i, cell in enumerate(row) if len(cell) > 24 and not _WITH_SPREAD.match(cell)}

    @property
    def classes(self) -> list[str]:
        """The classes of every column in the HTML page."""
        result = {self.header.index(self.result)} if self.result else set()
        places = {"label": {self.label} - result, "result": result, "name": self.names, "prose": self.prose}
        return [" ".join(name for name, of in places.items() if i in of) for i in range(len(self.header))]

    @property
    def records(self) -> list[dict[str, str]]:
        """The rows as heading -> cell."""
        assert len(set(self.header)) == len(self.header), self.header
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]

    def without(self, notes: Iterable[str]) -> "Table":
        """The table without notes that stand elsewhere."""
        return self._replace(notes=[note for note in self.notes if note not in notes])

    def explained(self, best: str = "bold") -> list[str]:
        """What the marks of the table mean. best: how the best is shown."""
        kinds = {type(cell) for row in self.rows for cell in row}
        leaders = [f"{best}: {NOTE}"] if kinds & {Best, Tied} else []
        leaders += [FEW_NOTE] if any(map(FEW_RUNS.search, chain.from_iterable(self.rows))) else []
        return leaders + ([_OURS] if Ours in kinds else [])

    def text(self) -> str:
        """Aligned columns for a terminal."""
        columns = [_marked(column) for column in zip(self.header, *self.rows, strict=True)]
        names = self.names
        aligned = [_aligned(column, left=i in names) for i, column in enumerate(columns)]
        lines = ["  ".join(row).rstrip() for row in zip(*aligned, strict=True)]
        rule = "-" * max(map(len, lines))
        return "\n".join([self.title, rule, lines[0], rule, *lines[1:], *self.notes, *self.explained("*")]) + "\n"

    def markdown(self) -> str:
        """A table of GitHub's Markdown, title and notes around it."""
        lines = ["| " + " | ".join(map(_in_markdown, row)) + " |" for row in [self.header, *self.rows]]
        names = self.names
        rule = "|" + "".join(" --- |" if i in names else " ---: |" for i in range(len(self.header)))
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


class Results(NamedTuple):
    """The results of a family; everything may be empty."""

    main: list[Table]
    """the tables of results.txt"""
    others: list[Table]
    """further tables that are written as files"""
    page: dict[str, Any]
    """what the family's section of the page shows"""

    @property
    def all(self) -> list[Table]:
        """The tables that are written as files."""
        return self.main + self.others


def there(tables: Iterable[Table]) -> list[Table]:
    """The tables with rows: a preset may have no results for some."""
    return [table for table in tables if table.rows]


def tabulate(
    name: str,
    title: str,
    scores: pl.DataFrame,
    columns: Sequence[Column],
    *,
    key: Sequence[str] = (),
    within: int = 0,
    notes: Iterable[str] = (),
    after: Callable[[pl.DataFrame], Iterable[Mapping[str, str]]] = lambda part: (),
) -> Table:
    """A table of scores.

    Args:
        key: columns that name a row; each of their values gives one, in the order of the scores. Empty: a row of scores
            is a row of the table.
        within: the first columns of the key that name a part; only rows of one part are rivals.
        notes: those of the columns follow.
        after: further rows below those of a part, such as published figures: heading -> cell.
    """
    rows = []
    for part in _groups(scores, key[:within]) if within else [scores]:
        groups = _groups(part, key) if key else [part.slice(number, 1) for number in range(len(part))]
        marks = zip(*(column.marks(groups) for column in columns), strict=True)
        for group, kinds_of_row in zip(groups, marks, strict=True):
            cells = [column.cell(group) for column in columns]
            rows.append([cell if kind is str else kind(cell) for kind, cell in zip(kinds_of_row, cells, strict=True)])
        rows += [[cells.get(column.heading, "") for column in columns] for cells in after(part)]
    places = [place for place, column in enumerate(columns) if not column.optional or any(row[place] for row in rows)]
    header = [columns[place].heading for place in places]
    of_columns = [columns[place].note for place in places if columns[place].note]
    results = sorted((columns[place] for place in places), key=lambda column: (not column.result, column.best is None))
    result = results[0].heading if results[0].result or results[0].best else ""
    rows = [[row[place] for place in places] for row in rows]
    return Table(name, title, header, rows, list(dict.fromkeys([*notes, *of_columns])), result)


def _groups(scores: pl.DataFrame, key: Sequence[str]) -> list[pl.DataFrame]:
    return [rows for _, rows in scores.group_by(*key, maintain_order=True)]


def cell_class(cell: str) -> str:
    """The class of a cell or a note in the HTML page; empty for one without a mark."""
    return _CLASSES.get(type(cell), "")


def read_markdown(text: str) -> Table:
    """A table that `Table.markdown` wrote, with the marks of its cells and without its name."""
    title, *lines = text.splitlines()
    header, _, *rows = [
        [_from_markdown(cell) for cell in _BARS.split(line)[1:-1]] for line in lines if line.startswith("| ")
    ]
    notes = [line.strip("* ") for line in lines if NOTE_LINE.match(line)]
    return Table("", title.strip("*"), header, rows, [note for note in notes if not note.startswith(_EXPLANATIONS)])


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


def _aligned(column: list[str], left: bool) -> list[str]:
    width = max(map(len, column))
    return [cell.ljust(width) if left else cell.rjust(width) for cell in column]


def _in_markdown(cell: str) -> str:
    text = cell.replace("|", "\\|")
    if isinstance(cell, Best):
        return f"**{text}**"
    return f"{text} {_MARKS[type(cell)]}" if type(cell) in _MARKS else text
