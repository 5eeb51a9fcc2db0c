"""A table for each paper of papers.yaml: its tables and figures, row by row, beside ours of the same measure."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from tasks.report.table import Table, read_paper
from tasks.report.verdict import FEW_RUNS

PAPERS = ("entropy_pretokenization", "latom", "exact", "bit_level_bpe", "hierarchical_bpe")


def paper_tables(tables: Iterable[Table], preset: str) -> list[Table]:
    """The tables of the papers that some of these tables of a preset can be held against."""
    known = {table.name: table for table in tables}
    return [table for name in PAPERS if (table := _paper_table(name, known, preset)).rows]


def claims(name: str) -> Iterator[dict[str, Any]]:
    """What a paper claims: `place`, `printed`, and the `table`, `row` and `column` of ours.

    A claim of papers.yaml with lists under `each` is one claim for each combination of their values, which replace {0},
    {1} and so on; {0[0]} and {0[1]} are those of a pair.
    """
    for claim in read_paper(name)["claims"]:
        for values in product(*claim.get("each", [])):
            filled = {key: text.format(*values) for key, text in claim.items() if isinstance(text, str)}
            yield {**filled, "row": [cell.format(*values) for cell in claim["row"]]}


def printed(name: str, claim: Mapping[str, Any]) -> str:
    """A figure of a paper by its place in papers.yaml, such as rows.bpe.f1; or the text itself, such as `picture`."""
    if "." not in claim["printed"]:
        return claim["printed"]
    found: Any = read_paper(name)
    for key in claim["printed"].split("."):
        found = found[key] if key in found else found[int(key)]
    return str(found)


def ours(tables: Mapping[str, Table], claim: Mapping[str, Any]) -> str:
    """Our figure for a claim; empty where no table has its row and column."""
    table = tables.get(claim["table"])
    if table is None or claim["column"] not in table.header:
        return ""
    place = table.header.index(claim["column"])
    found = next((row[place] for row in table.rows if row[: len(claim["row"])] == claim["row"]), "")
    return FEW_RUNS.sub("", found)


def _paper_table(name: str, tables: Mapping[str, Table], preset: str) -> Table:
    paper, rows = read_paper(name), []
    for claim in claims(name):
        if found := ours(tables, claim):
            where = f"{claim['table']}: {claim['column']}"
            rows.append([claim["place"], printed(name, claim), found, where, claim.get("why", "")])
    header = ["in the paper", "its figure", "ours", "our table: column", "why different"]
    notes = [f"ours: `make repro PRESET={preset} ONLY={paper['family']}`", paper["why"], paper["address"]]
    return Table(f"paper-{name}", paper["title"], header, rows, notes, "ours")
