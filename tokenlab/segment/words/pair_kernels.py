"""Counts of pairs (u, w) of neighbours in one open-addressing hash table, and the counts of words that follow from it.

Contexts and words share one numbering: symbols come first, words after them. Most pairs that the sampler asks for do
not occur, so a bitmap that stays in the cache answers these; only the others touch the table.
"""

# mypy: allow-untyped-defs

from typing import NamedTuple

import numpy as np
from numba import njit

_FIELDS = ("c", "followers", "c1", "kind")
WORD = np.dtype([*((name, np.int32) for name in _FIELDS), ("p0", np.float64)], align=True)
MEAN_WORD = np.dtype([*((name, np.float32) for name in _FIELDS), ("p0", np.float64)], align=True)
"""What is known of a symbol or word, side by side because it is always needed together: c(u), the pairs that begin with
it; T(u), its distinct followers; c1(w), its distinct predecessors; its class; P0."""
N, D, USED = range(3)
"""Entries of `Counts.totals`: the sum of c1; types with c1 > 0; slots of the table in use, empty pairs included."""

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_SHIFT = np.uint64(32)
_FULL = 0.6
_BITS_PER_PAIR = 8


class Counts(NamedTuple):
    """Counts of a segmentation (integers), or their means over several (floats)."""

    keys: np.ndarray
    """uint64[slots]: u << 32 | w; the number of slots is a power of two."""
    number: np.ndarray
    """[slots]: c(u, w)."""
    bits: np.ndarray
    """uint64[words]: bitmap of the pairs of the table, and of some others."""
    words: np.ndarray
    """WORD or MEAN_WORD[contexts]."""
    totals: np.ndarray
    """[3]: N, D, and the slots in use."""


@njit(cache=True, nogil=True, inline="always")
def _mix(key):
    """A hash of 64 bits (the finaliser of splitmix64)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@njit(cache=True, nogil=True, inline="always")
def key_of(u, w):
    """The key of a pair of numbers from 0 to 2^31."""
    return (np.uint64(u) << _SHIFT) | np.uint64(w)


@njit(cache=True, nogil=True)
def find(keys, key):
    """The slot of a key, or the empty slot where it belongs."""
    mask = np.uint64(keys.size - 1)
    slot = _mix(key) & mask
    while keys[slot] != key and keys[slot] != EMPTY:
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(cache=True, nogil=True, inline="always")
def _bit(bits, key):
    """The place of a key's bit: the upper bits of the hash; `find` uses the lower ones."""
    place = (_mix(key) >> _SHIFT) & np.uint64(64 * bits.size - 1)
    return place >> np.uint64(6), np.uint64(1) << (place & np.uint64(63))


@njit(cache=True, nogil=True)
def pair_count(counts, u, w):
    """c(u, w)."""
    key = key_of(u, w)
    word, bit = _bit(counts.bits, key)
    if counts.bits[word] & bit == np.uint64(0):
        return counts.number[0] * 0  # zero of its type
    slot = find(counts.keys, key)
    return counts.number[slot] if counts.keys[slot] == key else counts.number[0] * 0


@njit(cache=True, nogil=True)
def add_pair(counts, u, w):
    """Count one more pair (u, w). The table must have an empty slot left."""
    key = key_of(u, w)
    slot = find(counts.keys, key)
    if counts.keys[slot] == EMPTY:
        counts.keys[slot] = key
        counts.number[slot] = 0
        counts.totals[USED] += 1
    counts.number[slot] += 1
    counts.words[u].c += 1
    if counts.number[slot] == 1:
        counts.words[u].followers += 1
        counts.totals[N] += 1
        counts.totals[D] += counts.words[w].c1 == 0
        counts.words[w].c1 += 1
        word, bit = _bit(counts.bits, key)
        counts.bits[word] |= bit


@njit(cache=True, nogil=True)
def remove_pair(counts, u, w):
    """Count one pair (u, w) less. It must be there; its slot and its bit stay."""
    slot = find(counts.keys, key_of(u, w))
    counts.number[slot] -= 1
    counts.words[u].c -= 1
    if counts.number[slot] == 0:
        counts.words[u].followers -= 1
        counts.totals[N] -= 1
        counts.words[w].c1 -= 1
        counts.totals[D] -= counts.words[w].c1 == 0


@njit(cache=True, nogil=True)
def is_full(counts):
    """Whether the table should be rebuilt before many pairs more are added."""
    return counts.totals[USED] > _FULL * counts.keys.size


@njit(cache=True, nogil=True)
def rebuilt(counts, sums, room):
    """A table without empty pairs and with room for `room` others, and `sums` in its order.

    sums: float32[slots], a second value of each pair; a pair is kept where either is not 0.
    """
    kept = 0
    for slot in range(counts.keys.size):
        kept += counts.keys[slot] != EMPTY and (counts.number[slot] != 0 or sums[slot] != 0)
    slots, words = 1 << 10, 1 << 8
    while slots < 3 * (kept + room):
        slots *= 2
    while 64 * words < _BITS_PER_PAIR * (kept + room):
        words *= 2
    keys, number = np.full(slots, EMPTY, np.uint64), np.zeros(slots, counts.number.dtype)
    bits, moved = np.zeros(words, np.uint64), np.zeros(slots, np.float32)
    for slot in range(counts.keys.size):
        key = counts.keys[slot]
        if key != EMPTY and (counts.number[slot] != 0 or sums[slot] != 0):
            place = find(keys, key)
            keys[place], number[place], moved[place] = key, counts.number[slot], sums[slot]
            if counts.number[slot] != 0:
                word, bit = _bit(bits, key)
                bits[word] |= bit
    counts.totals[USED] = kept
    return Counts(keys, number, bits, counts.words, counts.totals), moved


@njit(cache=True, nogil=True)
def compact(keys, number):
    """The pairs that are not 0, in the order of the table: u, w (int32) and their values."""
    size = 0
    for slot in range(keys.size):
        size += keys[slot] != EMPTY and number[slot] != 0
    u, w, values = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, number.dtype)
    size = 0
    for slot in range(keys.size):
        if keys[slot] != EMPTY and number[slot] != 0:
            u[size], w[size], values[size] = keys[slot] >> _SHIFT, keys[slot] & np.uint64(0xFFFFFFFF), number[slot]
            size += 1
    return u, w, values


def empty_counts(contexts: int) -> Counts:
    """Counts of no pair at all, without room: `rebuilt` gives it."""
    keys, number = np.full(1, EMPTY, np.uint64), np.zeros(1, np.int32)
    return Counts(keys, number, np.zeros(1, np.uint64), np.zeros(contexts, WORD), np.zeros(3, np.int64))


@njit(cache=True, nogil=True)
def filled_table(u, w, values):
    """Keys, values and bitmap of a table that holds these distinct pairs and nothing else."""
    slots, words = 1 << 4, 1 << 2
    while slots < 2 * u.size:
        slots *= 2
    while 64 * words < _BITS_PER_PAIR * u.size:
        words *= 2
    keys, number = np.full(slots, EMPTY, np.uint64), np.zeros(slots, values.dtype)
    bits = np.zeros(words, np.uint64)
    for i in range(u.size):
        key = key_of(u[i], w[i])
        slot = find(keys, key)
        keys[slot], number[slot] = key, values[i]
        word, bit = _bit(bits, key)
        bits[word] |= bit
    return keys, number, bits
