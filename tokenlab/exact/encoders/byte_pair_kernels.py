"""Kernels of BPE: merging by a priority queue, and which tokens may follow a token.

`merge_units` is the definition: again and again the pair of lowest rank, the leftmost of equals, is merged.

An encoding cut between tokens gives encodings of the parts: what is merged on one side does not depend on the other.
And a sequence whose adjacent pairs are encodings is an encoding: the first merge across a border would have been made
in that pair alone. So validity is a matter of pairs, for any order of merges.

In a pair (a, b) both sides make their own merges, the lower rank first, the left side first among equals. The unit at
the right edge of a goes through a's *right spine*, from a base unit up to a; that at the left edge of b through b's
left spine. `blocked` finds the b for which a unit u of the one meets a unit v of the other while their merge, of rank
r, is the next to be made. Let [s, e) be the ranks between which a unit exists: u and v meet if s_v < e_u and
s_u <= e_v, and merge if r < e_u and r <= e_v. This needs derivations whose ranks ascend, and `merge_units` tells which
do not (107 of LLaMA 3's 128,000). For such an a, each of its steps is a window of its own: a step of rank h is next
from the highest rank P so far, to Q = max(P, h), and the conditions are s_v < Q, P <= e_v, r < h, r <= e_v. For such a
b, `pair_merges` runs the pair.

e_v depends on b, but only through the first token made from v at its left: the tokens with v on the left spine are a
subtree, whose preorder is a range, and children sorted by rank put those with a large e_v at its end.
"""

import heapq
from typing import NamedTuple

import numpy as np
from numba import njit

NEVER = np.int64(1) << np.int64(31)
"""A rank above all."""


class Merges(NamedTuple):
    """Merges in the order of the list, and a hash table of their pairs."""

    left: np.ndarray
    """int64[merges]"""
    right: np.ndarray
    """int64[merges]"""
    new: np.ndarray
    """int64[merges]"""
    rank: np.ndarray
    """int64[merges] at least 0, below 2**31"""
    slots: np.ndarray
    """int32[a power of two, at least twice the merges]: a merge, or -1"""


class Derivations(NamedTuple):
    """How each token is made; the tokens that merging makes of their own text, as a forest by left parts."""

    right: np.ndarray
    """int64[ids] right part, -1 for base units"""
    rank: np.ndarray
    """int64[ids] rank of the last merge, -1 for base units"""
    enter: np.ndarray
    """int64[ids] place in preorder, -1 for tokens that merging does not make"""
    leave: np.ndarray
    """int64[ids] end of the subtree in preorder"""
    child_from: np.ndarray
    """int64[ids + 1] range of the children of a token, in ascending order of rank"""
    child_enter: np.ndarray
    """int64[children] place of a child in preorder"""
    child_rank: np.ndarray
    """int64[children]"""
    partner_from: np.ndarray
    """int64[ids + 1] range of the merges with a token at the left"""
    partner: np.ndarray
    """int64[partners] the token at the right"""
    partner_rank: np.ndarray
    """int64[partners]"""


@njit(cache=True, nogil=True)
def hash_merges(left, right, new, rank):
    """Build the table. Of merges of the same pair the last counts, as in Hugging Face's `BPE`."""
    size = 16
    while size < 2 * left.size:
        size *= 2
    merges = Merges(left, right, new, rank, np.full(size, -1, np.int32))
    for row in range(left.size):
        merges.slots[_slot(merges, left[row], right[row])] = row
    return merges


@njit(cache=True, nogil=True)
def _slot(merges, left, right):
    """The slot of a pair, or the free slot where it would stand."""
    mask = np.uint64(merges.slots.size - 1)
    key = (np.uint64(left) << np.uint64(32)) | np.uint64(right)
    at = ((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(24)) & mask
    while True:
        row = merges.slots[at]
        if row < 0 or (merges.left[row] == left and merges.right[row] == right):
            return at
        at = (at + np.uint64(1)) & mask


@njit(cache=True, nogil=True)
def find_merge(merges, left, right):
    """The merge of a pair, -1 for none."""
    return merges.slots[_slot(merges, left, right)]


@njit(cache=True, nogil=True)
def merge_units(merges, units, edge, rank_of_step):
    """Merge units, in place, until no pair of neighbours is in the list.

    edge, rank_of_step: int64[at least units], filled in: the unit at the right edge before each merge, and its rank.
    Returns the number of tokens that are left, the merge made last (-1 for none), and whether ranks never descended.
    """
    size = units.size
    tail = size - 1
    before, after = np.arange(-1, size - 1), np.arange(1, size + 1)
    row_at = np.full(size, -1, np.int64)
    waiting = [np.int64(0) for _ in range(0)]
    for i in range(size - 1):
        row_at[i] = find_merge(merges, units[i], units[i + 1])
        if row_at[i] >= 0:
            waiting.append((merges.rank[row_at[i]] << 32) | i)
    heapq.heapify(waiting)
    left, last, ascending = size, -1, True
    while len(waiting) > 0:
        top = heapq.heappop(waiting)
        at, rank = top & 0xFFFFFFFF, top >> 32
        row = row_at[at]
        if row < 0 or merges.rank[row] != rank:
            continue
        ascending = ascending and (last < 0 or merges.rank[last] <= rank)
        last = row
        edge[size - left], rank_of_step[size - left] = units[tail], rank
        gone, follower, leader = after[at], after[after[at]], before[at]
        units[at], row_at[gone], row_at[at] = merges.new[row], -1, -1
        after[at] = follower
        tail = at if gone == tail else tail
        left -= 1
        if follower < size:
            before[follower] = at
            row_at[at] = find_merge(merges, units[at], units[follower])
            if row_at[at] >= 0:
                heapq.heappush(waiting, (merges.rank[row_at[at]] << 32) | at)
        if leader >= 0:
            row_at[leader] = find_merge(merges, units[leader], units[at])
            if row_at[leader] >= 0:
                heapq.heappush(waiting, (merges.rank[row_at[leader]] << 32) | leader)
    at = 0
    for i in range(left):
        units[i] = units[at]
        at = after[at]
    return left, last, ascending


@njit(cache=True, nogil=True)
def derive(merges, units, offsets):
    """Merge the units of every token (int64, its own between two offsets; none for a token without units).

    Returns for each id whether merging makes it (bool), its last merge (int64, -1 for base units), and whether the
    ranks of its merges never descend (bool).
    """
    size = offsets.size - 1
    made, last, ascending = np.zeros(size, np.bool_), np.full(size, -1, np.int64), np.ones(size, np.bool_)
    for token in range(size):
        if offsets[token + 1] > offsets[token]:
            own = units[offsets[token] : offsets[token + 1]].copy()
            left, last[token], ascending[token] = merge_units(merges, own, np.empty_like(own), np.empty_like(own))
            made[token] = left == 1 and own[0] == token
    return made, last, ascending


@njit(cache=True, nogil=True)
def plant(merges, made, last):
    """Derivations of the tokens that merging makes."""
    size = made.size
    left, right, rank = np.full(size, -1, np.int64), np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    for token in range(size):
        if made[token] and last[token] >= 0:
            row = last[token]
            left[token], right[token], rank[token] = merges.left[row], merges.right[row], merges.rank[row]
    order = np.argsort(rank, kind="mergesort")
    child_from, child = _group(left, order, size)
    enter, leave = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    stack, next_child = np.empty(size + 1, np.int64), child_from[:-1].copy()
    clock = 0
    for root in range(size):
        if not made[root] or left[root] >= 0:
            continue
        depth, stack[0], enter[root] = 0, root, clock
        clock += 1
        while depth >= 0:
            node = stack[depth]
            if next_child[node] < child_from[node + 1]:
                depth += 1
                stack[depth] = child[next_child[node]]
                next_child[node] += 1
                enter[stack[depth]] = clock
                clock += 1
            else:
                leave[node] = clock
                depth -= 1
    usable = np.full(merges.left.size, -1, np.int64)
    for row in range(merges.left.size):
        pair_left, pair_right = merges.left[row], merges.right[row]
        if made[pair_left] and made[pair_right] and find_merge(merges, pair_left, pair_right) == row:
            usable[row] = pair_left
    partner_from, partner_row = _group(usable, np.arange(usable.size), size)
    partner, partner_rank = merges.right[partner_row], merges.rank[partner_row]
    return Derivations(
        right, rank, enter, leave, child_from, enter[child], rank[child], partner_from, partner, partner_rank
    )


@njit(cache=True, nogil=True)
def _group(group, order, groups):
    """Members of each group in a given order; -1 is in none. Returns int64[groups + 1] ranges and int64[] members."""
    begins = np.zeros(groups + 1, np.int64)
    for g in group:
        if g >= 0:
            begins[g + 1] += 1
    begins = np.cumsum(begins)
    at, members = begins[:-1].copy(), np.empty(begins[-1], np.int64)
    for member in order:
        g = group[member]
        if g >= 0:
            members[at[g]] = member
            at[g] += 1
    return begins, members


@njit(cache=True, nogil=True)
def spine_windows(derivations, token):
    """Columns unit, P, h, Q (int64[4, units]) of the right spine of a token whose derivation ascends."""
    size, unit = 0, token
    while unit >= 0:
        size, unit = size + 1, derivations.right[unit]
    columns = np.empty((4, size), np.int64)
    unit, end = token, NEVER
    for k in range(size):
        columns[0, k], columns[1, k], columns[2, k], columns[3, k] = unit, derivations.rank[unit], end, end
        end, unit = derivations.rank[unit], derivations.right[unit]
    return columns


@njit(cache=True, nogil=True)
def step_windows(merges, units):
    """Columns unit, P, h, Q (int64[4, steps + 1]) of a token, one for each step, from its units."""
    own = units.copy()
    columns = np.full((4, own.size), NEVER)
    left, _, _ = merge_units(merges, own, columns[0], columns[2])
    columns[0, own.size - left] = own[0]
    highest = np.int64(-1)
    for k in range(own.size - left + 1):
        columns[1, k] = highest
        highest = max(highest, columns[2, k])
        columns[3, k] = highest
    return columns[:, : own.size - left + 1]


@njit(cache=True, nogil=True)
def blocked(derivations, windows):
    """bool[ids made] in preorder: the tokens that cannot follow a token with these windows, if they ascend."""
    d = derivations
    steps = np.zeros(d.enter.max() + 2, np.int32)
    for w in range(windows.shape[1]):
        unit, begin, head, end = windows[0, w], windows[1, w], windows[2, w], windows[3, w]
        for k in range(d.partner_from[unit], d.partner_from[unit + 1]):
            other, rank = d.partner[k], d.partner_rank[k]
            if d.rank[other] < end and rank < head:
                steps[d.enter[other]] += 1
                steps[d.enter[other] + 1] -= 1
                least, stop = max(rank, begin), d.child_from[other + 1]
                first = d.child_from[other] + np.searchsorted(d.child_rank[d.child_from[other] : stop], least)
                if first < stop:
                    steps[d.child_enter[first]] += 1
                    steps[d.leave[other]] -= 1
    return np.cumsum(steps[:-1]) > 0


@njit(cache=True, nogil=True)
def pair_merges(merges, units, offsets, left, right):
    """Whether merging the units of two tokens together does not give the two tokens: the definition, run."""
    first, second = units[offsets[left] : offsets[left + 1]], units[offsets[right] : offsets[right + 1]]
    both = np.concatenate((first, second))
    count, _, _ = merge_units(merges, both, np.empty_like(both), np.empty_like(both))
    return count != 2 or both[0] != left or both[1] != right


@njit(cache=True, nogil=True)
def followers(derivations, merges, units, offsets, token, ids, enter, irregular):
    """bool[positions]: the tokens that may follow `token`, of those that merging makes.

    ids: int64[positions]; enter: int64[positions], place in preorder or -1; irregular: bool[ids], tokens with a
    derivation whose ranks descend somewhere.
    """
    result = np.zeros(ids.size, np.bool_)
    if irregular[token]:
        windows = step_windows(merges, units[offsets[token] : offsets[token + 1]])
    else:
        windows = spine_windows(derivations, token)
    bad = blocked(derivations, windows)
    for position in range(ids.size):
        if enter[position] >= 0:
            if irregular[ids[position]]:
                result[position] = not pair_merges(merges, units, offsets, token, ids[position])
            else:
                result[position] = not bad[enter[position]]
    return result
