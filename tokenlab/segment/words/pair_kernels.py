"""Counts of pairs (u, w) of neighbours in one open-addressing hash table, and the counts of words that follow from it.

Contexts and words share one numbering: symbols come first, words after them. Most pairs that the sampler asks for do
not occur, so a bitmap that stays in the cache answers these; only the others touch the table.
"""

# mypy: allow-untyped-defs

from typing import NamedTuple, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)

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
def mix(key):
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
    slot = mix(key) & mask
    while keys[slot] != key and keys[slot] != EMPTY:
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(cache=True, nogil=True, inline="always")
def _bit(bits, key):
    """The place of a key's bit: the upper bits of the hash; `find` uses the lower ones."""
    place = (mix(key) >> _SHIFT) & np.uint64(64 * bits.size - 1)
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
def count_pair(counts, u, w, adds):
    """Count one pair (u, w) more or, where `adds` is False, less."""
    if adds:
        _add_pair(counts, u, w)
    else:
        _remove_pair(counts, u, w)


@njit(cache=True, nogil=True)
def _add_pair(counts, u, w):
    """The table must have an empty slot left."""
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
def _remove_pair(counts, u, w):
    """The pair must be there; its slot and its bit stay."""
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


def rebuilt(counts: Counts, sums: NDArray[np.float32], room: int) -> tuple[Counts, NDArray[np.float32]]:
    """A table without empty pairs and with room for `room` others, and `sums` in its order.

    sums: float32[slots], a second value of each pair; a pair is kept where either is not 0.
    """
    kept = int(np.count_nonzero((counts.keys != EMPTY) & ((counts.number != 0) | (sums != 0))))
    keys, bits = _empty_table(3 * (kept + room), _BITS_PER_PAIR * (kept + room))
    number, moved = np.zeros(len(keys), np.int32), np.zeros(len(keys), np.float32)
    move_pairs(counts.keys, counts.number, sums, keys, number, moved, bits)
    counts.totals[USED] = kept
    return Counts(keys, number, bits, counts.words, counts.totals), moved


@njit(cache=True, nogil=True)
def move_pairs(old_keys, old_number, old_sums, keys, number, sums, bits):
    """Fill an empty table with the pairs of another one that `rebuilt` keeps."""
    for old in range(old_keys.size):
        key = old_keys[old]
        if key != EMPTY and (old_number[old] != 0 or old_sums[old] != 0):
            slot = find(keys, key)
            keys[slot], number[slot], sums[slot] = key, old_number[old], old_sums[old]
            if old_number[old] != 0:
                word, bit = _bit(bits, key)
                bits[word] |= bit


def filled_table(
    u: NDArray[np.int32], w: NDArray[np.int32], values: NDArray[np.float32]
) -> tuple[NDArray[np.uint64], NDArray[np.float32], NDArray[np.uint64]]:
    """Keys, values and bitmap of a table that holds these distinct pairs and nothing else."""
    keys, bits = _empty_table(2 * len(u), _BITS_PER_PAIR * len(u))
    number = np.zeros(len(keys), np.float32)
    fill_table(u, w, values, keys, number, bits)
    return keys, number, bits


@njit(cache=True, nogil=True)
def fill_table(u, w, values, keys, number, bits):
    """Fill an empty table."""
    for i in range(u.size):
        key = key_of(u[i], w[i])
        slot = find(keys, key)
        keys[slot], number[slot] = key, values[i]
        word, bit = _bit(bits, key)
        bits[word] |= bit


def _empty_table(slots: int, bits: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Keys and bitmap of at least these sizes, powers of two."""
    slots, words = max(slots, 1 << 4), max(-(-bits // 64), 1 << 2)
    return np.full(1 << (slots - 1).bit_length(), EMPTY), np.zeros(1 << (words - 1).bit_length(), np.uint64)


def compact(
    keys: NDArray[np.uint64], number: NDArray[Number]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Number]]:
    """The pairs that are not 0, in the order of the table: u, w and their values."""
    slots = np.flatnonzero((keys != EMPTY) & (number != 0))
    pairs = keys[slots]
    return (pairs >> _SHIFT).astype(np.int32), (pairs & np.uint64(0xFFFFFFFF)).astype(np.int32), number[slots]


def empty_counts(contexts: int) -> Counts:
    """Counts of no pair at all, without room: `rebuilt` gives it."""
    keys, number = np.full(1, EMPTY, np.uint64), np.zeros(1, np.int32)
    return Counts(keys, number, np.zeros(1, np.uint64), np.zeros(contexts, WORD), np.zeros(3, np.int64))
