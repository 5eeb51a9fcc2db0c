"""Whether a hypothesis has a continuation, and one: tokens after which the word and its piece can end together.

After that point any text that the splits allow can follow, because every word has an encoding. Most hypotheses can end
at once. Otherwise the word automaton and the splits are searched together:

1. A character that has begun is completed (`_completion`): by bytes, for the classes that the splits allow.
2. The word goes on (`_longer`) where the splits allow no end, or the tokens are not the encoding of a word
   (`ignore_merges`). The first token of the continuation is searched through the whole vocabulary; of those after it,
   one for each string of classes, up to a depth of 4 tokens.
"""

from collections import defaultdict
from collections.abc import Hashable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.splits.hypotheses import Hypothesis, Moves
from tokenlab.exact.splits.split_states import CONTINUE
from tokenlab.exact.splits.token_classes import is_incomplete
from tokenlab.exact.splits.words import Words

_DEPTH = 4
_CANDIDATES = 48
_BRANCHES = 64

Route = tuple[int, ...]


class Routes:
    """Continuations of hypotheses, found once each."""

    def __init__(self, moves: Moves, words: Words) -> None:
        self._moves, self._words = moves, words
        self._sets, self._tokens = moves.sets, moves.classes
        self._found: dict[Hypothesis, Route | None] = {}
        self._completions: dict[tuple[Hashable, bytes], dict[int, Route]] = defaultdict(dict)
        self._impossible: dict[tuple[Hashable, bytes], int] = defaultdict(int)
        inner = [
            p for p, head in zip(self._tokens.headed, self._tokens.heads, strict=True) if words.spelling(p) == head
        ]
        self._finishing = sorted(((words.spelling(p), int(words.ids[p])) for p in inner), key=_length_first)
        self._examples = self._representatives()
        self._groups = lru_cache(maxsize=256)(self._groups_after)
        self._candidates = lru_cache(maxsize=256)(self._some_ending)

    def live(self, here: Hypothesis) -> bool:
        """Whether some text's encoding goes on so."""
        return self.route(here) is not None

    def route(self, here: Hypothesis) -> Route | None:
        """Tokens (ids) after which the word and its piece can end; None where there are none."""
        if self._ends(here):
            return ()
        if here not in self._found:
            self._found[here] = self._search(here, _DEPTH)
        return self._found[here]

    def _ends(self, here: Hypothesis) -> bool:
        return not here.pending and self._sets.ends(here.splits) and self._moves.may_end_word(here)

    def _search(self, here: Hypothesis, depth: int) -> Route | None:
        if here.word is None or not here.splits or not depth:
            return None
        if here.pending:
            goal = self._sets.ending_classes(here.splits, here.kind)
            found = self._completion(here.word, here.pending, goal)
            if found is not None:
                return found
            if not self._sets.possible_classes(here.splits, here.kind) & self._tokens.classes.pending(here.pending):
                return None
        return self._longer(here, depth)

    def _completion(self, word: Hashable, pending: bytes, goal: int) -> Route | None:
        """Tokens that complete a character to one of the classes in `goal`, after which the word can end."""
        key = (word, pending)
        for character_class, route in self._completions[key].items():
            if goal >> character_class & 1:
                return route
        goal &= self._tokens.classes.pending(pending) & ~self._impossible[key]
        if not goal:
            return None
        for head, token in self._finishing:
            found = self._completion_by(word, pending + head, token, goal)
            if found is not None:
                character = pending + b"".join(map(self._words.bytes_of, found))
                self._completions[key][self._moves.completed(character)] = found
                return found
        self._impossible[key] |= goal
        return None

    def _completion_by(self, word: Hashable, spelled: bytes, token: int, goal: int) -> Route | None:
        """The same, where `token` is the first and leads to the bytes `spelled`."""
        if is_incomplete(spelled):
            possible = self._tokens.classes.pending(spelled)
        else:
            possible = 1 << self._moves.completed(spelled)
        after = self._words.step(word, token) if possible & goal else None
        if after is None:
            return None
        if is_incomplete(spelled):
            rest = self._completion(after, spelled, goal)
            return None if rest is None else (token, *rest)
        return (token,) if self._words.may_end(after) else None

    def _longer(self, here: Hypothesis, depth: int) -> Route | None:
        """Tokens in the same word after which it can end."""
        if not here.pending:
            for token in self._candidates(here.splits):
                after = self._moves.within(here, token)
                if after is not None and self._ends(after):
                    return (token,)
        groups: dict[tuple[int, int, bytes], list[Hypothesis]] = defaultdict(list)
        ways: dict[Hypothesis, int] = {}
        for position in self._possible(here):
            token = int(self._words.ids[position])
            after = self._moves.within(here, token)
            if after is None:
                continue
            if self._ends(after):
                return (token,)
            group = groups[after.splits, after.kind, after.pending]
            if len(group) < 2:
                group.append(after)
                ways[after] = token
        for after in list(ways)[:_BRANCHES]:
            route = self._found.get(after) or self._search(after, depth - 1)
            if route is not None:
                return (ways[after], *route)
        return None

    def _possible(self, here: Hypothesis) -> list[int]:
        """Positions of the tokens that words and splits allow, those first after which the piece can end."""
        allowed = self._words.allowed(here.word)
        if here.pending:
            return [p for p in self._tokens.headed.tolist() if allowed[p]]
        ending, going_on = self._groups(here.splits)
        good = ending[self._tokens.group] & allowed
        fair = going_on[self._tokens.group] & allowed & self._tokens.without_head
        return [*np.flatnonzero(good).tolist(), *np.flatnonzero(fair).tolist()]

    def _some_ending(self, splits: int) -> list[int]:
        """Some tokens after which the piece can end: those of few characters first."""
        good = np.flatnonzero(self._groups(splits)[0])
        few = good[np.argsort(self._tokens.characters[good], kind="stable")][:_CANDIDATES]
        return [token for group in few.tolist() for token in self._examples.get(group, ())]

    def _groups_after(self, splits: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """bool[groups] twice: groups of tokens after which the piece can end at once, and groups of other ones."""
        after = self._tokens.after(self._sets, splits, CONTINUE)
        ending = self._sets.ends_all(after) & ~self._tokens.tailed
        return ending, (after > 0) & ~ending

    def _representatives(self) -> dict[int, list[int]]:
        """Up to six tokens of each group, from the shortest to the longest: from ASCII to other scripts."""
        members: dict[int, list[int]] = defaultdict(list)
        order = np.argsort(self._words.lengths, kind="stable")
        order = order[self._tokens.without_head[order] & (self._tokens.group[order] > 0)]
        for group, token in zip(self._tokens.group[order].tolist(), self._words.ids[order].tolist(), strict=True):
            members[group].append(token)
        return {group: tokens[:: len(tokens) // 6 + 1] for group, tokens in members.items()}


def _length_first(token: tuple[bytes, int]) -> tuple[int, bytes]:
    return len(token[0]), token[0]
