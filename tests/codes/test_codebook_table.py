"""The codebook as a table: every character in its cell, similar atoms side by side, and HTML that parses."""

import itertools
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from tokenlab.codes.codebook import Codebook, smallest_K
from tokenlab.codes.corpus import character_corpus
from tokenlab.codes.table import codebook_html, codebook_page, codebook_text, table_order
from tokenlab.core.errors import InputError


def codebook(characters, N, facts=None):
    characters = "".join(sorted(characters))
    K = smallest_K(len(characters), N)
    assigned = np.random.default_rng(0).permutation(K**N)[: len(characters)]
    return Codebook("latom", N, K, characters, assigned, facts=facts or {})


def test_text_of_a_hand_made_codebook():
    code = Codebook(
        "latom", 2, 2, " a月", np.array([1, 2, 0]), facts={"table": {"rows": ["a1", "a0"], "columns": ["b0", "b1"]}}
    )
    assert codebook_text(code) == "    b0  b1\na1  a\na0  月  ␣\n"
    plain = Codebook("latom", 2, 2, " a月", np.array([1, 2, 0]))
    assert codebook_text(plain) == "    b0  b1\na0  月  ␣\na1  a\n"


def test_one_digit_is_a_list_and_three_have_a_row_for_each_prefix_that_occurs():
    assert codebook_text(Codebook("latom", 1, 3, " e", np.array([2, 0]))) == "a0  e\na2  ␣\n"
    code = Codebook("latom", 3, 2, "xyz", np.array([7, 2, 3]))
    assert codebook_text(code) == "       c0  c1\na0 b1  y   z\na1 b1      x\n"


class Cells(HTMLParser):
    """The cells of a table by row and column, and the open elements at the end."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag != "meta":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.mark.parametrize("N", [2, 3])
def test_html_has_the_cells_of_the_text(N):
    code = codebook("""<>&"' abcé月はカ한٣☃""", N)
    for html in (codebook_html(code), codebook_page(code)):
        page = Cells(html)
        assert page.open == []
        (corner, *columns), *rows = page.rows
        found = {}
        for prefix, *cells in rows:
            found |= {cell: f"{prefix} {column}" for column, cell in zip(columns, cells, strict=True) if cell}
        expected = {
            "␣" if character == " " else character: " ".join(f"{'abc'[n]}{k}" for n, k in enumerate(digits))
            for character, digits in zip(code.characters, code.digits.tolist(), strict=True)
        }
        assert corner == "" and found == expected
    assert codebook_html(code) in codebook_page(code)
    assert all(f'class="{name}"' in html for name in ("han", "hiragana", "katakana", "hangul", "number", "lowercase"))


@settings(max_examples=50)
@given(st.sets(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40), st.integers(1, 4))
def test_any_codebook_can_be_shown(characters, N):
    code = codebook(characters, N)
    lines = codebook_text(code).split("\n")
    assert lines.pop() == "" and len(lines) > (N > 1)
    assert Cells(codebook_page(code)).open == []


def test_no_leaf_order_of_the_same_tree_has_nearer_neighbours():
    """Four rows in a line: each follows other characters than the next, and overlaps with its neighbour alone."""
    texts = ["1a", "2a", "2b", "3b", "3c", "4c", "4d", "5d"]
    corpus = character_corpus(text for text in texts for _ in range(9))
    characters = corpus.characters
    # Rows 0..3 for c, a, d, b (so that their numbers are out of order), the digits in row 4.
    rows = {"c": 0, "a": 1, "d": 2, "b": 3} | dict.fromkeys("12345", 4)
    columns = {"c": 0, "a": 0, "d": 0, "b": 0} | {digit: place for place, digit in enumerate("12345")}
    code = Codebook("latom", 2, 5, characters, np.array([5 * rows[c] + columns[c] for c in characters]))
    order = [row for row in table_order(code, corpus)["rows"] if row != "a4"]
    assert order in (["a1", "a3", "a0", "a2"], ["a2", "a0", "a3", "a1"])
    preceding = {0: [0, 0, 9, 9, 0], 1: [9, 9, 0, 0, 0], 2: [0, 0, 0, 9, 9], 3: [0, 9, 9, 0, 0]}

    def length(rows):
        return sum(jensenshannon(preceding[a], preceding[b]) for a, b in itertools.pairwise(rows))

    best = min(map(length, itertools.permutations(range(4))))
    assert length([int(row[1:]) for row in order]) == pytest.approx(best)


def test_another_corpus_and_a_damaged_order_are_refused():
    code = codebook("abc", 2)
    with pytest.raises(InputError, match="this corpus differs"):
        table_order(code, character_corpus(["abcd"]))
    columns = ["b0", "b1"]
    for order in (
        {"rows": ["a0"], "columns": columns},
        {"rows": ["a0", "a0"], "columns": columns},
        {"rows": ["a0", "a1"]},
        {"rows": ["a0", 1], "columns": columns},
        ["a0"],
        None,
    ):
        with pytest.raises(InputError, match="order"):
            codebook_text(codebook("abc", 2, facts={"table": order}))
