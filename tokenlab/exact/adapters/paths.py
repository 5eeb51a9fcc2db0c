"""Live token sequences along a text, and how they go on to the end of some text.

1. `matching`: the tokens that spell the text from a position on.
2. `live_paths`: at each position, the states in which live sequences that spell the text so far can be.
3. `completion`: tokens after which a text can end.
4. `Reach`: tokens that some text reaches, the union of what contexts allow.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.vocabulary import Vocabulary

_SAMPLED, _DEEPEST, _ATTEMPTS = 24, 8, 12
_MOST_STATES = 600


class Arrival(NamedTuple):
    """How a state was reached first, and by how many sequences."""

    sequences: int
    before: tuple[int, Hashable] | None
    """position and state before the last token; None at the start"""
    token: int


def matching(vocabulary: Vocabulary, text: bytes, at: int) -> Iterator[tuple[int, int]]:
    """(position in the vocabulary, length) of each token that spells a part of the text from `at` on."""
    low, high = 0, len(vocabulary)
    for length in range(1, min(vocabulary.longest, len(text) - at) + 1):
        part = text[at : at + length]
        low, high = vocabulary.beginning_with(part, low, high)
        if low == high:
            return
        for position in range(low, vocabulary.equal_to(part, low, high)[1]):
            yield position, length


def live_paths(automaton: TokenAutomaton, text: bytes) -> list[dict[Hashable, Arrival]]:
    """For each position from 0 to len(text): the states after live sequences that spell the text up to there.

    `text` begins with the automaton's prefix.
    """
    vocabulary = automaton.vocabulary
    reached: list[dict[Hashable, Arrival]] = [{} for _ in range(len(text) + 1)]
    reached[0][automaton.start()] = Arrival(1, None, -1)
    for at in range(len(text)):
        if not reached[at]:
            continue
        tokens = list(matching(vocabulary, text, at))
        for state, arrival in reached[at].items():
            allowed = automaton.allowed(state)
            for position, length in tokens:
                if not allowed[position]:
                    continue
                token = int(vocabulary.ids[position])
                after = automaton.step(state, token)
                if after is None:
                    raise ValueError(f"token {token} is allowed but has no state after it")
                known = reached[at + length].get(after)
                first = known or Arrival(0, (at, state), token)
                reached[at + length][after] = first._replace(sequences=first.sequences + arrival.sequences)
    return reached


def tokens_to(reached: list[dict[Hashable, Arrival]], at: int, state: Hashable) -> list[int]:
    """The tokens of the sequence by which a state was reached first."""
    tokens: list[int] = []
    arrival = reached[at][state]
    while arrival.before is not None:
        tokens.append(arrival.token)
        at, state = arrival.before
        arrival = reached[at][state]
    return tokens[::-1]


def completion(automaton: TokenAutomaton, state: Hashable, random: np.random.Generator) -> list[int] | None:
    """Tokens after which a text can end, found by trying allowed ones; None where none were found."""
    if automaton.may_end(state):
        return []
    ids = automaton.vocabulary.ids
    for _ in range(_ATTEMPTS):
        path: list[int] = []
        here: Hashable = state
        while len(path) < _DEEPEST:
            choices = np.flatnonzero(automaton.allowed(here))
            if not len(choices):
                break
            chosen = [int(ids[i]) for i in random.permutation(choices)[:_SAMPLED]]
            steps = [(token, after) for token in chosen if (after := automaton.step(here, token)) is not None]
            ends = [token for token, after in steps if automaton.may_end(after)]
            if ends:
                return [*path, ends[0]]
            if not steps:
                break
            path.append(steps[0][0])
            here = steps[0][1]
    return None


class Reach:
    """Collects the tokens allowed in the states that a check meets, and in some more.

    A token that no state allows may still be allowed in one that was not met; `unreached` therefore tries the tokens
    that are left after contexts that end inside a character, which are the rare ones.
    """

    def __init__(self, automaton: TokenAutomaton) -> None:
        self._automaton = automaton
        self._reached = np.zeros(len(automaton.vocabulary), np.bool_)
        self._seen: set[Hashable] = set()
        self._beginnings = [automaton.start()]
        for position in range(*automaton.vocabulary.equal_to(automaton.prefix)):
            after = automaton.step(automaton.start(), int(automaton.vocabulary.ids[position]))
            self._beginnings += [] if after is None else [after]
        self.add(self._beginnings)

    def add(self, states: Iterable[Hashable], most: int = _MOST_STATES) -> None:
        """Take in what some states allow, up to `most` states in all."""
        for state in states:
            if len(self._seen) >= most:
                return
            if state not in self._seen:
                self._seen.add(state)
                self._reached |= self._automaton.allowed(state)

    def unreached(self) -> NDArray[np.int64]:
        """Positions of the tokens that no state allowed."""
        vocabulary = self._automaton.vocabulary
        left = np.flatnonzero(~self._reached)
        rests = {_rest(vocabulary.spelling(int(position))) for position in left} - {b""}
        if rests:
            for states in self._unfinished():
                self.add(states, most=4 * _MOST_STATES)
            left = np.flatnonzero(~self._reached)
        return left

    def _unfinished(self) -> Iterable[list[Hashable]]:
        """States after one and after two tokens of one byte that begin a character."""
        automaton, vocabulary = self._automaton, self._automaton.vocabulary
        single = np.flatnonzero(vocabulary.length == 1)
        states = self._beginnings
        for _ in range(3):
            following: list[Hashable] = []
            for state in states:
                allowed = automaton.allowed(state)
                for position in single[allowed[single]]:
                    if vocabulary.spelling(int(position))[0] >= 0x80:
                        after = automaton.step(state, int(vocabulary.ids[position]))
                        if after is not None and not automaton.may_end(after):
                            following.append(after)
            states = following
            yield states


def _rest(token: bytes) -> bytes:
    """The bytes at the beginning of a token that finish a character begun before."""
    length = 0
    while length < len(token) and token[length] & 0xC0 == 0x80:
        length += 1
    return token[:length]
