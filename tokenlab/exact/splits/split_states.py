"""Several splits, one inside the pieces of the other, as one machine whose states are numbers.

1. `SplitMachine.next`: one character further, in the same piece (CONTINUE), at the beginning of a piece (BREAK), or at
   the beginning of an added token (ADD). A boundary of one split is the end of the text for the splits inside it.
2. `can_end`, `live`, `ends`: whether the text can end here, whether there is any continuation, and whether the piece
   can end here. Found by a search over the states, which are few (tens to some hundreds), made as they are met.
3. `continuation`: the characters of a shortest continuation.
4. `SplitSets`: sets of states (the hypotheses that are left), as numbers, with their transitions in arrays.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.splits.regex_machine import FRESH_STATE, MATCH, Level, LevelState

CONTINUE, BREAK, ADD = 0, 1, 2
KINDS = (CONTINUE, BREAK, ADD)

_UNKNOWN = -1


class SplitMachine:
    """The splits of a pre-tokenizer, outermost first.

    added: so many of the first levels find added tokens: their matches are such tokens, and only the text between them
        goes to the levels inside.
    classes: number of classes of characters; class 0 does not occur.

    With no level at all, the text is one piece.
    """

    def __init__(self, levels: Sequence[Level], classes: int, *, added: int = 0) -> None:
        self.levels = tuple(levels)
        self.added = added
        self.classes = range(1, classes)
        self._numbers: dict[tuple[tuple[LevelState, ...], bool], int] = {}
        self._states: list[tuple[tuple[LevelState, ...], bool]] = []
        self._alive: dict[int, bool] = {}
        self._next: dict[tuple[int, int], tuple[tuple[int, ...], ...]] = {}
        self.start = self._number((FRESH_STATE,) * len(self.levels), True)
        self.can_end = cache(self._can_end)
        self._raw_successors = cache(self._all_successors)
        self.ends = cache(self._ends)
        self.ending_classes = cache(self._ending_classes)

    def __len__(self) -> int:
        """Number of states met so far."""
        return len(self._states)

    def next(self, state: int, character_class: int, kind: int) -> tuple[int, ...]:
        """The states after one more character; dead ones are left out."""
        key = (state, character_class)
        if key not in self._next:
            self._next[key] = self._successors(*key)
        return self._next[key][kind]

    def live(self, state: int) -> bool:
        """Whether some text continues from here to its end."""
        if state not in self._alive:
            self._search(state)
        return self._alive[state]

    def _can_end(self, state: int) -> bool:
        """Whether the text can end here."""
        levels, _ = self._states[state]
        return all(level.can_end(here) for level, here in zip(self.levels, levels, strict=True))

    def _ends(self, state: int) -> bool:
        """Whether the piece can end here: the text does, or another piece or added token begins."""
        return self.can_end(state) or any(self.next(state, c, kind) for c in self.classes for kind in (BREAK, ADD))

    def _ending_classes(self, state: int, kind: int) -> int:
        """Bits of the classes after which the piece can end: next character read as `kind` says."""
        return sum(1 << c for c in self.classes if any(map(self.ends, self.next(state, c, kind))))

    def possible_classes(self, state: int, kind: int) -> int:
        """Bits of the classes that the next character can have."""
        return sum(1 << c for c in self.classes if self.next(state, c, kind))

    def after(self, states: Iterable[int], classes: Sequence[int], kind: int) -> tuple[int, ...]:
        """The states after some characters, of which the first is read as `kind` says, the others in its piece."""
        states = tuple(states)
        for character_class in classes:
            states = tuple(dict.fromkeys(n for s in states for n in self.next(s, character_class, kind)))
            kind = CONTINUE
        return states

    def ending(self, state: int) -> list[int] | None:
        """Classes of a shortest continuation that begins a new piece, or none at all; None where the piece goes on."""
        if self.can_end(state):
            return []
        first = [(c, n) for c in self.classes for kind in (BREAK, ADD) for n in self.next(state, c, kind)]
        return min(([c, *self.continuation(n)] for c, n in first), key=len, default=None)

    def continuation(self, state: int) -> list[int]:
        """Classes of the characters of a shortest continuation after which the text can end. The state must be live."""
        before: dict[int, tuple[int, int]] = {}
        queue = deque([state])
        while True:
            here = queue.popleft()
            if self.can_end(here):
                break
            for c in self.classes:
                for there in (n for kind in KINDS for n in self.next(here, c, kind)):
                    if there != state and there not in before:
                        before[there] = (here, c)
                        queue.append(there)
        path: list[int] = []
        while here != state:
            here, c = before[here]
            path.append(c)
        return path[::-1]

    def _number(self, levels: tuple[LevelState, ...], fresh: bool) -> int:
        """fresh: nothing read yet."""
        key = (levels, fresh)
        if key not in self._numbers:
            self._numbers[key] = len(self._states)
            self._states.append(key)
        return self._numbers[key]

    def _successors(self, state: int, character_class: int) -> tuple[tuple[int, ...], ...]:
        found: tuple[dict[int, None], ...] = ({}, {}, {})
        for kind, new in self._raw_successors(state, character_class):
            if self.live(new):
                found[kind][new] = None
        return tuple(map(tuple, found))

    def _all_successors(self, state: int, character_class: int) -> tuple[tuple[int, int], ...]:
        """(kind, state) after one more character, dead ones too."""
        levels, fresh = self._states[state]
        if character_class == 0:
            return ()
        found = []
        for boundary, new in self._advance(levels, 0, 1 << character_class):
            adds = any(level.kind == MATCH for level in new[: self.added])
            kind = (ADD if adds else BREAK) if boundary or fresh else CONTINUE
            found.append((kind, self._number(new, False)))
        return tuple(found)

    def _advance(
        self, levels: tuple[LevelState, ...], depth: int, bit: int
    ) -> Iterable[tuple[bool, tuple[LevelState, ...]]]:
        """The hypotheses of the levels from `depth` on: whether a boundary precedes the character, and the states."""
        if depth == len(levels):
            yield False, ()
            return
        ended = all(level.can_end(s) for level, s in zip(self.levels[depth + 1 :], levels[depth + 1 :], strict=True))
        for boundary, new in self.levels[depth].advance(levels[depth], bit):
            inside_added = depth < self.added and new.kind == MATCH
            if inside_added:
                # The inner splits rest while an added token is read; they must be able to end where it begins.
                if not boundary or ended:
                    yield boundary, (new, *(FRESH_STATE for _ in levels[depth + 1 :]))
            elif boundary:
                if ended:
                    for rest in self._begin(depth + 1, bit):
                        yield True, (new, *rest)
            else:
                for inner, rest in self._advance(levels, depth + 1, bit):
                    yield inner, (new, *rest)

    def _begin(self, depth: int, bit: int) -> Iterable[tuple[LevelState, ...]]:
        """The states of the levels from `depth` on after the first character of a text."""
        for new in self.levels[depth].begin(bit) if depth < len(self.levels) else ():
            if depth < self.added and new.kind == MATCH:
                yield (new, *(FRESH_STATE for _ in self.levels[depth + 1 :]))
            else:
                yield from ((new, *rest) for rest in self._begin(depth + 1, bit))
        if depth == len(self.levels):
            yield ()

    def _search(self, state: int) -> None:
        """Decide which states are live among those that can be reached from one: backwards from those that can end."""
        reached = [state]
        before: dict[int, list[int]] = {state: []}
        seeds = []
        for here in reached:
            if self.can_end(here) or self._alive.get(here):
                seeds.append(here)
                if here == state:
                    break
                continue
            if here in self._alive:
                continue
            for c in self.classes:
                for _, there in self._raw_successors(here, c):
                    if there not in before:
                        before[there] = []
                        reached.append(there)
                    before[there].append(here)
        live = set(seeds)
        queue = list(seeds)
        while queue:
            for there in before[queue.pop()]:
                if there not in live:
                    live.add(there)
                    queue.append(there)
        explored_all = not (seeds and seeds[0] == state)
        for here in reached:
            if here in live:
                self._alive[here] = True
            elif explored_all and here not in self._alive:
                self._alive[here] = False


class SplitSets:
    """The sets of states met so far. Set 0 is empty.

    machine: gives the transitions of single states.
    """

    def __init__(self, machine: SplitMachine) -> None:
        self.machine = machine
        self.classes = machine.classes.stop
        self._numbers: dict[tuple[int, ...], int] = {}
        self.states: list[tuple[int, ...]] = []
        self._next = np.zeros((len(KINDS), 16, self.classes), np.int32)
        self._ends = np.zeros(16, np.bool_)
        self._ending: dict[tuple[int, int], int] = {}
        self._possible: dict[tuple[int, int], int] = {}
        self.number(())
        self.start = self.number((machine.start,))

    def number(self, states: Iterable[int]) -> int:
        """The number of a set of states."""
        key = tuple(sorted(set(states)))
        if key not in self._numbers:
            if len(self.states) == len(self._ends):
                self._next = np.concatenate((self._next, np.zeros_like(self._next)), axis=1)
                self._ends = np.concatenate((self._ends, np.zeros_like(self._ends)))
            new = self._numbers[key] = len(self.states)
            self.states.append(key)
            self._next[:, new] = _UNKNOWN if key else 0
            self._next[:, new, 0] = 0
            self._ends[new] = any(map(self.machine.ends, key))
        return self._numbers[key]

    def next(self, number: int, character_class: int, kind: int) -> int:
        """The set after one more character."""
        found = int(self._next[kind, number, character_class])
        if found == _UNKNOWN:
            after = (n for s in self.states[number] for n in self.machine.next(s, character_class, kind))
            found = self.number(after)
            self._next[kind, number, character_class] = found
        return found

    def next_all(self, numbers: NDArray[np.int32], classes: NDArray[np.uint16], kind: int) -> NDArray[np.int32]:
        """`next` of pairs of a set and a class."""
        found = self._next[kind, numbers, classes]
        unknown = np.flatnonzero(found == _UNKNOWN)
        if len(unknown):
            for number, c in {(int(numbers[i]), int(classes[i])) for i in unknown}:
                self.next(number, c, kind)
            found[unknown] = self._next[kind, numbers[unknown], classes[unknown]]
        return found

    def ends(self, number: int) -> bool:
        """Whether the piece can end here."""
        return bool(self._ends[number])

    def ends_all(self, numbers: NDArray[np.int32]) -> NDArray[np.bool_]:
        """`ends` of each set."""
        return self._ends[numbers]

    def can_end(self, number: int) -> bool:
        """Whether the text can end here."""
        return any(map(self.machine.can_end, self.states[number]))

    def ending_classes(self, number: int, kind: int) -> int:
        """Bits of the classes of the next character after which the piece can end."""
        key = (number, kind)
        if key not in self._ending:
            bits = 0
            for state in self.states[number]:
                bits |= self.machine.ending_classes(state, kind)
            self._ending[key] = bits
        return self._ending[key]

    def possible_classes(self, number: int, kind: int) -> int:
        """Bits of the classes that the next character can have."""
        key = (number, kind)
        if key not in self._possible:
            self._possible[key] = sum(1 << c for c in self.machine.classes if self.next(number, c, kind))
        return self._possible[key]
