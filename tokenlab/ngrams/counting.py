"""Counts, PMI and branching entropy of all n-grams of a text (Entropy-driven pre-tokenization, section 3.1).

The text becomes integers, one for each unit (cluster or code point). Its positions are sorted once by the
n_max + 1 units that begin there, and everything else follows from that order level by level: the (n+1)-grams are the
n-grams with one neighbour, so their counts give the right entropies of their prefixes and the left entropies of their
suffixes. Work is linear in the text.

Memory: about 40 bytes per unit while it runs and 36 per distinct n-gram for the result.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.ngrams.clusters import COMPOSED, cluster_starts, number_clusters, spell
from tokenlab.ngrams.kernels import (
    Trie,
    branching_entropies,
    build_trie,
    common_prefixes,
    count_distinct,
    fill_pair_pmi,
    number_ngrams,
    sort_positions,
    suffix_rows,
    units_to_separator,
)
from tokenlab.ngrams.options import LARGEST_N_MAX, StatisticsOptions
from tokenlab.text.code_points import code_points

DEFAULT = StatisticsOptions()
LARGEST = 2**31 - 2 * LARGEST_N_MAX  # positions and rows are int32


@dataclass(frozen=True, eq=False)
class NgramStatistics:
    """Every n-gram of a corpus as a row, shorter ones first, those of one length in the order of their symbols.

    Units are those of `options.unit`. The symbol of a unit is its code point, or 0x110000 + i for the cluster
    `composed[i]`: in the order of rows, clusters of several code points come after all code points.

    Rows form a trie: a row is its parent's units and one more. `level[n - 1] : level[n]` are the rows of length n.
    Entropies and PMI are in the unit of `options.log_base`.
    """

    options: StatisticsOptions
    tokens: int  # T of the PMI
    characters: int  # units of the corpus, whitespace not counted
    level: NDArray[np.int64]  # [n_max + 1]
    last: NDArray[np.uint32]  # [rows] symbol of the last unit
    parent: NDArray[np.int32]  # [rows] row of the n-gram without its last unit; -1 for single units
    count: NDArray[np.integer[Any]]  # [rows] int32, or int64 from a table or where it was counted by shards
    min_pmi: NDArray[np.float64]  # [rows] smallest PMI of two adjacent units inside; NaN for single units
    left_entropy: NDArray[np.float64]  # [rows]
    right_entropy: NDArray[np.float64]  # [rows]
    composed: tuple[str, ...] = ()  # clusters of several code points, sorted

    def __len__(self) -> int:
        return len(self.last)

    @cached_property
    def trie(self) -> Trie:
        """The trie over the rows."""
        return build_trie(self.last, self.parent, int(self.level[1]), COMPOSED + len(self.composed))

    @cached_property
    def suffix(self) -> NDArray[np.int32]:
        """[rows] row of the n-gram without its first unit; -1 for single units."""
        return suffix_rows(self.parent, self.trie.last, self.trie.first_child, int(self.level[1]))

    def rows(self, n: int) -> slice:
        """The rows of the n-grams of length n."""
        return slice(int(self.level[n - 1]), int(self.level[n]))

    def code_points(self, n: int, part: slice = slice(None)) -> NDArray[np.uint32]:
        """The n-grams of length n, or a part of them, as symbols, which are code points where nothing is composed:
        uint32[distinct, n].
        """
        rows = self.rows(n)
        columns, parent = [self.last[rows][part]], self.parent[rows][part]
        for _ in range(n - 1):
            columns.append(self.last[parent])
            parent = self.parent[parent]
        return np.column_stack(columns[::-1])

    def ngrams(self, n: int) -> list[str]:
        """The n-grams of length n as text, in the order of the rows."""
        return list(spell(self.code_points(n), self.composed))


def ngram_statistics(
    sentences: Iterable[str],
    options: StatisticsOptions = DEFAULT,
) -> NgramStatistics:
    """Count every n-gram of `sentences` and compute its smallest adjacent PMI and its branching entropies.

    n-grams stay inside a sentence, and whitespace (`str.isspace`) inside a sentence separates like its end.
    PMI(a, b) = log(f(ab) T / (f(a) f(b))); H = -sum P log P over the neighbours that occur, 0 where there are none.

    Raises:
        InputError: no character at all, a lone surrogate, or more text than int32 can count.
        TypeError: `sentences` is one string.
    """
    if isinstance(sentences, str):
        raise TypeError("sentences must be several strings, not one; put it into a list")
    codes, alphabet, composed = encode_units(sentences, options)
    if not len(alphabet):
        raise no_character()
    codes, order = sort_text(codes, len(alphabet), options.n_max + 1)
    distinct = count_distinct(order.lengths, order.shared, options.n_max + 1)
    statistics = _allocate(distinct, order.lengths, options, composed)
    _fill(statistics, codes, alphabet, order)
    return _keep_frequent(statistics) if options.min_frequency > 1 else statistics


def no_character() -> InputError:
    """The error of a text without n-grams."""
    return InputError("the text holds no character besides whitespace; nothing can be counted")


class Order(NamedTuple):
    """The sorted positions, as the kernels return them."""

    positions: NDArray[np.int32]  # [characters]
    lengths: NDArray[np.uint8]  # [characters] characters up to the separator, at most n_max + 1
    shared: NDArray[np.uint8]  # [characters] characters shared with the position before
    remaining: NDArray[np.uint8]  # [length] as `lengths`, in the order of the text


def sort_text(codes: NDArray[np.int32], units: int, depth: int) -> tuple[NDArray[np.int32], Order]:
    """The text with `depth` zeros after it, int32[length + depth], and its positions by the next `depth` units.

    codes: int32[length], from 1 to `units`, 0 for whitespace.
    """
    remaining = units_to_separator(codes, depth)
    codes = np.concatenate((codes, np.zeros(depth, np.int32)))
    positions = sort_positions(codes, remaining, depth, units)
    lengths, shared = common_prefixes(codes, remaining, positions)
    return codes, Order(positions, lengths, shared, remaining)


def _allocate(
    distinct: NDArray[np.int64], lengths: NDArray[np.uint8], options: StatisticsOptions, composed: tuple[str, ...]
) -> NgramStatistics:
    """Unfilled rows for `distinct[n]` n-grams of each length n."""
    level = np.cumsum(distinct[: options.n_max + 1])
    rows = int(level[-1])
    if rows > LARGEST:
        raise InputError(f"the text has {rows:,} different n-grams, more than {LARGEST:,}; choose a smaller n_max")
    return NgramStatistics(
        options=options,
        tokens=count_tokens(lengths, options),
        characters=len(lengths),
        level=level,
        last=np.empty(rows, np.uint32),
        parent=np.empty(rows, np.int32),
        count=np.empty(rows, np.int32),
        min_pmi=np.empty(rows),
        left_entropy=np.empty(rows),
        right_entropy=np.empty(rows),
        composed=composed,
    )


def _fill(statistics: NgramStatistics, codes: NDArray[np.int32], alphabet: NDArray[np.uint32], order: Order) -> None:
    """Fill the rows length by length."""
    last, parent, count, pmi = statistics.last, statistics.parent, statistics.count, statistics.min_pmi
    left, right = statistics.left_entropy, statistics.right_entropy
    options, pairs = statistics.options, statistics.rows(min(2, statistics.options.n_max))
    starts = np.flatnonzero((codes > 0) & (np.append(0, codes[:-1]) == 0))
    below = statistics.rows(1)
    last[below], parent[below], pmi[below] = np.arange(len(alphabet)), -1, np.nan
    count[below] = np.bincount(codes, minlength=len(alphabet) + 1)[1:]
    n_log_n = _n_log_n(int(count[below].max()))
    ids, shorter, pair_ids = np.empty_like(codes), codes - 1, codes
    for n in range(2, options.n_max + 2):
        known = (count[below], n_log_n, options.edge == "symbol", left[below], right[below])
        branching_entropies(*order[:3], n, shorter, starts, order.remaining, *known)
        if n > options.n_max:
            break
        rows = statistics.rows(n)
        filled = (last[rows], parent[rows], count[rows], pmi[rows])
        number_ngrams(*order[:3], n, codes, pair_ids, ids, below.start, *filled, pmi[below], pmi[pairs])
        if n == 2:
            fill_pair_pmi(last[rows], parent[rows], count[rows], count[below], statistics.tokens, pmi[rows])
            pair_ids = ids.copy()
        ids, shorter, below = shorter, ids, rows
    last[:] = alphabet[last]
    if options.log_base == "2":
        for column in (pmi, left, right):
            column /= math.log(2.0)


def encode_units(
    sentences: Iterable[str], options: StatisticsOptions
) -> tuple[NDArray[np.int32], NDArray[np.uint32], tuple[str, ...]]:
    """The text as ranks 1.. into its sorted alphabet, 0 for whitespace; that alphabet (symbols); composed clusters."""
    composed: tuple[str, ...] = ()
    symbols = code_points("\n".join(sentences))
    if len(symbols) > LARGEST:
        raise InputError(f"the text has {len(symbols):,} characters, more than {LARGEST:,}; count it in parts")
    if options.unit == "cluster" and not (starts := cluster_starts(symbols)).all():
        symbols, composed = number_clusters(symbols, starts)
    rank = np.zeros(COMPOSED + len(composed), np.int32)
    rank[symbols] = 1
    distinct = np.flatnonzero(rank)
    alphabet = np.array([symbol for symbol in distinct.tolist() if not _is_space(symbol)], np.uint32)
    rank[distinct] = 0
    rank[alphabet] = np.arange(1, len(alphabet) + 1)
    return rank[symbols], alphabet, composed


def _is_space(symbol: int) -> bool:
    return symbol < COMPOSED and chr(symbol).isspace()


def count_tokens(lengths: NDArray[np.uint8], options: StatisticsOptions) -> int:
    """T: the number of n-grams that the PMI counts as tokens."""
    if options.count_tokens == "ngram":
        return int(np.minimum(lengths, options.n_max).sum(dtype=np.int64))
    return int((lengths >= (1 if options.count_tokens == "unigram" else 2)).sum())


def _n_log_n(largest: int) -> NDArray[np.float64]:
    counts = np.arange(largest + 1, dtype=np.float64)
    counts[1:] *= np.log(counts[1:])
    return counts


def _keep_frequent(statistics: NgramStatistics) -> NgramStatistics:
    """Drop rare n-grams longer than one unit. A kept one keeps its parent, which occurs at least as often."""
    keep = statistics.count >= statistics.options.min_frequency
    keep[statistics.rows(1)] = True
    new_row = (np.cumsum(keep) - 1).astype(np.int32)
    parent = statistics.parent[keep]
    return replace(
        statistics,
        level=np.concatenate(([0], np.cumsum(keep)))[statistics.level],
        last=statistics.last[keep],
        parent=np.where(parent < 0, parent, new_row[parent]),
        count=statistics.count[keep],
        min_pmi=statistics.min_pmi[keep],
        left_entropy=statistics.left_entropy[keep],
        right_entropy=statistics.right_entropy[keep],
    )
