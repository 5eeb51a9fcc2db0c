"""Live token sequences along a text, and how they go on to the end of some text.

1. `matching`: the tokens that spell the text from a position on.
2. `live_paths`: at each position, the states in which live sequences that spell the text so far can be.
3. `completion`: tokens after which a text can end.
"""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

import numpy as np

from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.vocabulary import Vocabulary

_SAMPLED, _DEEPEST, _ATTEMPTS = 24, 8, 12


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
