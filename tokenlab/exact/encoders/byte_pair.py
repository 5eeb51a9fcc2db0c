"""Byte pair encoding: merges of pairs by rank (appendix H of the paper).

A token sequence is an encoding if every token is the encoding of its own text and every adjacent pair that of its own
(corollary H.3); `byte_pair_kernels` has the proof for any order of merges, and the search. Texts are cut into *units*
first: bytes where the vocabulary has them, characters otherwise, and bytes again for characters that are no token
(SentencePiece's `<0x41>`).
"""

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.encoders import byte_pair_kernels as kernels
from tokenlab.exact.encoders.masks import Endless, Masks
from tokenlab.exact.utf8 import ByteFallback, character_at, character_status
from tokenlab.exact.vocabulary import Vocabulary

_ALONE, _NONE = -2, -1


class PairState(NamedTuple):
    """What decides how an encoding goes on."""

    last: int = _NONE
    """id of the last token; -1 where nothing merges with it; -2 for a token that is a whole word and nothing else"""
    partial: bytes = b""
    """bytes of an unfinished character, spelled by byte tokens"""
    word: bytes | None = None
    """with `whole_words`: the text so far, while a token that merging does not make begins with it"""
    several: bool = False
    """whether `word` consists of several tokens"""


class BytePair:
    """The encodings of BPE, without a pre-tokenizer.

    merges: (left id, right id, new id) in order of rank. whole_words: a text that is a token is that token, even one
    that merging does not make (`ignore_merges`, tiktoken). byte_fallback: ids of the tokens of the 256 bytes, which
    spell the characters that are no token and take part in no merge. absent: characters that never occur in a text,
    such as those that a normalizer replaces. has_end: whether texts end; without an end only sequences that can be
    continued for ever are live.

    ranks: the rank of each merge, its place in the list by default; of equal ranks the leftmost place merges first.

    Raises InputError for a merge whose parts do not spell the new token, or that uses a byte token.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        merges: Iterable[Sequence[int]],
        *,
        whole_words: bool = False,
        byte_fallback: Sequence[int] | None = None,
        absent: Iterable[bytes] = (),
        has_end: bool = True,
        ranks: Sequence[int] | None = None,
    ) -> None:
        self.vocabulary, self.prefix, self.has_end = vocabulary, b"", has_end
        self.byte_ids = tuple(byte_fallback or ())
        """Ids of the tokens of the 256 bytes where there is byte fallback, else empty."""
        self._base = _base_units(vocabulary, set(self.byte_ids))
        self._fallback = ByteFallback({*self._base, *absent})
        self._derive(list(merges), ranks)
        self._atoms = self._whole_words() if whole_words else {}
        self._sorted_atoms = sorted(self._atoms)
        self._live: dict[PairState, bool] = {}
        self._after = Masks(len(vocabulary), self._followers)
        self._masks = Masks(len(vocabulary), self._allowed)
        self._endless = None if has_end else Endless(vocabulary, self._step, self._mask)

    @classmethod
    def from_ranks(
        cls,
        vocabulary: Vocabulary,
        rank_of_id: Sequence[float | None],
        *,
        whole_words: bool = False,
        byte_fallback: Sequence[int] | None = None,
        absent: Iterable[bytes] = (),
    ) -> "BytePair":
        """BPE of tiktoken and SentencePiece: any two neighbours that spell a token merge, the lowest rank first.

        rank_of_id: the lowest merges first, of equals the leftmost; None for ids that nothing merges into. For
        SentencePiece the negative score.
        """
        merges = _all_merges(vocabulary, rank_of_id, set(byte_fallback or ()))
        ranks = np.unique([rank_of_id[new] for _, _, new in merges], return_inverse=True)[1].tolist()
        return cls(
            vocabulary,
            merges,
            whole_words=whole_words,
            byte_fallback=byte_fallback,
            absent=absent,
            ranks=ranks,
        )

    def start(self) -> Hashable:
        """The state before the first token."""
        return PairState(word=b"" if self._atoms else None)

    def step(self, state: Hashable, token: int) -> Hashable | None:
        """The state after one more token (an id), or None where no text's encoding goes on so."""
        return self._step(state, token) if self._endless is None else self._endless.step(state, token)

    def allowed(self, state: Hashable) -> NDArray[np.bool_]:
        """[len(vocabulary)] by position: the tokens after which the sequence is still live. Read-only."""
        return self._mask(state) if self._endless is None else self._endless.allowed(state)

    def may_end(self, state: Hashable) -> bool:
        """Whether a text can end here: not inside a character, nor where its tokens should have been one token."""
        assert isinstance(state, PairState)
        return self.has_end and self._is_encoding(state)

    def encode(self, text: bytes) -> list[int]:
        """The encoding of a text. Raises InputError for a character that has no token, and no byte tokens."""
        if text in self._atoms:
            return [self._atoms[text]]
        units = np.array(_cut_units(text, self._base, self.byte_ids), np.int64)
        count, _, _ = kernels.merge_units(self._merges, units, np.empty_like(units), np.empty_like(units))
        return [int(token) for token in units[:count]]

    def _derive(self, merges: list[Sequence[int]], ranks: Sequence[int] | None) -> None:
        """Set what the kernels need: the merges, the units of each token, and the derivations."""
        tokens, byte_ids = self.vocabulary.tokens, set(self.byte_ids)
        _check_merges(tokens, merges, byte_ids)
        columns = np.array([tuple(merge) for merge in merges], np.int64).reshape(-1, 3).T.copy()
        rank = np.arange(len(merges)) if ranks is None else np.array(ranks, np.int64)
        self._merges = kernels.hash_merges(columns[0], columns[1], columns[2], rank)
        own = [[] if id in byte_ids else _own_units(token, self._base) for id, token in enumerate(tokens)]
        self._offsets = np.concatenate(([0], np.cumsum([len(units) for units in own]))).astype(np.int64)
        self._units = np.array([unit for units in own for unit in units], np.int64)
        self._made, last, ascending = kernels.derive(self._merges, self._units, self._offsets)
        self._irregular = self._made & ~ascending
        self._derivations = kernels.plant(self._merges, self._made, last)
        self._place = self._derivations.enter[self.vocabulary.ids]

    def _whole_words(self) -> dict[bytes, int]:
        """The tokens that are produced only as a whole word, by their text."""
        tokens, byte_ids = self.vocabulary.tokens, set(self.byte_ids)
        made = {tokens[id] for id in np.flatnonzero(self._made)}
        others = [id for id in self.vocabulary.ids.tolist() if id not in byte_ids and tokens[id] not in made]
        return {token: id for id in reversed(others) if (token := tokens[id]) is not None}

    def _followers(self, last: Hashable) -> NDArray[np.bool_]:
        """bool[positions]: the tokens made by merging that can follow a token."""
        assert isinstance(last, int)
        if last < 0:
            return self._place >= 0
        return kernels.followers(
            self._derivations,
            self._merges,
            self._units,
            self._offsets,
            last,
            self.vocabulary.ids,
            self._place,
            self._irregular,
        )

    def _mask(self, state: Hashable) -> NDArray[np.bool_]:
        assert isinstance(state, PairState)
        plain = not self.byte_ids and state.word is None and state.last != _ALONE
        return self._after.get(state.last) if plain else self._masks.get(state)

    def _allowed(self, state: Hashable) -> NDArray[np.bool_]:
        assert isinstance(state, PairState)
        position = self.vocabulary.position
        if state.last == _ALONE or state.partial:
            mask = np.zeros(len(self.vocabulary), bool)
        else:
            mask = self._after.get(state.last).copy()
        if state.last == _ALONE:
            return mask
        if self.byte_ids:
            places = position[[self.byte_ids[byte] for byte in self._fallback.following(state.partial)]]
            mask[places[places >= 0]] = True  # Special tokens spell no text.
        if state.word == b"":
            mask[position[list(self._atoms.values())]] = True
        elif state.word is not None:
            for place in self._within_atoms(state.word):
                if mask[place]:
                    mask[place] = self._step(state, int(self.vocabulary.ids[place])) is not None
        return mask

    def _step(self, state: Hashable, token: int) -> Hashable | None:
        assert isinstance(state, PairState)
        after = self._next(state, token)
        return after if after is not None and self._is_live(after) else None

    def _next(self, state: PairState, token: int) -> PairState | None:
        """The state after one more token, though it may be one that no encoding comes out of."""
        text = self.vocabulary.tokens[token]
        if text is None or state.last == _ALONE:
            return None
        word = None if state.word is None else state.word + text
        if word is not None and not self._begins_atom(word):
            word = None
        several = word is not None and state.word != b""
        if self.byte_ids and self.byte_ids[text[0]] == token:
            begun = state.partial + text
            if text[0] not in self._fallback.following(state.partial):
                return None
            return PairState(_NONE, b"" if character_status(begun) == "whole" else begun, word, several)
        if state.partial:
            return None
        if not self._made[token]:
            return PairState(_ALONE) if state.word == b"" and self._atoms.get(text) == token else None
        if not self._after.get(state.last)[self.vocabulary.position[token]]:
            return None
        return PairState(token, b"", word, several)

    def _is_encoding(self, state: PairState) -> bool:
        return not state.partial and not (state.several and state.word in self._atoms)

    def _is_live(self, state: PairState) -> bool:
        """Whether an encoding comes out of a state. Only within a token that merging does not make can it fail."""
        if state.word is None or self._is_encoding(state):
            return True
        if state not in self._live:
            bytes_after = self._fallback.following(state.partial) if self.byte_ids else b""
            made = np.flatnonzero(self._after.get(state.last)) if not state.partial else ()
            candidates = chain(
                (self.byte_ids[byte] for byte in bytes_after), (self.vocabulary.ids[position] for position in made)
            )
            self._live[state] = any(self._step(state, int(token)) is not None for token in candidates)
        return self._live[state]

    def _begins_atom(self, word: bytes) -> bool:
        at = bisect_left(self._sorted_atoms, word)
        return at < len(self._sorted_atoms) and self._sorted_atoms[at].startswith(word)

    def _within_atoms(self, word: bytes) -> set[int]:
        """Positions of the tokens after which a word still begins a token that merging does not make."""
        found: set[int] = set()
        at = bisect_left(self._sorted_atoms, word)
        while at < len(self._sorted_atoms) and self._sorted_atoms[at].startswith(word):
            rest = self._sorted_atoms[at][len(word) :]
            for length in range(1, len(rest) + 1):
                found.update(range(*self.vocabulary.equal_to(rest[:length])))
            at += 1
        return found


def _base_units(vocabulary: Vocabulary, byte_ids: set[int]) -> dict[bytes, int]:
    """Tokens of one byte or one character, without the byte tokens; of equal ones the first id."""
    base = {}
    for id in reversed(range(len(vocabulary.tokens))):
        token = vocabulary.tokens[id]
        if token is not None and id not in byte_ids and (len(token) == 1 or character_status(token) == "whole"):
            base[token] = id
    return base


def _cut_units(text: bytes, base: Mapping[bytes, int], byte_ids: Sequence[int] = ()) -> list[int]:
    """Ids of the units of a text: bytes that are tokens, else characters, else byte tokens, if there are any.

    base: tokens of one byte or one character. Raises InputError for what is none of them.
    """
    units, at = [], 0
    while at < len(text):
        unit = text[at : at + 1]
        if unit not in base:
            unit = character_at(text, at)
        if unit in base:
            units.append(base[unit])
        elif byte_ids:
            units += [byte_ids[byte] for byte in unit]
        else:
            raise InputError(f"the text has {unit.decode()!r} at byte {at}, which is not in the alphabet; remove it")
        at += len(unit)
    return units


def _own_units(token: bytes | None, base: dict[bytes, int]) -> list[int]:
    """Units of a token; none where it has a character that is no token, so that merging never makes it."""
    try:
        return _cut_units(token or b"", base)
    except InputError:
        return []


def _check_merges(tokens: Sequence[bytes | None], merges: list[Sequence[int]], byte_ids: set[int]) -> None:
    for row, (left, right, new) in enumerate(merges):
        if not all(0 <= id < len(tokens) for id in (left, right, new)):
            raise InputError(f"merge {row} ({left}, {right}, {new}) has an id outside the vocabulary; correct it")
        first, second = tokens[left], tokens[right]
        if first is None or second is None or first + second != tokens[new]:
            raise InputError(
                f"merge {row} ({first!r}, {second!r}) does not spell its token {tokens[new]!r}; correct it"
            )
        if byte_ids & {left, right, new}:
            raise InputError(f"merge {row} ({left}, {right}, {new}) uses a byte token, which never merge; remove it")


def _all_merges(vocabulary: Vocabulary, ranks: Sequence[float | None], byte_ids: set[int]) -> list[Sequence[int]]:
    """Every way to make a token with a rank from two tokens."""
    spelled = [(id, vocabulary.tokens[id]) for id in range(len(vocabulary.tokens)) if id not in byte_ids]
    ids = {token: id for id, token in reversed(spelled) if token is not None}
    merges: list[Sequence[int]] = []
    for token, new in ids.items():
        if ranks[new] is not None:
            for cut in range(1, len(token)):
                left, right = ids.get(token[:cut]), ids.get(token[cut:])
                if left is not None and right is not None:
                    merges.append((left, right, new))
    return merges
