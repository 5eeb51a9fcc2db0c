"""The order of a codebook's rows and columns as a table, so that similar atoms stand together (Latom, Table 3).

The first digits of a code are next to what precedes the character, the last digit is next to what follows it. So an
atom of the last digit is described by the distribution of the characters that follow those which have it, an atom of
any other digit by that of the characters that precede them; the edge of a sequence counts as one more character. Atoms
are clustered by the Jensen-Shannon distance of those distributions (average linkage) and the leaves of the tree put in
the order that makes neighbours most alike.
"""

from typing import TypedDict

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist

from tokenlab.codes.codebook import Codebook
from tokenlab.codes.corpus import CharacterCorpus
from tokenlab.errors import InputError

LARGEST_CLUSTERED = 256
"""Atoms of a digit that are clustered; the time grows with their cube. More than that stay in their own order."""


class TableOrder(TypedDict):
    """Plain JSON values, as they stand in a codebook's facts."""

    rows: list[str]
    """Names of all digits but the last, a space between them; of the empty prefix where N is 1."""
    columns: list[str]
    """Names of the last digit, those of free codes included."""


def table_order(codebook: Codebook, corpus: CharacterCorpus) -> TableOrder:
    """The rows and columns of a codebook's table. Deterministic, and which number an atom has does not matter to it.

    With N = 2 every atom has a row or column, unused ones at the end; with a larger N every prefix that occurs has a
    row, and prefixes that begin alike stand together. With N = 1 an atom is a character, and all stay in their order.

    Raises InputError where the corpus has other characters than the codebook.
    """
    if corpus.characters != codebook.characters:
        raise InputError("the table of a codebook is ordered by the corpus that it was learned from; this is another")
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
    """int32[characters of the corpus] each: what precedes and what follows; |C| at the edge of a sequence."""
    edge = len(corpus.characters)
    preceding, following = np.roll(corpus.symbols, 1), np.roll(corpus.symbols, -1)
    preceding[corpus.offsets[:-1]] = edge
    following[corpus.offsets[1:] - 1] = edge
    return preceding, following


def _digit_order(atoms: np.ndarray, K: int, corpus: CharacterCorpus, neighbours: np.ndarray) -> list[int]:
    """All K atoms of a digit, similar ones beside each other; atoms: int[|C|], of each character."""
    used, first, number = np.unique(atoms, return_index=True, return_inverse=True)
    by_character = np.argsort(first)  # Of their first characters: that settles ties and the direction.
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
    """The rows of a table of counts, none of them all zeros, in the order of an optimal tree; the smaller end first."""
    distances = np.round(pdist(counts, "jensenshannon"), 9)  # Rounded, lest the last bit of a logarithm decide.
    leaves = leaves_list(linkage(distances, "average", optimal_ordering=True))
    return leaves if leaves[0] < leaves[-1] else leaves[::-1]
