"""A codebook as a table (Latom, Table 3): as aligned text, and as HTML; the order of its rows and columns.

Rows are the digits of a code but the last, columns the last one, cells the characters; free codes are empty cells.
The order is taken from the codebook's facts, where `with_table_order` puts it; without it rows and columns are in the
order of the atoms. With N = 1 the table is a list. A space is shown as ␣, a combining mark on a dotted circle, and
other whitespace, controls and ␣ itself as \\uXXXX.

The order puts similar atoms next to each other. The first digits of a code are next to the preceding character, the
last digit is next to the following one. So an atom of the last digit is described by the distribution of the characters
that follow the characters with this atom, an atom of any other digit by the distribution of the characters that precede
them; the edge of a sequence counts as one more character. Atoms are clustered by the Jensen-Shannon distance of these
distributions (average linkage), and the leaves of the tree are put in the order that makes neighbours most alike.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import NamedTuple, TypedDict

import numpy as np
import regex

from tokenlab.codes.codebook import Codebook
from tokenlab.codes.corpus import CharacterCorpus
from tokenlab.codes.interface import shown
from tokenlab.core.errors import InputError

_STYLE = """\
.codebook { margin: 1rem 0; color: #1f2933; font: 15px/1.3 "Noto Sans", "Noto Sans CJK JP", system-ui, sans-serif; }
.codebook figcaption { margin-bottom: .6rem; color: #62707c; }
.codebook figcaption span { display: inline-block; margin: .1rem 0 .1rem .4rem; padding: .1rem .5rem; color: #1f2933;
  border-radius: 3px; }
.codebook div { overflow: auto; }
.codebook table { border-collapse: collapse; font-size: inherit; }
.codebook th, .codebook td { min-width: 1.5em; padding: .12em .25em; text-align: center; white-space: nowrap;
  border: 1px solid #fff; }
.codebook th { color: #62707c; background: #fff; font-size: .75em; font-weight: 500; }
.codebook tbody th { text-align: right; }
.codebook tbody td:empty { background: #f7f8f9; }
.codebook ul { display: flex; flex-wrap: wrap; gap: 2px; margin: 0; padding: 0; list-style: none; }
.codebook li { min-width: 2em; padding: .12em .3em; text-align: center; }
.codebook li small { display: block; color: #62707c; }
"""
LARGEST_CLUSTERED = 256
"""Largest number of atoms per digit that are clustered; the time grows with its cube. More keep their own order."""


class _Table(NamedTuple):
    rows: Sequence[str]
    columns: Sequence[str]
    cells: dict[tuple[str, str], str]
    """Characters by row and column."""


def codebook_text(code: Codebook) -> str:
    """The table as lines of text; its columns align in a terminal that gives wide characters two columns.

    Raises InputError where the order in the facts does not name exactly the rows and columns of this codebook.
    """
    rows, columns, cells = _table(code)
    if code.N == 1:
        lines = [[column, visible(cells["", column])] for column in columns if ("", column) in cells]
    else:
        lines = [[row, *(visible(cells.get((row, column), "")) for column in columns)] for row in rows]
        lines.insert(0, ["", *columns])
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    return "".join(_aligned(line, widths) + "\n" for line in lines)


def codebook_html(code: Codebook) -> str:
    """The table as a fragment of HTML with its own style and legend; nothing is loaded from elsewhere.

    Raises InputError as `codebook_text`.
    """
    table = _table(code)
    classes = {character: _class_of(character) for character in code.characters}
    legend = [kind for kind in _CLASSES if kind in classes.values()]
    style = _STYLE + "".join(f".codebook .{kind.name} {{ background: {kind.colour}; }}\n" for kind in legend)
    caption = f"{code.kind}, N = {code.N}, K = {code.K}: {len(code.characters):,} characters, {code.K**code.N:,} codes"
    keys = " ".join(f'<span class="{kind.name}">{kind.label}</span>' for kind in legend)
    body = (_list if code.N == 1 else _grid)(table, classes)
    return (
        f'<figure class="codebook">\n<style>\n{style}</style>\n'
        f"<figcaption>{escape(caption)}. {keys}</figcaption>\n<div>{body}</div>\n</figure>\n"
    )


def codebook_page(code: Codebook) -> str:
    """The table as a self-contained page of HTML. Raises InputError as `codebook_text`."""
    title = f"Codebook: {code.kind}, N = {code.N}, K = {code.K}"
    head = f'<meta charset="utf-8">\n<title>{escape(title)}</title>'
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{codebook_html(code)}</body>\n</html>\n'
    )


def visible(character: str) -> str:
    """A character as a cell shows it."""
    if character == " ":
        return "␣"
    if character == "␣":
        return "\\u2423"
    if unicodedata.category(character or "x").startswith("M"):
        return "◌" + character
    return shown(character)


def _table(code: Codebook) -> _Table:
    N, K = code.N, code.K
    names = [code.alphabet[n * K : (n + 1) * K] for n in range(N)]
    cells = {}
    for character, digits in zip(code.characters, code.digits.tolist(), strict=True):
        *row, column = [names[n][k] for n, k in enumerate(digits)]
        cells[" ".join(row), column] = character
    if N == 2:
        rows = list(names[0])
    else:
        prefixes = sorted({tuple(digits[:-1]) for digits in code.digits.tolist()})
        rows = [" ".join(names[n][k] for n, k in enumerate(prefix)) for prefix in prefixes]
    ordered = code.facts.get("table", {"rows": rows, "columns": list(names[-1])})
    try:
        fits = sorted(ordered["rows"]) == sorted(rows) and sorted(ordered["columns"]) == sorted(names[-1])
    except (KeyError, TypeError):
        fits = False
    if not fits:
        raise InputError("the table order in the facts does not fit this codebook; learn it again")
    return _Table(ordered["rows"], ordered["columns"], cells)


def _width(text: str) -> int:
    """Width in columns of a terminal: two for a wide character, none for a mark."""
    marks = sum(unicodedata.category(character) in ("Mn", "Me") for character in text)
    return len(text) - marks + sum(unicodedata.east_asian_width(character) in "WF" for character in text)


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)]
    return "  ".join(padded).rstrip()


class _Class(NamedTuple):
    """Characters of one colour."""

    name: str
    label: str
    pattern: str
    colour: str


_CLASSES = (  # The first whose pattern matches.
    _Class("han", "Han", r"\p{Script=Han}", "#f5efe2"),
    _Class("hiragana", "Hiragana", r"\p{Script=Hiragana}", "#d3e5ee"),
    _Class("katakana", "Katakana", r"[\p{Script=Katakana}ー]", "#ddd9ee"),
    _Class("hangul", "Hangul", r"\p{Script=Hangul}", "#dcebdc"),
    _Class("uppercase", "uppercase", r"[\p{Lu}\p{Lt}]", "#c9dfeb"),
    _Class("lowercase", "lowercase", r"\p{Ll}", "#eef4f7"),
    _Class("letter", "other letters and marks", r"[\p{L}\p{M}]", "#e6efe0"),
    _Class("number", "numbers", r"\p{N}", "#f6e7b9"),
    _Class("punctuation", "punctuation and symbols", r"[\p{P}\p{S}]", "#f2d3ca"),
    _Class("space", "whitespace and controls", r"(?s:.)", "#d9dee3"),
)


def _class_of(character: str) -> _Class:
    return next(kind for kind in _CLASSES if regex.match(kind.pattern, character))


def _grid(table: _Table, classes: dict[str, _Class]) -> str:
    heads = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    body = []
    for row in table.rows:
        cells = "".join(
            _cell(table.cells.get((row, column), ""), f"{row} {column}", classes) for column in table.columns
        )
        body.append(f'<tr><th scope="row">{escape(row)}</th>{cells}</tr>\n')
    return f"<table>\n<thead><tr><td></td>{heads}</tr></thead>\n<tbody>\n{''.join(body)}</tbody>\n</table>"


def _cell(character: str, name: str, classes: dict[str, _Class]) -> str:
    if not character:
        return "<td></td>"
    return f'<td class="{classes[character].name}" title="{_title(character, name)}">{escape(visible(character))}</td>'


def _list(table: _Table, classes: dict[str, _Class]) -> str:
    items = [
        f'<li class="{classes[character].name}" title="{_title(character, column)}">{escape(visible(character))}'
        f"<small>{escape(column)}</small></li>\n"
        for column in table.columns
        if (character := table.cells.get(("", column)))
    ]
    return f"<ul>\n{''.join(items)}</ul>"


def _title(character: str, name: str) -> str:
    return escape(f"U+{ord(character):04X} {unicodedata.name(character, '')}: {name}".replace(" :", ":"))


class TableOrder(TypedDict):
    """Plain JSON values, as `with_table_order` puts them into a codebook's facts."""

    rows: list[str]
    """Prefixes of codes: the names of all atoms but the last, separated by spaces; one empty prefix where N is 1."""
    columns: list[str]
    """Names of the atoms of the last digit, unused ones included."""


def with_table_order(codebook: Codebook, corpus: CharacterCorpus) -> Codebook:
    """The codebook with `table_order` among its facts, as `table`, where `codebook_text` and `codebook_html` find it.

    Raises InputError as `table_order`.
    """
    return replace(codebook, facts={**codebook.facts, "table": table_order(codebook, corpus)})


def table_order(codebook: Codebook, corpus: CharacterCorpus) -> TableOrder:
    """The rows and columns of a codebook's table: deterministic, and independent of how atoms are numbered.

    With N = 2 every atom has a row or column, unused atoms at the end. With a larger N every prefix that occurs has a
    row, and prefixes with the same beginning are adjacent. With N = 1 an atom is a character, and the characters keep
    their order.

    Raises InputError where the corpus has other characters than the codebook.
    """
    if corpus.characters != codebook.characters:
        raise InputError("a codebook's table is ordered by the corpus that it was learned from; this corpus differs")
    N, K = codebook.N, codebook.K
    names = [codebook.alphabet[n * K : (n + 1) * K] for n in range(N)]
    if N == 1:
        return {"rows": [""], "columns": list(names[0])}
    preceding, following = _neighbours(corpus)
    orders = [_digit_order(codebook.digits[:, n], K, corpus, preceding) for n in range(N - 1)]
    columns = _digit_order(codebook.digits[:, -1], K, corpus, following)
    places = [np.argsort(order).tolist() for order in orders]
    prefixes = {(k,) for k in range(K)} if N == 2 else set(map(tuple, codebook.digits[:, :-1].tolist()))
    rows = sorted(prefixes, key=lambda prefix: [place[k] for place, k in zip(places, prefix, strict=True)])
    return {
        "rows": [" ".join(names[n][k] for n, k in enumerate(prefix)) for prefix in rows],
        "columns": [names[-1][k] for k in columns],
    }


def _neighbours(corpus: CharacterCorpus) -> tuple[np.ndarray, np.ndarray]:
    """The preceding and the following character of each: int32[total] both; |C| at the edge of a sequence."""
    edge = len(corpus.characters)
    preceding, following = np.roll(corpus.symbols, 1), np.roll(corpus.symbols, -1)
    preceding[corpus.offsets[:-1]] = edge
    following[corpus.offsets[1:] - 1] = edge
    return preceding, following


def _digit_order(atoms: np.ndarray, K: int, corpus: CharacterCorpus, neighbours: np.ndarray) -> list[int]:
    """All K atoms of a digit, similar ones next to each other. atoms: int[|C|], the atom of each character."""
    used, first, number = np.unique(atoms, return_index=True, return_inverse=True)
    by_character = np.argsort(first)  # By their first characters, which settles ties and the direction.
    unused = sorted(set(range(K)) - set(used.tolist()))
    if len(used) > LARGEST_CLUSTERED:
        return used.tolist() + unused
    if len(used) > 2:
        width = len(corpus.characters) + 1
        places = (number * width)[corpus.symbols] + neighbours
        counts = np.bincount(places, minlength=len(used) * width).reshape(len(used), width)
        by_character = by_character[_leaves(counts[by_character].astype(float))]
    return used[by_character].tolist() + unused


def _leaves(counts: np.ndarray) -> np.ndarray:
    """The rows of a table of counts (no row all zeros) in the order of an optimal tree, its smaller end first."""
    # Imported here: it takes half a second, and a table is shown without it.
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import pdist

    distances = np.round(pdist(counts, "jensenshannon"), 9)  # Rounded, so that no last bit of a logarithm decides.
    leaves = leaves_list(linkage(distances, "average", optimal_ordering=True))
    return leaves if leaves[0] < leaves[-1] else leaves[::-1]
