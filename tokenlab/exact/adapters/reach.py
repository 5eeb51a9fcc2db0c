"""Tokens that some text reaches: the union of what contexts allow."""

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.interface import TokenAutomaton

_MOST_STATES = 600


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
