"""The order of rows and columns of a codebook's table, which puts similar atoms next to each other (Latom, Table 3).

The first digits of a code are next to the preceding character, the last digit is next to the following one. So an atom
of the last digit is described by the distribution of the characters that follow the characters with this atom, an atom
of any other digit by the distribution of the characters that precede them; the edge of a sequence counts as one more
character. Atoms are clustered by the Jensen-Shannon distance of these distributions (average linkage), and the leaves
of the tree are put in the order that makes neighbours most alike.
"""

from dataclasses import replace
from typing import TypedDict

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist

from tokenlab.codes.base.codebook import Codebook
from tokenlab.codes.base.corpus import CharacterCorpus
from tokenlab.core.errors import InputError

LARGEST_CLUSTERED = 256
"""Largest number of atoms per digit that are clustered; the time grows with its cube. More keep their own order."""


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
    distances = np.round(pdist(counts, "jensenshannon"), 9)  # Rounded, so that no last bit of a logarithm decides.
    leaves = leaves_list(linkage(distances, "average", optimal_ordering=True))
    return leaves if leaves[0] < leaves[-1] else leaves[::-1]
