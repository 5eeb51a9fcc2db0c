"""Units of n-grams as numbers: a symbol is a code point, or stands for a grapheme cluster of several.

The symbols of clusters come after all code points, in the order of their text, so that a table of n-grams of single
code points is the same whether it counts clusters or characters.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

COMPOSED = 0x110000
"""The symbol of the first cluster of several code points; the next one has the next number."""

_CLUSTERS_PER_STEP = 1 << 16


def number_clusters(
    points: NDArray[np.uint32], starts: NDArray[np.bool_]
) -> tuple[NDArray[np.uint32], tuple[str, ...]]:
    """A text as symbols, uint32[clusters], and its clusters of several code points, sorted.

    Args:
        starts: the `cluster_starts` of the points.
    """
    found: defaultdict[str, int] = defaultdict(lambda: COMPOSED + len(found))
    symbols = cluster_symbols(points, starts, found.__getitem__)
    composed = tuple(sorted(found))
    final = np.empty(len(composed), np.uint32)
    final[[found[cluster] - COMPOSED for cluster in composed]] = np.arange(COMPOSED, COMPOSED + len(composed))
    several = symbols >= COMPOSED
    symbols[several] = final[symbols[several] - COMPOSED]
    return symbols, composed


def cluster_symbols(
    points: NDArray[np.uint32], starts: NDArray[np.bool_], symbol_of: Callable[[str], int]
) -> NDArray[np.uint32]:
    """The symbol of each cluster, uint32[clusters].

    Args:
        starts: the `cluster_starts` of the points.
        symbol_of: the symbol of a cluster of several code points.
    """
    first = np.flatnonzero(starts)
    ends = np.append(first[1:], len(points))
    symbols = points[first]
    several = np.flatnonzero(ends - first > 1)
    text = points.tobytes().decode("utf-32-le") if len(several) else ""
    for step in range(0, len(several), _CLUSTERS_PER_STEP):
        part = several[step : step + _CLUSTERS_PER_STEP]
        edges = zip(first[part].tolist(), ends[part].tolist(), strict=True)
        symbols[part] = [symbol_of(text[start:end]) for start, end in edges]
    return symbols


def composed_symbols(composed: Sequence[str]) -> Callable[[str], int]:
    """The symbol of each of these clusters of several code points, sorted; that of any other is `unseen_symbol`."""
    symbol_of = {cluster: COMPOSED + number for number, cluster in enumerate(composed)}
    unseen = unseen_symbol(composed)
    return lambda cluster: symbol_of.get(cluster, unseen)


def unseen_symbol(composed: Sequence[str]) -> int:
    """The symbol of every cluster that is not among these: the one after the last."""
    return COMPOSED + len(composed)


def spell(symbols: NDArray[np.uint32], composed: Sequence[str]) -> Iterator[str]:
    """The text of each row of symbols, uint32[rows, n]."""
    n = symbols.shape[1]
    flat = symbols.ravel().tolist()
    units = [chr(symbol) if symbol < COMPOSED else composed[symbol - COMPOSED] for symbol in flat]
    return ("".join(units[start : start + n]) for start in range(0, len(units), n))
