"""The spellings that patches may have, as a trie: which symbols may follow those of an open patch."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError

ROOT = 0
"""The node at which every patch begins."""


class Spellings:
    """A trie of sequences of symbols, each with the marker as its last symbol.

    Nodes are numbers; the symbols that may follow a node are one slice of an array, so the trie of 50,000 spellings is
    three arrays.
    """

    def __init__(self, spellings: Iterable[Sequence[int]]) -> None:
        """Raises InputError where there are no spellings, or empty ones."""
        ordered = sorted({tuple(spelling) for spelling in spellings})
        if not ordered or not ordered[0]:
            raise InputError("a trie needs spellings of at least one symbol each; check the vocabulary of the patcher")
        parents, symbols = [], []
        path: list[int] = []  # Nodes of the spelling before, by depth.
        before: tuple[int, ...] = ()
        for spelling in ordered:
            common = 0
            while common < len(before) and common < len(spelling) and before[common] == spelling[common]:
                common += 1
            del path[common:]
            for symbol in spelling[common:]:
                parents.append(path[-1] if path else ROOT)
                symbols.append(symbol)
                path.append(len(parents))
            before = spelling
        order = np.lexsort((symbols, parents))
        self._symbols = np.asarray(symbols, np.int64)[order]
        self._children = order + 1
        self._first = np.searchsorted(np.asarray(parents)[order], np.arange(len(parents) + 2))

    def following(self, node: int) -> NDArray[np.int64]:
        """int64[n]: the symbols that may come next, ascending; none after a marker."""
        return self._symbols[self._first[node] : self._first[node + 1]]

    def child(self, node: int, symbol: int) -> int:
        """The node after one more symbol, which must be in `following(node)`."""
        first = self._first[node]
        found = first + int(np.searchsorted(self.following(node), symbol))
        if found == self._first[node + 1] or self._symbols[found] != symbol:
            raise KeyError(symbol)
        return int(self._children[found])
