"""Kernels of the swap refinement: the gain of a swap of two codes, the swap itself, and a sweep of proposals.

They need the counts of characters and of their bigrams, not the text. With p, q the last and r, s the first digits of
the two codes, a swap of c and d changes the table of atom pairs across characters only in the rows p, q and the columns
r, s. Counts are integers, so no error accumulates over millions of swaps.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tokenlab.core.kernels import copy


class State(NamedTuple):
    """A codebook under refinement. Row |C| is "no character": it owns the unused codes and has no counts."""

    digits: np.ndarray
    """int32[|C| + 1, N]: the code of each character; row |C| has no meaning."""
    owner: np.ndarray
    """int32[K^N]: the character of each code, |C| where it is unused."""
    atoms: np.ndarray
    """int64[N, K]: counts of atoms by digit."""
    within: np.ndarray
    """int64[N - 1, K, K]: counts of atoms n and n + 1 of one character."""
    across: np.ndarray
    """int64[K, K]: counts of the last atom of a character and the first of the next."""
    before: np.ndarray
    """int64[|C| + 1, K]: counts of the characters before c, by their last atom."""
    after: np.ndarray
    """int64[|C| + 1, K]: counts of the characters after c, by their first atom."""


class Bigrams(NamedTuple):
    """Bigrams of characters, |C| + 1 rows, columns ascending in each."""

    starts: np.ndarray
    """int64[|C| + 2]: the entries of row c are starts[c]:starts[c + 1]."""
    columns: np.ndarray
    """int32[entries]."""
    counts: np.ndarray
    """int64[entries]."""


@njit(cache=True, nogil=True)
def xlog2x_table(size: int) -> np.ndarray:
    """float64[size]: m log2 m of the numbers below `size`."""
    table = np.zeros(size)
    for m in range(1, size):
        table[m] = m * np.log2(m)
    return table


@njit(cache=True, nogil=True)
def xlog2x(count: int, table: np.ndarray) -> float:
    """m log2 m, 0 where m is 0: from the table where it has it, else computed, with the same result."""
    return table[count] if count < table.size else count * np.log2(count)


@njit(cache=True, nogil=True)
def _moved(source: int, target: int, change: int, table: np.ndarray) -> float:
    """Gain in the sum of m log2 m if `change` moves from the cell `target` to the cell `source`."""
    if change == 0:
        return 0.0
    return (
        xlog2x(source + change, table) - xlog2x(source, table) + xlog2x(target - change, table) - xlog2x(target, table)
    )


@njit(cache=True, nogil=True)
def _count(c: int, d: int, bigrams: Bigrams) -> int:
    """How often d follows c."""
    low, high = bigrams.starts[c], bigrams.starts[c + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if bigrams.columns[middle] < d:
            low = middle + 1
        else:
            high = middle
    return bigrams.counts[low] if low < end and bigrams.columns[low] == d else 0


@njit(cache=True, nogil=True)
def swap_gain(
    c: int,
    d: int,
    target: np.ndarray,
    state: State,
    following: Bigrams,
    counts: np.ndarray,
    balance: float,
    table: np.ndarray,
) -> float:
    """Change in the sum of m log2 m over pairs of atoms, minus `balance` times that over atoms, if c and d swap codes.

    target: int32[N], the code of d, an unused one where d is |C|; following: row c has the characters after c;
    counts: int64[|C| + 1]; table: `xlog2x_table`.
    """
    code = state.digits[c]
    N, K = code.size, state.across.shape[0]
    gain = 0.0
    more = counts[d] - counts[c]
    for n in range(N):
        if code[n] != target[n]:
            gain -= balance * _moved(state.atoms[n, code[n]], state.atoms[n, target[n]], more, table)
    for n in range(N - 1):
        if code[n] != target[n] or code[n + 1] != target[n + 1]:
            within = state.within[n]
            gain += _moved(within[code[n], code[n + 1]], within[target[n], target[n + 1]], more, table)
    p, q, r, s = code[N - 1], target[N - 1], code[0], target[0]
    across, before, after = state.across, state.before, state.after
    both = p != q and r != s
    if p != q:
        for j in range(K):
            if not both or (j != r and j != s):
                gain += _moved(across[p, j], across[q, j], after[d, j] - after[c, j], table)
    if r != s:
        for i in range(K):
            if not both or (i != p and i != q):
                gain += _moved(across[i, r], across[i, s], before[d, i] - before[c, i], table)
    if both:
        between = _count(c, c, following) + _count(d, d, following) - _count(c, d, following) - _count(d, c, following)
        row_r, row_s = after[d, r] - after[c, r], after[d, s] - after[c, s]
        column_p, column_q = before[d, p] - before[c, p], before[d, q] - before[c, q]
        gain += xlog2x(across[p, r] + row_r + column_p + between, table) - xlog2x(across[p, r], table)
        gain += xlog2x(across[p, s] + row_s - column_p - between, table) - xlog2x(across[p, s], table)
        gain += xlog2x(across[q, r] - row_r + column_q - between, table) - xlog2x(across[q, r], table)
        gain += xlog2x(across[q, s] - row_s - column_q + between, table) - xlog2x(across[q, s], table)
    return gain


@njit(cache=True, nogil=True)
def _move(c: int, code: np.ndarray, state: State, following: Bigrams, preceding: Bigrams, count: int) -> None:
    """Give c another code and update the tables: first for its first digit, then for its last."""
    old, N = state.digits[c], code.size
    for n in range(N):
        state.atoms[n, old[n]] -= count
        state.atoms[n, code[n]] += count
    for n in range(N - 1):
        state.within[n, old[n], old[n + 1]] -= count
        state.within[n, code[n], code[n + 1]] += count
    if old[0] != code[0]:
        for entry in range(preceding.starts[c], preceding.starts[c + 1]):
            x, times = preceding.columns[entry], preceding.counts[entry]
            last = state.digits[x, N - 1]
            state.after[x, old[0]] -= times
            state.after[x, code[0]] += times
            state.across[last, old[0]] -= times
            state.across[last, code[0]] += times
        old[0] = code[0]
    if old[N - 1] != code[N - 1]:
        for entry in range(following.starts[c], following.starts[c + 1]):
            y, times = following.columns[entry], following.counts[entry]
            first = state.digits[y, 0]
            state.before[y, old[N - 1]] -= times
            state.before[y, code[N - 1]] += times
            state.across[old[N - 1], first] -= times
            state.across[code[N - 1], first] += times
    copy(code, old)


@njit(cache=True, nogil=True)
def swap(
    c: int, place: int, target: np.ndarray, state: State, following: Bigrams, preceding: Bigrams, counts: np.ndarray
) -> None:
    """Give c the code `target`, number `place` in lexicographic order, and its owner, if any, the code of c."""
    d, K = state.owner[place], state.across.shape[0]
    code = state.digits[c].copy()
    mine = 0
    for digit in code:
        mine = mine * K + digit
    _move(c, target, state, following, preceding, counts[c])
    _move(d, code, state, following, preceding, counts[d])
    state.owner[place] = c
    state.owner[mine] = d


@njit(cache=True, nogil=True)
def sweep(
    characters: np.ndarray,
    places: np.ndarray,
    slack: np.ndarray,
    state: State,
    following: Bigrams,
    preceding: Bigrams,
    counts: np.ndarray,
    balance: float,
    table: np.ndarray,
) -> None:
    """Try swaps one after the other; keep each that loses at most its slack.

    characters: int64[proposals]; places: int64[proposals], the proposed code of each in lexicographic order;
    slack: float64[proposals], in the unit of the gain, at least 0.
    """
    N, K = state.digits.shape[1], state.across.shape[0]
    target = np.empty(N, np.int32)
    for proposal in range(characters.size):
        c, place = characters[proposal], places[proposal]
        d = state.owner[place]
        if c == d:
            continue
        rest = place
        for n in range(N - 1, -1, -1):
            target[n] = rest % K
            rest //= K
        if swap_gain(c, d, target, state, following, counts, balance, table) >= -slack[proposal]:
            swap(c, place, target, state, following, preceding, counts)
