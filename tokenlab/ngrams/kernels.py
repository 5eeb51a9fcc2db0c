"""Kernels of the n-gram statistics, in the order in which they run.

1. `sort_positions`: every position of the text, sorted by the `depth` characters that begin there (radix sort, one
   stable counting pass per character, so the work is linear in the text).
2. `common_prefixes`: how many characters neighbours in that order share; `count_distinct` follows from it.
3. For n = 2, 3, ...: `branching_entropies` treats the n-grams as the (n-1)-grams with one neighbour; `number_ngrams`
   numbers the n-gram at each position (a new one wherever neighbours share fewer than n) and fills its row.

`link_parents` restores the trie of a table that was read from a file; `Trie` leads from an n-gram to the one with
another unit after it.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


def units_to_separator(codes: NDArray[Any], most: int) -> NDArray[np.uint8]:
    """uint8[length]: number of units from each position to the next separator (code 0), at most `most`."""
    separators = np.append(np.flatnonzero(codes == 0), len(codes))
    gaps = np.diff(separators, prepend=-1)
    ends = np.repeat(separators, gaps)[: len(codes)]
    return np.minimum(ends - np.arange(len(codes)), most).astype(np.uint8)


@njit(cache=True, nogil=True)
def sort_positions(codes, remaining, depth, alphabet):
    """Positions of characters, sorted by their next `depth` characters; a text's end sorts before any character.

    codes: int32[length + depth], 0 where text is separated, else 1..alphabet in the order of code points.
    remaining: uint8[length], characters up to the next separator, at most `depth`. Returns int32[characters].
    """
    length = remaining.size
    characters = 0
    for position in range(length):
        characters += remaining[position] > 0
    order = np.empty(characters, np.int32)
    characters = 0
    for position in range(length):
        if remaining[position] > 0:
            order[characters] = position
            characters += 1
    other = np.empty_like(order)
    for k in range(depth - 1, -1, -1):
        start = np.zeros(alphabet + 2, np.int64)
        keys = np.empty(characters, np.int32)
        for i in range(characters):
            position = order[i]
            key = codes[position + k] if remaining[position] > k else 0
            keys[i] = key
            start[key + 1] += 1
        for key in range(alphabet + 1):
            start[key + 1] += start[key]
        for i in range(characters):
            key = keys[i]
            other[start[key]] = order[i]
            start[key] += 1
        order, other = other, order
    return order


@njit(cache=True, nogil=True)
def common_prefixes(codes, remaining, order):
    """For each place in `order`: its characters up to the separator, and the characters shared with the place before.

    Both uint8[characters], at most the depth that `remaining` was capped at.
    """
    lengths = np.empty(order.size, np.uint8)
    shared = np.zeros(order.size, np.uint8)
    for i in range(order.size):
        lengths[i] = remaining[order[i]]
        if i > 0:
            here, before = order[i], order[i - 1]
            limit = min(lengths[i], lengths[i - 1])
            k = 0
            while k < limit and codes[here + k] == codes[before + k]:
                k += 1
            shared[i] = k
    return lengths, shared


@njit(cache=True, nogil=True)
def count_distinct(lengths, shared, depth):
    """Number of distinct n-grams of each length: int64[depth + 1], entry n for length n."""
    distinct = np.zeros(depth + 1, np.int64)
    for i in range(lengths.size):
        for n in range(shared[i] + 1, lengths[i] + 1):
            distinct[n] += 1
    return distinct


@njit(cache=True, nogil=True)
def number_ngrams(
    order, lengths, shared, n, codes, pairs, ids, offset, last, parent, count, pmi, shorter_pmi, pair_pmi
):
    """Number the distinct n-grams (n >= 2) in lexicographic order and fill their rows.

    pairs: int32[length], number of the bigram at each position (used for n > 2); ids: int32[length], gets that of the
    n-gram; offset: the row of the first (n-1)-gram.

    Fills last (rank of the last character), parent (row of the prefix), count and, for n > 2, pmi: the smallest PMI of
    the prefix or of the last pair, from those of the (n-1)-grams and of the bigrams.
    """
    current, prefix = -1, -1
    for i in range(order.size):
        if lengths[i] >= n - 1 and shared[i] < n - 1:
            prefix += 1  # in this order prefixes are numbered as they come, so they need not be looked up
        if lengths[i] < n:
            continue
        position = order[i]
        if shared[i] < n:
            current += 1
            last[current] = codes[position + n - 1] - 1
            parent[current] = prefix + offset
            count[current] = 0
            if n > 2:
                pmi[current] = min(shorter_pmi[prefix], pair_pmi[pairs[position + n - 2]])
        count[current] += 1
        ids[position] = current


@njit(cache=True, nogil=True)
def fill_pair_pmi(last, parent, count, frequency, tokens, pmi):
    """PMI (nats) of each bigram: log(f(ab) T / (f(a) f(b))); last: ranks of characters, frequency: of each."""
    for i in range(count.size):
        expected = float(frequency[parent[i]]) * float(frequency[last[i]])
        pmi[i] = np.log(float(count[i]) * float(tokens) / expected)


@njit(cache=True, nogil=True)
def branching_entropies(order, lengths, shared, n, shorter, starts, remaining, count, n_log_n, edge, left, right):
    """Branching entropy (nats) of the (n-1)-grams from the frequencies f of the n-grams, into left and right.

    H = log F - (sum f log f) / F with F the sum of the f, so that a single neighbour gives exactly 0. F is the
    frequency of the (n-1)-gram less its occurrences at an edge, and 1 log 1 is 0: n-grams seen once, which most are,
    need not be visited. With `edge` the occurrences at an edge count as one more neighbour.

    shorter: int32[length], number of the (n-1)-gram at each position; starts: the positions behind a separator; count:
    int32[distinct (n-1)-grams]; n_log_n: float64[largest count + 1].
    """
    left_edges, right_edges = np.zeros(count.size, np.int32), np.zeros(count.size, np.int32)
    left[:] = 0.0
    right[:] = 0.0
    for start in starts:
        if remaining[start] >= n - 1:
            left_edges[shorter[start]] += 1
    row, i = -1, 0
    while i < order.size:
        if lengths[i] >= n - 1 and shared[i] < n - 1:
            row += 1
        first = i
        i += 1
        if lengths[first] < n:
            right_edges[row] += lengths[first] == n - 1
            continue
        while i < order.size and shared[i] >= n:
            i += 1
        frequency = i - first
        if frequency > 1:
            right[row] += n_log_n[frequency]
            left[shorter[order[first] + 1]] += n_log_n[frequency]
    for row in range(count.size):
        left[row] = _entropy(left[row], count[row], left_edges[row], n_log_n, edge)
        right[row] = _entropy(right[row], count[row], right_edges[row], n_log_n, edge)


@njit(cache=True, nogil=True)
def _entropy(weighted, count, edges, n_log_n, edge):
    total = count if edge else count - edges
    if edge:
        weighted += n_log_n[edges]
    return max(n_log_n[total] - weighted, 0.0) / max(total, 1)


@njit(cache=True, nogil=True)
def link_parents(characters, before):
    """The row of `before` that holds the prefix of each row of `characters`; both sorted, one row an n-gram.

    characters: uint32[rows, n]; before: uint32[rows of n-1, n-1]. A prefix that is not there, or rows out of order,
    give -1.
    """
    n = characters.shape[1]
    parent = np.full(characters.shape[0], -1, np.int32)
    row = 0
    for i in range(characters.shape[0]):
        while row < before.shape[0]:
            k = 0
            while k < n - 1 and before[row, k] == characters[i, k]:
                k += 1
            if k == n - 1:
                parent[i] = row
                break
            if before[row, k] > characters[i, k]:
                break
            row += 1
    return parent


class Trie(NamedTuple):
    """Rows are those of NgramStatistics; a unit is represented by its row among the single units."""

    unit: NDArray[np.int32]  # [symbols + 1] row of the single unit, -1 where it does not occur and at the end
    last: NDArray[np.int32]  # [rows] the last unit
    first_child: NDArray[np.int32]  # [rows + 1] rows first_child[r] : first_child[r + 1] extend row r, sorted by last


def build_trie(last: NDArray[np.uint32], parent: NDArray[np.int32], singles: int, symbols: int) -> Trie:
    """The trie over rows whose last symbols (of `symbols`) and parents are given; the first `singles` are units."""
    unit = np.full(symbols + 1, -1, np.int32)
    unit[last[:singles]] = np.arange(singles)
    children = np.bincount(parent[singles:], minlength=len(last))
    first_child = np.concatenate(([0], np.cumsum(children))) + singles
    return Trie(unit, unit[last], first_child.astype(np.int32))


@njit(cache=True, nogil=True)
def child(row, unit, last, first_child):
    """The row of the n-gram of `row` with the unit `unit` after it, or -1."""
    low, high = first_child[row], first_child[row + 1]
    while low < high:
        middle = (low + high) >> 1
        if last[middle] < unit:
            low = middle + 1
        else:
            high = middle
    return low if low < first_child[row + 1] and last[low] == unit else -1


@njit(cache=True, nogil=True)
def suffix_rows(parent, last, first_child, singles):
    """The row of each n-gram without its first unit, -1 for single units: int32[rows].

    It always exists: a substring of an n-gram occurs at least as often as the n-gram.
    """
    suffix = np.full(parent.size, -1, np.int32)
    for row in range(singles, parent.size):
        before = suffix[parent[row]]
        suffix[row] = last[row] if before < 0 else child(before, last[row], last, first_child)
    return suffix
