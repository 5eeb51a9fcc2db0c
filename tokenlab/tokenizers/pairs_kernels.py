"""Kernels for the pairs of adjacent tokens: a hash table with a count and a list of positions for each, and a heap.

The key of a pair is left << 32 | right. Rows are numbered as pairs appear and are never removed, so iterating over them
does not depend on the hash. The lists share one pool; they may contain positions that no longer have the pair.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tokenlab.core.kernels import copy

_FIRST_ROWS = 1 << 10


class Pairs(NamedTuple):
    """Open addressing from keys to rows, and the columns of the rows."""

    slots: np.ndarray
    """int32[at least twice the room for rows, a power of two]: a row, or -1."""
    keys: np.ndarray
    """int64[room]."""
    counts: np.ndarray
    """int64[room]: current occurrences of the pair in the text, overlapping ones included, each with its weight."""
    starts: np.ndarray
    """int64[room]: where its list begins in the pool."""
    lengths: np.ndarray
    """int64[room]: length of its list."""
    size: np.ndarray
    """int64[1]: number of rows."""


class Heap(NamedTuple):
    """Binary heap of pairs: highest count first, then the smallest pair of ids; counts may be out of date, too high."""

    counts: np.ndarray
    """int64[room]."""
    keys: np.ndarray
    """int64[room]."""
    size: np.ndarray
    """int64[1]."""


@njit(cache=True, nogil=True)
def pair_key(left, right):
    """The key of a pair of token ids; keys have the order of the pairs."""
    return (np.int64(left) << np.int64(32)) | np.int64(right)


@njit(cache=True, nogil=True)
def no_pairs():
    """An empty table."""
    rows = _FIRST_ROWS
    return Pairs(
        np.full(2 * rows, -1, np.int32),
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
        np.zeros(1, np.int64),
    )


@njit(cache=True, nogil=True)
def _slot(slots, keys, key):
    """The slot with the row of the key, or the empty slot for it."""
    mask = slots.size - 1
    slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def find(pairs, key):
    """The row of a key; -1 where there is none."""
    return np.int64(pairs.slots[_slot(pairs.slots, pairs.keys, key)])


@njit(cache=True, nogil=True)
def find_or_add(pairs, key):
    """The row of a key; a new row has no occurrences. The table must have room for it."""
    slot = _slot(pairs.slots, pairs.keys, key)
    if pairs.slots[slot] < 0:
        row = pairs.size[0]
        pairs.slots[slot] = row
        pairs.keys[row] = key
        pairs.counts[row] = 0
        pairs.starts[row] = 0
        pairs.lengths[row] = 0
        pairs.size[0] = row + 1
    return np.int64(pairs.slots[slot])


@njit(cache=True, nogil=True)
def add_list(pairs, key, start, length, count):
    """Add a pair with room for its positions in the pool; returns the end of that. The table must have room for it."""
    row = find_or_add(pairs, key)
    pairs.counts[row] = count
    pairs.starts[row] = start
    pairs.lengths[row] = length
    return start + length


@njit(cache=True, nogil=True)
def _resized(array, room, used):
    """A longer array with the first `used` entries of this one."""
    longer = np.empty(room, array.dtype)
    copy(array[:used], longer)
    return longer


@njit(cache=True, nogil=True)
def with_room(pairs, more):
    """The table with room for `more` rows: itself, or a copy of at least twice the size."""
    size, room = pairs.size[0], pairs.keys.size
    if size + more <= room:
        return pairs
    while room < size + more:
        room *= 2
    keys = _resized(pairs.keys, room, size)
    slots = np.full(2 * room, -1, np.int32)
    for row in range(size):
        slots[_slot(slots, keys, keys[row])] = row
    return Pairs(
        slots,
        keys,
        _resized(pairs.counts, room, size),
        _resized(pairs.starts, room, size),
        _resized(pairs.lengths, room, size),
        pairs.size,
    )


@njit(cache=True, nogil=True)
def no_heap():
    """An empty heap."""
    return Heap(np.empty(_FIRST_ROWS, np.int64), np.empty(_FIRST_ROWS, np.int64), np.zeros(1, np.int64))


@njit(cache=True, nogil=True)
def _before(count, key, other_count, other_key):
    return count > other_count or (count == other_count and key < other_key)


@njit(cache=True, nogil=True)
def heap_with_room(heap, more):
    """The heap with room for `more` pairs: itself, or a copy of at least twice the size."""
    size, room = heap.size[0], heap.keys.size
    if size + more <= room:
        return heap
    while room < size + more:
        room *= 2
    return Heap(_resized(heap.counts, room, size), _resized(heap.keys, room, size), heap.size)


@njit(cache=True, nogil=True)
def push(heap, count, key):
    """Push a pair onto the heap, which must have room for it."""
    at = heap.size[0]
    while at > 0:
        parent = (at - 1) // 2
        if not _before(count, key, heap.counts[parent], heap.keys[parent]):
            break
        heap.counts[at], heap.keys[at] = heap.counts[parent], heap.keys[parent]
        at = parent
    heap.counts[at], heap.keys[at] = count, key
    heap.size[0] += 1


@njit(cache=True, nogil=True)
def _settle(heap, count, key):
    """Replace the top by a pair and sift it down."""
    at, size = 0, heap.size[0]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and _before(heap.counts[other], heap.keys[other], heap.counts[child], heap.keys[child]):
            child = other
        if not _before(heap.counts[child], heap.keys[child], count, key):
            break
        heap.counts[at], heap.keys[at] = heap.counts[child], heap.keys[child]
        at = child
    heap.counts[at], heap.keys[at] = count, key


@njit(cache=True, nogil=True)
def pop_best(heap, pairs):
    """Pop the most frequent pair and return its row; -1 where no pair is left.

    A count that has fallen since it was pushed is corrected and sifted down.
    """
    while heap.size[0] > 0:
        count, key = heap.counts[0], heap.keys[0]
        row = find(pairs, key)
        now = pairs.counts[row]
        if count == now or now == 0:
            heap.size[0] -= 1
            last = heap.size[0]
            if last > 0:
                _settle(heap, heap.counts[last], heap.keys[last])
            if now > 0:
                return row
        else:
            _settle(heap, now, key)
    return np.int64(-1)
