"""Search for better boundaries than 6-9-9 (open question 1: Bit-level BPE, section 7).

A split cuts the 24 bits of a three-byte character in UTF-8, 1110aabb 10cdefgh 10ijklmn, into a prefix of p bits and one
to three payloads. As in 6-9-9, equal payloads are one token, one below 100h is the token of that byte, and a prefix is
written only where it differs from the prefix in force. With p = 0 there is no prefix: a character is its payloads, at
any place (0-8-8-8 is plain byte fallback).

Which bytes are ambiguous: while a prefix is in force, a decoder that looks at one token takes it for the first payload
of a character where it fits the fixed bits, the ones and zeros above, whichever prefix it is. Further payloads are
counted off and cannot be confused. So the bytes that fit the fixed bits of the first payload, and no others, need a
reset before them: directly after a run with emission `run`; anywhere while a prefix is in force with `change`, and the
reset clears it; anywhere, each on its own, where p = 0. For 6-9-9 these are 40-5F and C0-DF.

Nothing is encoded: the numbers follow from the counts of characters, and from the sequence of their prefixes. They are
those of mode `lossless`; for 6-9-9 they equal the encoder's.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import combinations, pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from tokenlab.codes.bits.options import Emission
from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice
from tokenlab.text.code_points import code_points

Choice = Literal["all", "paying"]

_BITS = 24
_FIXED, _FIXED_VALUE = 0xF0C0C0, 0xE08080
"""The bits that every three-byte character has, and their values."""
_TABLED = 16
"""Payloads of more bits are sorted instead of counted in a table."""
_AMBIGUOUS, _OTHER, _END = -1, -2, -3
"""Events beside prefixes: a character with an ambiguous byte, any other token, the end of a text."""


class Split(NamedTuple):
    """How the 24 bits of a three-byte character are cut."""

    prefix: int
    """Bits of the prefix, 0 for none."""
    payloads: tuple[int, ...]
    """Bits of each payload."""

    def __str__(self) -> str:
        return "-".join(map(str, (self.prefix, *self.payloads)))

    @property
    def ambiguous(self) -> np.ndarray:
        """bool[256]: the bytes that fit the first payload."""
        width = self.payloads[0]
        low = _BITS - self.prefix - width
        values = np.arange(256)
        fits = values & (_FIXED >> low) == (_FIXED_VALUE >> low) & ((1 << width) - 1)
        return fits & (values < 1 << width)

    def payloads_of(self, bits: np.ndarray) -> np.ndarray:
        """int64[payloads * n]: the payloads of n characters, all first ones first."""
        low, found = _BITS - self.prefix, []
        for width in self.payloads:
            low -= width
            found.append(bits >> low & ((1 << width) - 1))
        return np.concatenate(found)


def all_splits(prefixes: Iterable[int] = range(17), parts: Iterable[int] = (1, 2, 3)) -> list[Split]:
    """All splits with a prefix of so many bits and so many payloads, in all ways to cut.

    Raises ParameterError for a prefix that leaves no bit to a payload.
    """
    found = []
    for prefix in prefixes:
        if not 0 <= prefix < _BITS:
            raise ParameterError(f"prefixes: {prefix} bits; a prefix has 0 to {_BITS - 1}")
        for count in parts:
            for cuts in combinations(range(prefix + 1, _BITS), count - 1):
                ends = (prefix, *cuts, _BITS)
                found.append(Split(prefix, tuple(end - start for start, end in pairwise(ends))))
    return found


class Candidate(NamedTuple):
    """A split with a policy, and what they make of texts."""

    split: Split
    emission: Emission
    prefixes: tuple[int, ...]
    """The enabled prefixes, in order; none where the prefix has no bits."""
    tokens: int
    """Tokens of all texts."""
    prefix_tokens: int
    resets: int
    added: int
    """Tokens beside the base vocabulary that can occur in some text: payloads from 100h up, prefixes, the reset."""
    counts: np.ndarray
    """int64[types]: how often each token occurs that does, in no particular order."""


class Characters:
    """The characters of texts, as all splits need them. Memory is linear in the number of characters."""

    def __init__(self, texts: Iterable[str], known: str = "") -> None:
        """known: the characters that are tokens; all others fall back to their bytes. Raises InputError for a lone
        surrogate."""
        found = [code_points(text).astype(np.int64) for text in texts]
        points, sequence, self.counts = np.unique(
            np.concatenate([np.zeros(0, np.int64), *found]), return_inverse=True, return_counts=True
        )
        """counts: int64[types]."""
        self.spelled, self.bits = _fallback(points, known)
        """int16[types, 4]: bytes, and int64[types]: the 24 bits of three-byte characters; -1 where there are none."""
        self.possible_spelled, self.possible_bits = _possible(known)
        """The same of all characters below U+10000."""
        ends = np.cumsum([text.size for text in found], dtype=np.int64)
        self.sequence = np.insert(sequence, ends, points.size).astype(np.int32)
        """int32[characters + texts]: the type at every place, and `counts.size` at the end of every text."""
        self.events: dict[tuple[Any, ...], tuple[np.ndarray, np.ndarray]] = {}
        """Results of `_events` by what they depend on."""

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """int64[pairs] each: a type, the type after it, and how often they stand so."""
        size = self.counts.size + 1
        before = np.concatenate([[size - 1], self.sequence[:-1]]).astype(np.int64)
        found, counts = np.unique(before * size + self.sequence, return_counts=True)
        return *np.divmod(found, size), counts


def candidates(
    characters: Characters,
    splits: Iterable[Split],
    emissions: Sequence[Emission] = get_args(Emission),
    choices: Sequence[Choice] = get_args(Choice),
    chosen_on: Characters | None = None,
) -> Iterator[Candidate]:
    """Measure splits under all policies.

    Args:
        emissions: when prefixes are written; without a prefix there is only `run`.
        choices: `all` enables the prefixes of all characters that fall back; `paying` those that save tokens where all
            are enabled: their characters as payloads, their prefix tokens and the resets after them, against three
            bytes a character. It is left out where it chooses all or none.
        chosen_on: the texts on which `paying` chooses; None for those that are measured, which favours it.
    """
    for split in splits:
        for emission in emissions if split.prefix else ("run",):
            every = possible_prefixes(characters, split)
            if "all" in choices:
                yield measure(characters, split, emission, every)
            if "paying" in choices and split.prefix:
                paying = paying_prefixes(chosen_on or characters, split, emission)
                if paying and paying != every:
                    yield measure(characters, split, emission, paying)


def possible_prefixes(characters: Characters, split: Split) -> tuple[int, ...]:
    """The prefixes of all three-byte characters that fall back, whether or not they occur; none if it has no bits."""
    bits = characters.possible_bits[characters.possible_bits >= 0]
    return tuple(np.flatnonzero(np.bincount(bits >> (_BITS - split.prefix))).tolist()) if split.prefix else ()


def paying_prefixes(characters: Characters, split: Split, emission: Emission) -> tuple[int, ...]:
    """The prefixes that save tokens where all are enabled, see `candidates`."""
    prefixes = _prefixes_of(characters.bits, split, possible_prefixes(characters, split))
    emitted, resets = _events(characters, split, emission, prefixes)
    rewritten = prefixes >= 0
    occurring = np.bincount(prefixes[rewritten], characters.counts[rewritten], emitted.size)
    return tuple(np.flatnonzero((3 - len(split.payloads)) * occurring > emitted + resets).tolist())


def measure(characters: Characters, split: Split, emission: Emission, prefixes: Sequence[int]) -> Candidate:
    """Tokens, added tokens and the counts of all tokens.

    Args:
        prefixes: the enabled prefixes; characters with others fall back to bytes. Ignored where the prefix has no bits.
    """
    check_choice("emission", emission, Emission)
    prefixes_of = _prefixes_of(characters.bits, split, prefixes)
    emitted, resets = _events(characters, split, emission, prefixes_of)
    rewritten = prefixes_of >= 0
    values, counts = _value_counts(split, characters.bits[rewritten], characters.counts[rewritten])
    raw = np.where(rewritten[:, None], np.int16(-1), characters.spelled)
    raw_counts = np.bincount(raw[raw >= 0], np.repeat(characters.counts, (raw >= 0).sum(1)), 256).astype(np.int64)
    short = values < 256
    raw_counts[values[short]] += counts[short]
    known = characters.counts[characters.spelled[:, 0] < 0]
    every = np.concatenate([raw_counts, counts[~short], known, emitted, [resets.sum()]])
    return Candidate(
        split,
        emission,
        tuple(sorted(prefixes)) if split.prefix else (),
        int(every.sum()),
        int(emitted.sum()),
        int(resets.sum()),
        _added(characters, split, emission, prefixes),
        every[every > 0],
    )


def pareto_front(costs: np.ndarray) -> np.ndarray:
    """bool[n]: which rows of float[n, k] no other row beats: at most as much everywhere, and less somewhere."""
    found = np.ones(len(costs), bool)
    for row, cost in enumerate(costs):
        found[row] = not ((costs <= cost).all(1) & (costs < cost).any(1)).any()
    return found


@lru_cache(4)
def _possible(known: str) -> tuple[np.ndarray, np.ndarray]:
    """`_fallback` of all characters below U+10000."""
    return _fallback(np.r_[0:0xD800, 0xE000:0x10000], known)


def _fallback(points: np.ndarray, known: str) -> tuple[np.ndarray, np.ndarray]:
    """int16[n, 4]: the bytes of characters that are not known, -1 where there are none; int64[n]: the 24 bits of those
    of three bytes, -1 for others."""
    spelled = np.full((points.size, 4), -1, np.int16)
    for length, first, end, lead in [
        (1, 0, 0x80, 0),
        (2, 0x80, 0x800, 0xC0),
        (3, 0x800, 0x10000, 0xE0),
        (4, 0x10000, 0x110000, 0xF0),
    ]:
        here = (points >= first) & (points < end)
        for place in range(length):
            bits = points[here] >> 6 * (length - 1 - place)
            spelled[here, place] = lead | bits if place == 0 else 0x80 | bits & 0x3F
    spelled[np.isin(points, code_points(known))] = -1
    three = (spelled[:, 2] >= 0) & (spelled[:, 3] < 0)
    bytes_of = spelled[:, :3].astype(np.int64)
    return spelled, np.where(three, bytes_of @ [1 << 16, 1 << 8, 1], -1)


def _prefixes_of(bits: np.ndarray, split: Split, enabled: Sequence[int]) -> np.ndarray:
    """int64[n]: the prefix of each character that is rewritten, -1 for others."""
    is_enabled = np.zeros((1 << split.prefix) + 1, bool)  # The last entry is for characters without a prefix.
    is_enabled[list(enabled) if split.prefix else 0] = True
    prefixes = np.where(bits < 0, -1, bits >> (_BITS - split.prefix))
    return np.where(is_enabled[prefixes], prefixes, -1)


def _events(
    characters: Characters, split: Split, emission: Emission, prefixes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """int64[2^p] each: how often each prefix is written, and how often a reset while it is in force.

    prefixes: int64[types], the prefix of each type, -1 for those that are not rewritten.
    """
    size = 1 << split.prefix
    raw = np.where(prefixes[:, None] < 0, characters.spelled, np.int16(-1))
    is_ambiguous = np.append(split.ambiguous, False)[raw]  # Entry -1, for no byte, is the last.
    if not split.prefix:
        return np.zeros(1, np.int64), np.array([characters.counts @ is_ambiguous.sum(1)])
    ambiguous = is_ambiguous[:, 0] if emission == "run" else is_ambiguous.any(1)
    codes = np.append(np.where(ambiguous, _AMBIGUOUS, np.where(prefixes < 0, _OTHER, prefixes)), _END)
    key = (split.prefix, emission, codes.tobytes())
    if key not in characters.events:
        if emission == "run":
            before, after, counts = characters.pairs
            before, after = codes[before], codes[after]
        else:
            after = codes.astype(np.int32)[characters.sequence]
            after = after[after != _OTHER]
            before, counts = np.concatenate([[_END], after[:-1]]), None
        emitted, reset = (after >= 0) & (after != before), (after == _AMBIGUOUS) & (before >= 0)
        characters.events[key] = (
            _counted(after, emitted, counts, size),
            _counted(before, reset, counts, size),
        )
    return characters.events[key]


def _counted(values: np.ndarray, where: np.ndarray, counts: np.ndarray | None, size: int) -> np.ndarray:
    """int64[size]: how often each value occurs where a condition holds."""
    return np.bincount(values[where], None if counts is None else counts[where], size).astype(np.int64)


def _value_counts(split: Split, bits: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int64[values] each: the payloads of characters, and how often each occurs."""
    values, weights = split.payloads_of(bits), np.tile(counts, len(split.payloads))
    if max(split.payloads) > _TABLED:
        found, places = np.unique(values, return_inverse=True)
        return found, np.bincount(places, weights, found.size).astype(np.int64)
    found = np.bincount(values, weights).astype(np.int64)
    return np.flatnonzero(found), found[found > 0]


def _added(characters: Characters, split: Split, emission: Emission, prefixes: Sequence[int]) -> int:
    """The number of payloads from 100h up, prefixes and resets that can occur in some text."""
    rewritten = _prefixes_of(characters.possible_bits, split, prefixes) >= 0
    values, _ = _value_counts(split, characters.possible_bits[rewritten], np.ones(rewritten.sum(), np.int64))
    raw = characters.possible_spelled[~rewritten]
    if emission == "run" and split.prefix:
        raw = raw[:, 0]
    can_be_raw = np.zeros(257, bool)  # The last entry is for no byte.
    can_be_raw[raw] = True
    can_be_raw[0xF0:0xF5] = True
    if emission == "change" or not split.prefix:
        can_be_raw[0x80:0xC0] = True
    has_reset = bool((can_be_raw[:256] & split.ambiguous).any())
    return int((values >= 256).sum()) + (len(prefixes) if split.prefix else 0) + has_reset
