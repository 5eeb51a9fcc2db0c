"""Words by minimum description length: the lexicon and the text written with it, in as few bits as possible.

A text of N words of W types, where type w occurs n(w) times, and a lexicon that spells each type with an end after it,
M characters in all, of which m(c) are c:

    bits = sum over w of n(w) log2(N / n(w))  +  sum over c of m(c) log2(M / m(c))  +  W/2 log2(N)

These are the two-part code of Zhikov, Takamura and Okumura ("An efficient algorithm for unsupervised word segmentation
with branching entropy and MDL", 2010) with the characters of the lexicon in place of those of the text, and the usual
cost of W frequencies. Like Magistry and Sagot ("Can MDL improve unsupervised Chinese word segmentation?", 2013) it
starts from a segmentation by n-gram statistics and decides type by type: all occurrences of a string that begin and end
where words do become one word, or all words of the type are cut in two at the same place, whichever gives fewer bits.
Rounds over all strings go on until one changes nothing. Nothing is random.
"""

# mypy: allow-untyped-defs

from collections.abc import Sequence
from math import log2
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tokenlab.core.kernels import copy
from tokenlab.ngrams.counting import ngram_statistics
from tokenlab.segment.by_statistics import Segmenter
from tokenlab.segment.segmentation import Segmentation
from tokenlab.segment.words.encoding import Alphabet, Runs, alphabet_of, find_runs
from tokenlab.segment.words.lexicon import Lexicon, build_lexicon, remaining_units
from tokenlab.segment.words.sampler_kernels import Text, word_lengths

_MOST_ROUNDS, _LONGEST = 50, 6
_LEAST_GAIN = 1e-6
"""Bits below which a change is no gain: the sums of a code are kept up to date and are exact to about 1e-9 of it."""
_WORDS, _OF_WORDS, _TYPES, _SPELLED, _OF_SPELLED = range(5)
"""Entries of `Code.sums`: N, sum of n log2 n, W, M, sum of m log2 m."""


class Code(NamedTuple):
    """A segmentation, and what its bits follow from."""

    lengths: np.ndarray
    """int8[units]: the length of the word that begins at each unit, 0 inside of words; 1 after the last unit."""
    number: np.ndarray
    """int64[types]: n(w)."""
    spelled: np.ndarray
    """int64[alphabet + 1]: m(c), last the end."""
    sums: np.ndarray
    """float64[5]."""


@njit(cache=True, nogil=True)
def bits_of(sums):
    """The description length."""
    words, spelled = sums[_WORDS], sums[_SPELLED]
    return (
        (words * log2(words) - sums[_OF_WORDS])
        + (spelled * log2(spelled) - sums[_OF_SPELLED])
        + 0.5 * sums[_TYPES] * log2(words)
    )


@njit(cache=True, nogil=True, inline="always")
def _term(count):
    return count * log2(count) if count > 0 else 0.0


@njit(cache=True, nogil=True)
def change(code, prefix, last, units, word, by):
    """Count `by` more words of a type, and spell it where that makes it a type in use or takes it out of use."""
    sums, before = code.sums, code.number[word]
    after = before + by
    code.number[word] = after
    sums[_WORDS] += by
    sums[_OF_WORDS] += _term(after) - _term(before)
    if (before > 0) == (after > 0):
        return
    sign = 1 if after > 0 else -1
    sums[_TYPES] += sign
    part, character = word, code.spelled.size - 1
    while True:
        spelled = code.spelled[character]
        code.spelled[character] += sign
        sums[_SPELLED] += sign
        sums[_OF_SPELLED] += _term(spelled + sign) - _term(spelled)
        if part < 0:
            return
        character = last[part]
        part = prefix[part] if part >= units else -1


@njit(cache=True, nogil=True)
def occurrences(spans, first_word, words):
    """Where each word of several units occurs as a string: offsets int64[words + 1] and places int32[occurrences]."""
    offsets = np.zeros(words + 1, np.int64)
    for unit in range(spans.shape[0]):
        for k in range(1, spans.shape[1]):
            if spans[unit, k] >= first_word:
                offsets[spans[unit, k] + 1] += 1
    offsets = np.cumsum(offsets)
    next_place, places = offsets[:-1].copy(), np.empty(offsets[-1], np.int32)
    for unit in range(spans.shape[0]):
        for k in range(1, spans.shape[1]):
            word = spans[unit, k]
            if word >= first_word:
                places[next_place[word]] = unit
                next_place[word] += 1
    return offsets, places


@njit(cache=True, nogil=True)
def decide(spans, prefix, last, units, word, length, places, code):
    """Join, cut or leave the occurrences of one string, whichever gives the fewest bits; whether something changed.

    places: int32[occurrences], ascending.
    """
    lengths, end, own = code.lengths, -1, 0
    joined = np.empty(places.size, np.int32)  # strings between boundaries that are not one word
    others = 0
    for place in places:
        if lengths[place] == length:
            own += 1
            end = place + length
        elif place >= end and lengths[place] > 0 and lengths[place + length] > 0:
            joined[others] = place
            others += 1
            end = place + length
    if own + others == 0:
        return False
    before, best, choice = code.sums.copy(), bits_of(code.sums) - _LEAST_GAIN, -1
    if others:
        _count_join(spans, prefix, last, units, word, length, joined[:others], code, 1)
        if bits_of(code.sums) < best:
            best, choice = bits_of(code.sums), 0
        _count_join(spans, prefix, last, units, word, length, joined[:others], code, -1)
        copy(before, code.sums)
    for cut in range(1, length if own else 1):
        left, right = spans[places[0], cut - 1], spans[places[0] + cut, length - cut - 1]
        for sign in (1, -1):
            change(code, prefix, last, units, word, -sign * own)
            change(code, prefix, last, units, left, sign * own)
            change(code, prefix, last, units, right, sign * own)
            if sign > 0 and bits_of(code.sums) < best:
                best, choice = bits_of(code.sums), cut
        copy(before, code.sums)
    if choice == 0:
        _count_join(spans, prefix, last, units, word, length, joined[:others], code, 1)
        for place in joined[:others]:
            lengths[place : place + length] = 0
            lengths[place] = length
    elif choice > 0:
        change(code, prefix, last, units, word, -own)
        change(code, prefix, last, units, spans[places[0], choice - 1], own)
        change(code, prefix, last, units, spans[places[0] + choice, length - choice - 1], own)
        for place in places:
            if lengths[place] == length:
                lengths[place], lengths[place + choice] = choice, length - choice
    return choice >= 0


@njit(cache=True, nogil=True)
def _count_join(spans, prefix, last, units, word, length, places, code, sign):
    for place in places:
        inner = place
        while inner < place + length:
            size = code.lengths[inner]
            change(code, prefix, last, units, spans[inner, size - 1], -sign)
            inner += size
    change(code, prefix, last, units, word, sign * places.size)


@njit(cache=True, nogil=True)
def search(spans, prefix, last, level, code, offsets, places, rounds):
    """Decide on every string, long ones first, round after round until nothing changes; the rounds."""
    for done in range(rounds):
        changed = 0
        for length in range(level.size - 1, 1, -1):
            for word in range(level[length - 1], level[length]):
                if offsets[word] < offsets[word + 1]:
                    where = places[offsets[word] : offsets[word + 1]]
                    changed += decide(spans, prefix, last, level[1], word, length, where, code)
        if changed == 0:
            return done + 1
    return rounds


def segment_by_description_length(sentences: Sequence[str]) -> Segmentation:
    """Segment a text into the words of its shortest description that the search finds.

    Raises InputError: the text has no character of a script written without spaces; a lone surrogate.
    """
    runs = find_runs(sentences)
    runs.check()
    alphabet = Alphabet(alphabet_of(runs.points, runs.place, runs.place_end))
    units = alphabet.numbers(runs.points, runs.place, runs.place_end)
    remaining = remaining_units(runs.first)
    lexicon, spans = build_lexicon(units, remaining, runs.may_be_new, len(alphabet.clusters), _LONGEST)
    segmenter = Segmenter(ngram_statistics(sentences))
    begins = np.concatenate([batch.begins for batch in segmenter.segment(sentences)])[runs.place]
    code = code_of(lexicon, spans, _lengths(begins, runs, spans, units))
    offsets, places = occurrences(spans, lexicon.units, len(lexicon))
    search(spans, lexicon.prefix, lexicon.last_parts[0], lexicon.level, code, offsets, places, _MOST_ROUNDS)
    return runs.segmentation(code.lengths[:-1] > 0)


def code_of(lexicon: Lexicon, spans: NDArray[np.int32], lengths: NDArray[np.int8]) -> Code:
    """The code of a segmentation: lengths int8[units], spans int32[units, longest]."""
    sums, spelled = np.zeros(5), np.zeros(lexicon.units + 1, np.int64)
    code = Code(np.append(lengths, np.int8(1)), np.zeros(len(lexicon), np.int64), spelled, sums)
    begins = np.flatnonzero(lengths)
    words, number = np.unique(spans[begins, lengths[begins] - 1], return_counts=True)
    for word, times in zip(words.tolist(), number.tolist(), strict=True):
        change(code, lexicon.prefix, lexicon.last_parts[0], lexicon.units, word, times)
    return code


def _lengths(
    begins: NDArray[np.bool_], runs: Runs, spans: NDArray[np.int32], units: NDArray[np.int32]
) -> NDArray[np.int8]:
    """int8[units]: the lengths of the segments; what is no string of the lexicon is cut."""
    none, odds = np.zeros(len(runs.before), np.int32), np.ones(len(units))
    return word_lengths(begins, Text(spans, units, runs.first, none, none, odds), _LONGEST)
