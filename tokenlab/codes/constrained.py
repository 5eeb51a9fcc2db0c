"""Token strings that a code can decode, as an automaton: what a model may generate so that no text has an error.

A code's automaton over atoms (`tokenlab.codes.automaton`), or that of UTF-8 over bytes, is combined with a vocabulary.
A token is allowed where the tokens of the vocabulary can complete what it leaves open, within the tokens that are left
if their number is limited. So a text can end at its limit at the latest, and never has an error. It may have to end
before: where no token fits into what is left, the text is complete.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.codes.automaton import AtomAutomaton, atom_automaton, utf8_automaton
from tokenlab.codes.interface import Code, atom_numbers
from tokenlab.core.errors import InputError
from tokenlab.exact.encoders.masks import Masks
from tokenlab.exact.vocabulary import Vocabulary, common_prefix
from tokenlab.formats.tokenizer_file import read_tokenizer

_ROOM = 1 << 20
"""Steps kept."""


class Place(NamedTuple):
    """A state of `Constrained`: that of the symbols, by the order of meeting, and how many tokens may follow."""

    number: int
    left: int | None = None


class Constrained:
    """The token strings that an automaton accepts; all of them, not only those that the tokenizer makes.

    symbols: of each token that spells text, by position. encode: what `encode` does.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        symbols: Sequence[Sequence[int]],
        accepted: AtomAutomaton,
        encode: Callable[[bytes], list[int]],
    ) -> None:
        self.vocabulary, self.prefix, self.has_end = vocabulary, b"", True
        self._symbols, self._accepted, self._encode = symbols, accepted, encode
        # Sorted by symbols, each token shares its beginning with the one before it: a walk reads that once.
        order = sorted(range(len(symbols)), key=lambda position: list(symbols[position]))
        self._sorted = [(position, symbols[position]) for position in order]
        self._shared = [0] + [common_prefix(symbols[one], symbols[other]) for one, other in pairwise(order)]
        self._states: list[Hashable] = []
        self._number: dict[Hashable, int] = {}
        self._to_end: dict[int, float] = {}
        self._targets: dict[int, frozenset[int]] = {}
        self._read = lru_cache(_ROOM)(accepted.step)
        self._after = lru_cache(_ROOM)(self._after_token)
        self._farthest = lru_cache(_ROOM)(self._farthest_target)
        self._walk = lru_cache(64)(self._walked)
        self._masks = Masks(len(vocabulary.tokens), self._allowed)

    def start(self) -> Place:
        """The state before the first token, with any number of tokens to follow."""
        return Place(self._numbered(self._accepted.start))

    def within(self, state: Hashable, tokens: int) -> Place:
        """The same state with at most so many tokens to follow. Raises InputError where more are needed to end."""
        assert isinstance(state, Place)
        if self._distance(state.number) > tokens:
            raise InputError(f"{tokens} tokens cannot complete the text so far; allow more, or give a complete text")
        return Place(state.number, tokens)

    def step(self, state: Hashable, token: int) -> Place | None:
        """The state after one more token, None where no text goes on so, or not within the tokens that are left."""
        assert isinstance(state, Place)
        number = self._after(state.number, token)
        if number is None or not self._distance(number) < (np.inf if state.left is None else state.left):
            return None
        return Place(number, None if state.left is None else state.left - 1)

    def allowed(self, state: Hashable) -> NDArray[np.bool_]:
        """[len(vocabulary)] by position: the tokens from which a text can be completed."""
        return self._masks.get(self._key(state))[self.vocabulary.ids]

    def may_end(self, state: Hashable) -> bool:
        """Whether the tokens so far are a text."""
        assert isinstance(state, Place)
        return self._accepted.may_end(self._states[state.number])

    def encode(self, text: bytes) -> list[int]:
        """One encoding of a text."""
        return self._encode(text)

    def masks(self, states: Sequence[Hashable]) -> tuple[NDArray[np.bool_], list[int]]:
        """bool[distinct, ids], the masks of a batch by id, False for ids that spell no text; and the row of each state.

        In a batch many states are equal, so that it is faster to look at each mask once.
        """
        rows: dict[Hashable, int] = {}
        places = [rows.setdefault(self._key(state), len(rows)) for state in states]
        return np.stack([self._masks.get(key) for key in rows]), places

    def allowed_ids(self, states: Sequence[Hashable]) -> NDArray[np.bool_]:
        """bool[states, ids]: the mask of each state by id."""
        found, rows = self.masks(states)
        return found[rows]

    def _key(self, state: Hashable) -> tuple[int, int]:
        """States with equal masks: more tokens left than the farthest end needs are as good as any number."""
        assert isinstance(state, Place)
        farthest = self._farthest(state.number)
        return state.number, farthest if state.left is None else min(state.left, farthest)

    def _allowed(self, key: Hashable) -> NDArray[np.bool_]:
        """bool[ids]"""
        assert isinstance(key, tuple)
        targets, after = np.unique(self._walk(key[0]), return_inverse=True)
        completed = np.array([target >= 0 and self._distance(target) < key[1] for target in targets.tolist()])
        found = np.zeros(len(self.vocabulary.tokens), bool)
        found[self.vocabulary.ids] = completed[after]
        return found

    def _farthest_target(self, number: int) -> int:
        to_end = map(self._distance, self._targets_of(number))
        return 1 + max((int(tokens) for tokens in to_end if tokens < np.inf), default=0)

    def _after_token(self, number: int, token: int) -> int | None:
        position = self.vocabulary.position[token]
        state: Hashable | None = self._states[number] if position >= 0 else None
        for symbol in self._symbols[position]:
            state = None if state is None else self._read(state, symbol)
        return None if state is None else self._numbered(state)

    def _walked(self, number: int) -> NDArray[np.int64]:
        """[len(vocabulary)] the number of the state after each token, by position; -1 where there is none."""
        found = np.full(len(self._sorted), -1, np.int64)
        path, place = [self._states[number]], 0
        while place < len(self._sorted):
            del path[self._shared[place] + 1 :]
            position, symbols = self._sorted[place]
            for symbol in symbols[len(path) - 1 :]:
                after = self._read(path[-1], symbol)
                if after is None:
                    break
                path.append(after)
            place += 1
            if len(path) > len(symbols):
                found[position] = self._numbered(path[-1])
                continue
            while place < len(self._sorted) and self._shared[place] >= len(path):
                place += 1  # It begins with the symbols that do not go on.
        return found

    def _distance(self, number: int) -> float:
        """The fewest tokens from a state to an end, inf where there is none: breadth first."""
        if number not in self._to_end:
            level, seen, tokens = {number}, {number}, 0
            while level and not any(self._accepted.may_end(self._states[one]) for one in level):
                level = {target for one in level for target in self._targets_of(one)} - seen
                seen |= level
                tokens += 1
            self._to_end.update({number: tokens} if level else dict.fromkeys(seen, np.inf))
        return self._to_end[number]

    def _targets_of(self, number: int) -> frozenset[int]:
        if number not in self._targets:
            self._targets[number] = frozenset(self._walk(number).tolist()) - {-1}
        return self._targets[number]

    def _numbered(self, state: Hashable) -> int:
        if state not in self._number:
            self._number[state] = len(self._states)
            self._states.append(state)
        return self._number[state]


def constrain(code: Code | None, tokenizer: str | Path) -> Constrained:
    """The token strings of a tokenizer that a code can decode.

    Args:
        code: the code whose atoms the tokenizer reads; None for a tokenizer of text, whose bytes must be UTF-8.
        tokenizer: a tokenizer.json, or a folder with one.

    Raises InputError where there is no tokenizer, or no token is a string of atoms of this code.
    """
    file = read_tokenizer(tokenizer)
    vocabulary = Vocabulary(file.tokens)
    spelled = [vocabulary.spelling(position) for position in range(len(vocabulary))]
    if code is None:
        accepted, symbols = utf8_automaton(), list(map(list, spelled))
    else:
        accepted = atom_automaton(code)
        symbols = [atom_numbers(token.decode(errors="replace")).tolist() for token in spelled]
    found = Constrained(
        vocabulary, symbols, accepted, lambda text: file.library.encode_batch([text.decode()])[0].tolist()
    )
    if not found.allowed(found.start()).any():
        raise InputError(f"{tokenizer}: no token can begin a text of this code; name the tokenizer made with it")
    return found
