"""The lexicon: the candidates of the training text by number, and their spelling.

Candidates are the substrings of runs that may be words, numbered level by level. A word of k units is the pair of its
first k - 1 and its last k - 1 units, which are words too. Such pairs of numbers are exact keys: no hash of a string has
to be verified, and a new text finds its words without comparing characters.
"""

# mypy: allow-untyped-defs

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tokenlab.segment.words.pair_kernels import EMPTY, find, key_of

NONE, NEW = -1, -2
"""No candidate; a candidate that the lexicon does not hold."""

_LEAST_OCCURRENCES = 2  # of other candidates than those that may be new


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Words by number, shorter ones first: first the single units, by their number in the alphabet."""

    level: NDArray[np.int64]  # [longest + 1] words of k units are those from level[k - 1] to level[k]
    prefix: NDArray[np.int32]  # [words] the word without its last unit; -1 for single units
    suffix: NDArray[np.int32]  # [words] the word without its first unit; -1 for single units

    def __len__(self) -> int:
        return len(self.prefix)

    @property
    def longest(self) -> int:
        """Units of the longest words."""
        return len(self.level) - 1

    @property
    def units(self) -> int:
        """Size of the alphabet."""
        return int(self.level[1])

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Units of each word."""
        return np.repeat(np.arange(1, self.longest + 1), np.diff(self.level))

    @cached_property
    def last_parts(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The last unit and the last two units of each word, as `last_parts`."""
        return last_parts(self.suffix, self.units, int(self.level[2]))

    @cached_property
    def _table(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        return word_table(self.prefix, self.suffix, self.units)

    def spans(
        self, units: NDArray[np.int32], remaining: NDArray[np.int32], may_be_new: NDArray[np.int8]
    ) -> NDArray[np.int32]:
        """The word of each span of a text: int32[units, longest], as `look_up_spans`."""
        return look_up_spans(units, remaining, may_be_new, self.units, *self._table, self.longest)


def build_lexicon(
    units: NDArray[np.int32], remaining: NDArray[np.int32], may_be_new: NDArray[np.int8], alphabet: int, longest: int
) -> tuple[Lexicon, NDArray[np.int32]]:
    """The candidates of a text, and its spans as `Lexicon.spans`.

    Every span of at most `may_be_new` units is a candidate, a longer one of at most `longest` units where it occurs
    twice. Whether a span may be new must depend on its units alone, and be true of its parts where it is true of it.

    may_be_new: int8[units], for the spans that begin at each unit; at least 2.
    """
    spans = np.empty((len(units), longest), np.int32)
    spans[:, 0] = units
    level = [0, alphabet]
    prefixes, suffixes = [np.full(alphabet, -1, np.int32)], [np.full(alphabet, -1, np.int32)]
    for length in range(2, longest + 1):
        prefix, suffix = number_spans(spans, remaining, may_be_new, length, _LEAST_OCCURRENCES, level[-1])
        prefixes.append(prefix)
        suffixes.append(suffix)
        level.append(level[-1] + len(prefix))
    return Lexicon(np.array(level), np.concatenate(prefixes), np.concatenate(suffixes)), spans


def remaining_units(first: NDArray[np.int64]) -> NDArray[np.int32]:
    """int32[units]: the units from each to the end of its run, itself included. first: int64[runs + 1]."""
    return (np.repeat(first[1:], np.diff(first)) - np.arange(first[-1])).astype(np.int32)


@njit(cache=True, nogil=True)
def number_spans(spans, remaining, may_be_new, length, least, first_number):
    """Fill spans[:, length - 1] from the column before it; return the two parts of each new word, int32[words] each.

    A span is a word where both its parts are and where it may be new or occurs at least `least` times. Words are
    numbered from `first_number` in the order in which they first occur. spans: int32[units, longest].
    """
    possible = 0
    for unit in range(remaining.size):
        possible += (
            remaining[unit] >= length and spans[unit, length - 2] != NONE and spans[unit + 1, length - 2] != NONE
        )
    slots = 1 << 4
    while slots < 2 * possible:
        slots *= 2
    keys, count = np.full(slots, EMPTY, np.uint64), np.zeros(slots, np.int32)
    frequent = 0
    for unit in range(remaining.size):
        if remaining[unit] >= length and spans[unit, length - 2] != NONE and spans[unit + 1, length - 2] != NONE:
            key = key_of(spans[unit, length - 2], spans[unit + 1, length - 2])
            slot = find(keys, key)
            needed = 1 if length <= may_be_new[unit] else least
            keys[slot] = key
            count[slot] += 1
            frequent += count[slot] == needed
    prefix, suffix = np.empty(frequent, np.int32), np.empty(frequent, np.int32)
    numbered = 0
    for unit in range(remaining.size):
        spans[unit, length - 1] = NONE
        if remaining[unit] >= length and spans[unit, length - 2] != NONE and spans[unit + 1, length - 2] != NONE:
            slot = find(keys, key_of(spans[unit, length - 2], spans[unit + 1, length - 2]))
            if count[slot] >= (1 if length <= may_be_new[unit] else least):
                prefix[numbered], suffix[numbered] = spans[unit, length - 2], spans[unit + 1, length - 2]
                numbered += 1
                count[slot] = -numbered
            if count[slot] < 0:
                spans[unit, length - 1] = first_number - count[slot] - 1
    return prefix, suffix


@njit(cache=True, nogil=True)
def word_table(prefix, suffix, units):
    """Hash table from the parts of a word to its number: keys uint64[slots], numbers int32[slots].

    prefix, suffix: int32[words]; the first `units` words have no parts.
    """
    slots = 1 << 4
    while slots < 2 * prefix.size:
        slots *= 2
    keys, numbers = np.full(slots, EMPTY, np.uint64), np.full(slots, NONE, np.int32)
    for word in range(units, prefix.size):
        key = key_of(prefix[word], suffix[word])
        slot = find(keys, key)
        keys[slot], numbers[slot] = key, word
    return keys, numbers


@njit(cache=True, nogil=True)
def look_up_spans(units, remaining, may_be_new, known_units, keys, numbers, longest):
    """The word of each span of a text, int32[units, longest]; NONE or NEW where the lexicon has none.

    units: int32[units], `known_units` for an unknown one.
    """
    spans = np.full((units.size, longest), NONE, np.int32)
    for unit in range(units.size):
        spans[unit, 0] = units[unit] if units[unit] < known_units else NEW
    for length in range(2, longest + 1):
        for unit in range(units.size):
            if remaining[unit] < length:
                continue
            left, right = spans[unit, length - 2], spans[unit + 1, length - 2]
            if left >= 0 and right >= 0:
                key = key_of(left, right)
                slot = find(keys, key)
                if keys[slot] == key:
                    spans[unit, length - 1] = numbers[slot]
            if length <= may_be_new[unit] and spans[unit, length - 1] == NONE:
                spans[unit, length - 1] = NEW
    return spans


@njit(cache=True, nogil=True)
def last_parts(suffix, units, pairs):
    """The last unit and the last two units (a word's number, -1 for single units) of each word, int32[words] each.

    The words of two units are those from `units` to `pairs`; shorter words have smaller numbers.
    """
    last, last_two = np.empty(suffix.size, np.int32), np.empty(suffix.size, np.int32)
    for word in range(suffix.size):
        if word < units:
            last[word], last_two[word] = word, -1
        else:
            last[word] = last[suffix[word]]
            last_two[word] = word if word < pairs else last_two[suffix[word]]
    return last, last_two
