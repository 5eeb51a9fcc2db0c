"""Kernels for the pieces of a unigram model: the seed pieces, and a trie to find the arcs of the lattice.

The trie is a double array (Aoe, 1989): the child of a node by code c is the slot base[node] + c if its owner is that
node. It takes a few times the memory of the pieces for any alphabet, so it fits into the cache, unlike a dense table of
children. Codes are symbols + 1; code 0 ends a sequence and is never a child, so walks check no bounds.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

_NONE = np.uint32(0xFFFFFFFF)


class Trie(NamedTuple):
    """Nodes are slots, and the root is slot 0; the arrays end with room for every code after the last base."""

    base: np.ndarray
    """uint32[slots]: where the children of a node begin; 0 for a leaf."""
    owner: np.ndarray
    """uint32[slots]: the parent of a node."""
    piece: np.ndarray
    """int32[slots]: the piece that ends at a node; -1 for none."""


@njit(cache=True, nogil=True)
def build_trie(symbols, offsets, alphabet):
    """The trie of distinct, non-empty pieces in lexicographic order: piece i is symbols[offsets[i]:offsets[i+1]]."""
    room = 2 * symbols.size + 4 * alphabet + 4
    base, owner, piece = np.zeros(room, np.uint32), np.full(room, _NONE, np.uint32), np.full(room, -1, np.int32)
    nodes, depths = np.empty(symbols.size + 1, np.uint32), np.empty(symbols.size + 1, np.int32)
    lows, highs = np.empty(symbols.size + 1, np.int32), np.empty(symbols.size + 1, np.int32)
    codes = np.empty(alphabet, np.int64)
    nodes[0], depths[0], lows[0], highs[0] = 0, 0, 0, offsets.size - 1
    waiting, size, free, used = 0, 1, alphabet + 1, alphabet + 1
    while waiting < size:
        node, depth, low, high = nodes[waiting], depths[waiting], lows[waiting], highs[waiting]
        waiting += 1
        if node > 0 and offsets[low] + depth == offsets[low + 1]:
            piece[node] = low
            low += 1
        children = 0
        for i in range(low, high):
            code = symbols[offsets[i] + depth] + 1
            if children == 0 or codes[children - 1] != code:
                codes[children] = code
                lows[size + children] = i
                if children > 0:
                    highs[size + children - 1] = i
                children += 1
        if children == 0:
            continue
        highs[size + children - 1] = high
        while owner[free] != _NONE:
            free += 1
        begin = _place(owner, free, codes[:children])
        base[node] = begin
        for k in range(children):
            slot = begin + codes[k]
            owner[slot] = node
            nodes[size + k], depths[size + k] = slot, depth + 1
            used = max(used, slot)
        size += children
        if used + 2 * alphabet + 2 > base.size:
            base, owner = _longer(base, 0), _longer(owner, _NONE)
            piece = _longer(piece, -1)
    end = used + alphabet + 1
    return Trie(base[:end].copy(), owner[:end].copy(), piece[:end].copy())


@njit(cache=True, nogil=True)
def _place(owner, free, codes):
    """The first base at which the slots of all codes are free; the slot of the first code is tried from `free` on."""
    slot = free
    while True:
        fits = True
        for code in codes:
            if owner[slot - codes[0] + code] != _NONE:
                fits = False
                break
        if fits:
            return slot - codes[0]
        slot += 1


@njit(cache=True, nogil=True)
def _longer(array, fill):
    longer = np.full(2 * array.size, fill, array.dtype)
    longer[: array.size] = array
    return longer


@njit(cache=True, nogil=True)
def remaining_symbols(codes, depth):
    """uint8[length]: number of symbols from each position to the end of its sequence, at most `depth`."""
    remaining = np.zeros(codes.size, np.uint8)
    for p in range(codes.size - 2, -1, -1):
        if codes[p] > 0:
            remaining[p] = min(remaining[p + 1] + 1, depth)
    return remaining


@njit(cache=True, nogil=True)
def repeated_substrings(shared, longest):
    """The substrings of 2 to `longest` symbols that occur at least twice, and not always before the same symbol.

    These are the inner nodes of the suffix tree. shared: uint8[positions], the length of the common prefix of each
    sorted position and the one before, at most longest + 1. Returns for each substring its first place among the sorted
    positions (int32), its length (int32) and its number of occurrences (int64).
    """
    firsts, lengths = np.empty(shared.size, np.int32), np.empty(shared.size, np.int32)
    counts = np.empty(shared.size, np.int64)
    found = 0
    left, depth = np.empty(longest + 3, np.int64), np.empty(longest + 3, np.int64)
    left[0], depth[0] = 0, 0
    top = 0
    for i in range(1, shared.size + 1):
        common = shared[i] if i < shared.size else 0
        begin = np.int64(i - 1)
        while depth[top] > common:
            begin = left[top]
            if 2 <= depth[top] <= longest:
                firsts[found], lengths[found], counts[found] = begin, depth[top], i - begin
                found += 1
            top -= 1
        if depth[top] < common:
            top += 1
            left[top], depth[top] = begin, common
    return firsts[:found].copy(), lengths[:found].copy(), counts[:found].copy()
