"""Kernels of hierarchical BPE: learning the merges of a vocabulary, and encoding patches with them.

A token takes part in learning until it fits; each has a short row of symbols, and each pair a linked list of the tokens
that had it at some time. A merge rewrites the tokens of its list that still have the pair: all their pairs are
uncounted, then those of the new row are counted, unless it fits. So the count of a pair never rises after the merge
that made it, as the heap of `pairs_kernels` needs.
"""

import numpy as np
from numba import njit

from tokenlab.tokenizers.pairs_kernels import (
    find,
    find_or_add,
    heap_with_room,
    no_heap,
    no_pairs,
    pair_key,
    pop_best,
    push,
    with_room,
)


@njit(cache=True, nogil=True)
def learn_merges(symbols, offsets, most, first):
    """Merge the most frequent pair of the tokens with more than `most` symbols until there are none.

    symbols: int32[total] bytes of all tokens, overwritten; offsets: int64[tokens + 1]; most: at least 1; first: the
    symbol of the first merge. Returns int32[merges, 2].
    """
    lengths = offsets[1:] - offsets[:-1]
    pairs, heap = no_pairs(), no_heap()
    # Each occurrence of a pair in a row is a node; a replacement makes at most two new ones.
    nodes, following, used = np.empty(3 * symbols.size, np.int32), np.empty(3 * symbols.size, np.int64), 0
    left_over = 0
    for token in range(lengths.size):
        if lengths[token] > most:
            left_over += 1
            row = symbols[offsets[token] : offsets[token + 1]]
            pairs = with_room(pairs, row.size)
            used = _count(pairs, row, -1, token, nodes, following, used)
    heap = heap_with_room(heap, pairs.size[0])
    for number in range(pairs.size[0]):
        push(heap, pairs.counts[number], pairs.keys[number])
    merges, made = np.empty((symbols.size, 2), np.int32), 0
    while left_over > 0:
        best = pop_best(heap, pairs)
        left, right = pairs.keys[best] >> 32, pairs.keys[best] & 0xFFFFFFFF
        merges[made, 0], merges[made, 1] = left, right
        known, new = pairs.size[0], first + made
        node = pairs.starts[best] if pairs.lengths[best] else -1
        while node >= 0:
            token = nodes[node]
            node = following[node]
            row = symbols[offsets[token] : offsets[token] + lengths[token]]
            if lengths[token] <= most or not _has(row, left, right):
                continue
            for i in range(row.size - 1):
                pairs.counts[find(pairs, pair_key(row[i], row[i + 1]))] -= 1
            lengths[token] = _replace(row, row.size, left, right, new)
            if lengths[token] <= most:
                left_over -= 1
                continue
            row = row[: lengths[token]]
            pairs = with_room(pairs, row.size)
            used = _count(pairs, row, new, token, nodes, following, used)
        heap = heap_with_room(heap, pairs.size[0] - known)
        for number in range(known, pairs.size[0]):
            push(heap, pairs.counts[number], pairs.keys[number])
        made += 1
    return merges[:made].copy()


@njit(cache=True, nogil=True)
def _count(pairs, row, new, token, nodes, following, used):
    """Count the pairs of a row; those with the symbol `new` (-1: all) get the token in their lists."""
    for i in range(row.size - 1):
        number = find_or_add(pairs, pair_key(row[i], row[i + 1]))
        pairs.counts[number] += 1
        if new < 0 or row[i] == new or row[i + 1] == new:
            nodes[used] = token
            following[used] = pairs.starts[number] if pairs.lengths[number] else -1
            pairs.starts[number] = used
            pairs.lengths[number] += 1
            used += 1
    return used


@njit(cache=True, nogil=True)
def _has(row, left, right):
    found = False
    for i in range(row.size - 1):
        found |= row[i] == left and row[i + 1] == right
    return found


@njit(cache=True, nogil=True)
def _replace(row, size, left, right, new):
    """Replace a pair in the first `size` symbols, from left to right; returns the new size."""
    kept, i = 0, 0
    while i < size:
        if i + 1 < size and row[i] == left and row[i + 1] == right:
            row[kept] = new
            i += 2
        else:
            row[kept] = row[i]
            i += 1
        kept += 1
    return kept


@njit(cache=True, nogil=True)
def rank_table(merges):
    """The table from pairs to the ranks of their merges (its counts); the first rank where a pair is there twice."""
    ranks = with_room(no_pairs(), merges.shape[0])
    for rank in range(merges.shape[0]):
        size = ranks.size[0]
        number = find_or_add(ranks, pair_key(merges[rank, 0], merges[rank, 1]))
        if number == size:
            ranks.counts[number] = rank
    return ranks


@njit(cache=True, nogil=True)
def encode_patches(data, starts, ranks, marker):
    """The symbols of every patch, each followed by the marker (none where it is negative).

    data: uint8[bytes]; starts: int64[patches], ascending, 0 first. Returns int32[symbols], int32[patches] where each
    patch begins among them.
    """
    ids = np.empty(data.size + starts.size, np.int32)
    begins = np.empty(starts.size, np.int32)
    used = 0
    for patch in range(starts.size):
        begins[patch] = used
        end = starts[patch + 1] if patch + 1 < starts.size else data.size
        row = ids[used : used + end - starts[patch]]
        for i in range(row.size):
            row[i] = data[starts[patch] + i]
        used += _encode(row, ranks, marker + 1 if marker >= 0 else 256)
        if marker >= 0:
            ids[used] = marker
            used += 1
    return ids[:used].copy(), begins


@njit(cache=True, nogil=True)
def _encode(row, ranks, first):
    """Apply the merges in the order of their ranks; returns the new size."""
    size, last = row.size, np.int64(-1)
    while size > 1:
        best = np.int64(1) << 60
        for i in range(size - 1):
            number = find(ranks, pair_key(row[i], row[i + 1]))
            if number >= 0 and last < ranks.counts[number] < best:
                best, left, right = ranks.counts[number], row[i], row[i + 1]
        if best == np.int64(1) << 60:
            break
        size = _replace(row, size, left, right, first + best)
        last = best
    return size
