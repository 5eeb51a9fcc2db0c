"""Splits as machines that read a class of characters at a time: leftmost-first matching with hypotheses.

1. `compile_expression`, `compile_literals`: an expression, or words of which the longest wins, as *nodes*. A node lists
   what may come next, in the order of preference: (bits of classes, next node or ACCEPT). Look-ahead of one character
   is in the bits, because the choice is made when the next character (or the end of the text) is known.
2. `Level.advance`: where a match ends may be known only later, so a boundary is a hypothesis. An accepting thread says
   that the match ends here if the threads of higher priority all die without accepting: these *doomed* nodes are
   carried along, and the hypothesis falls if one of them accepts. The other hypothesis, that the match goes on, keeps
   only the threads of higher priority. Text between matches is a gap: the threads of each of its positions are doomed.
   For a complete text exactly one sequence of hypotheses survives: the pieces that the search finds.
3. `SplitMachine`: several splits, one inside the pieces of the other, with numbers for states. `next` is one character
   further, in the same piece (CONTINUE), at the beginning of a piece (BREAK), or at the beginning of an added token
   (ADD). A boundary of one split is the end of the text for the splits inside it. `can_end`, `live`, `ends`: whether
   the text can end here, whether there is any continuation, and whether the piece can end here. Found by a search over
   the states, which are few (tens to some hundreds), made as they are met.
4. `SplitSets`: sets of states (the hypotheses that are left), as numbers, with their transitions in arrays.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, reduce
from operator import or_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.splits.character_classes import CharacterClasses
from tokenlab.exact.splits.regex_syntax import Choice, Look, Node, Repeat, Set
from tokenlab.exact.splits.regex_syntax import Sequence as Parts

ACCEPT = -1
Nodes = tuple[tuple[tuple[int, int], ...], ...]
"""For each node, what may come next: (bits of classes and of the end, node or ACCEPT). Node 0 is the start."""

FRESH, MATCH, GAP = "fresh", "match", "gap"


class LevelState(NamedTuple):
    """What a split knows between two characters."""

    kind: str
    """FRESH before the first character of a text; inside a MATCH; inside a GAP"""
    threads: tuple[int, ...]
    """nodes of the match, in the order of preference: one of them must accept"""
    doomed: frozenset[int]
    """nodes that must never accept"""


FRESH_STATE = LevelState(FRESH, (), frozenset())
_MOST_STATES = 1 << 16


class Step(NamedTuple):
    """A hypothesis about the next character."""

    boundary: bool
    """whether a piece begins with it"""
    state: LevelState


class Level:
    """The splits of one expression."""

    def __init__(self, nodes: Nodes, end: int) -> None:
        """end: the bit of the end of the text."""
        self.nodes = nodes
        self.end = end
        self.advance = cache(self._advance)
        self.can_end = cache(self._can_end)

    def _can_end(self, state: LevelState) -> bool:
        """Whether the text can end here."""
        if self._survivors(state.doomed, self.end) is None:
            return False
        return state.kind != MATCH or any(self._threads(state.threads, self.end)[1:])

    def begin(self, bit: int, doomed: frozenset[int] = frozenset()) -> list[LevelState]:
        """The states after the first character of a piece, which is a match or the beginning of a gap."""
        threads, _ = self._threads((0,), bit)
        wanted = tuple(node for node in threads if node not in doomed)
        match = [LevelState(MATCH, wanted, doomed)] if wanted else []
        return [*match, LevelState(GAP, (), doomed.union(threads))]

    def _advance(self, state: LevelState, bit: int) -> tuple[Step, ...]:
        """The hypotheses that agree with the next character; `bit` is its class."""
        doomed = self._survivors(state.doomed, bit)
        if doomed is None:
            return ()
        if state.kind == FRESH:
            return tuple(Step(True, new) for new in self.begin(bit))
        if state.kind == GAP:  # the gap goes on, or a match begins
            return tuple(Step(new.kind == MATCH, new) for new in reversed(self.begin(bit, doomed)))
        threads, accepted = self._threads(state.threads, bit)
        wanted = tuple(node for node in threads if node not in doomed)
        on = (Step(False, LevelState(MATCH, wanted, doomed)),) if wanted else ()
        if not accepted:
            return on
        return on + tuple(Step(True, new) for new in self.begin(bit, doomed.union(threads)))

    def _threads(self, threads: Iterable[int], bit: int) -> tuple[tuple[int, ...], bool]:
        """The threads after a character, without those of lower priority than one that accepts before it."""
        after: dict[int, None] = {}
        for thread in threads:
            for bits, node in self.nodes[thread]:
                if bits & bit:
                    if node == ACCEPT:
                        return tuple(after), True
                    after[node] = None
        return tuple(after), False

    def _survivors(self, doomed: frozenset[int], bit: int) -> frozenset[int] | None:
        """The doomed nodes after a character, None where one of them accepts."""
        after, accepted = self._threads(doomed, bit)
        return None if accepted else frozenset(after)


def compile_literals(words: Iterable[str], classes: CharacterClasses) -> Nodes:
    """The nodes that find the longest of some words: their trie. Each character of a word is a class of its own."""
    children: list[dict[int, int]] = [{}]
    terminal = [False]
    for word in words:
        node = 0
        for character in classes.of(word):
            if character not in children[node]:
                children[node][character] = len(children)
                children.append({})
                terminal.append(False)
            node = children[node][character]
        terminal[node] = True
    everything = classes.everything
    return tuple(
        (*((1 << c, child) for c, child in after.items()), *(((everything, ACCEPT),) if stops else ()))
        for after, stops in zip(children, terminal, strict=True)
    )


def compile_expression(expression: Node, classes: CharacterClasses) -> Nodes:
    """The nodes of an expression."""
    program = _Program(classes)
    return program.nodes(program.add(expression, _END))


_END = 0
"""The first instruction of every program: the expression is matched."""


class _Program:
    """Instructions of a backtracking matcher, built from the end of the expression to its start."""

    def __init__(self, classes: CharacterClasses) -> None:
        self.classes = classes
        self.code: list[tuple] = [("accept",)]

    def emit(self, *instruction: object) -> int:
        self.code.append(instruction)
        return len(self.code) - 1

    def add(self, node: Node, then: int) -> int:
        """Instructions for `node`, after which the matcher goes to `then`. Returns where they begin."""
        match node:
            case Set(source):
                return self.emit("set", self.classes.mask(source), then)
            case Look(sets, negative):
                bits = 0
                for source in sets:
                    bits |= self.classes.mask(source)
                return self.emit("look", self.classes.everything & ~bits if negative else bits, then)
            case Parts(parts):
                for part in reversed(parts):
                    then = self.add(part, then)
                return then
            case Choice(options):
                return self.emit("try", tuple(self.add(option, then) for option in options))
            case Repeat():
                return self.repeat(node, then)

    def repeat(self, node: Repeat, then: int) -> int:
        """Possessive repetition of a set: it ends only where the next character is not in the set."""
        leave = then
        if node.kind == "possessive" and isinstance(node.body, Set):
            leave = self.emit("look", self.classes.everything & ~self.classes.mask(node.body.source), then)
        if node.most is None:
            loop = self.emit("try", ())
            body = self.add(node.body, loop)
            self.code[loop] = ("try", self.order(node, body, leave))
            entry = loop
        else:
            entry = then
            for _ in range(node.most - node.least):
                entry = self.emit("try", self.order(node, self.add(node.body, entry), leave))
        for _ in range(node.least):
            entry = self.add(node.body, entry)
        return entry

    def order(self, node: Repeat, body: int, leave: int) -> tuple[int, int]:
        return (leave, body) if node.kind == "lazy" else (body, leave)

    def nodes(self, start: int) -> Nodes:
        """A node for the start and for each place behind a set: what the matcher can do there."""
        number = {start: 0}
        places, nodes = [start], []
        for place in places:
            after = tuple(self.closure(place, self.classes.everything, set()))
            for _, target in after:
                if target != ACCEPT and target not in number:
                    number[target] = len(places)
                    places.append(target)
            nodes.append(tuple((bits, target if target == ACCEPT else number[target]) for bits, target in after))
        return tuple(nodes)

    def closure(self, place: int, bits: int, seen: set[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """What can be next at a place, in the order of preference: (bits of classes, the place behind, or ACCEPT)."""
        if (place, bits) in seen or not bits:
            return
        seen.add((place, bits))
        match self.code[place]:
            case ("accept",):
                yield bits, ACCEPT
            case ("set", mask, then):
                if bits & mask:
                    yield bits & mask, then
            case ("look", mask, then):
                yield from self.closure(then, bits & mask, seen)
            case ("try", options):
                for option in options:
                    yield from self.closure(option, bits, seen)


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
        self.start = self._number((FRESH_STATE,) * len(self.levels), True)
        self.can_end = cache(self._can_end)
        self._after = cache(self._successors)
        self._raw_successors = cache(self._all_successors)
        self.ends = cache(self._ends)
        self.ending_classes = cache(self._ending_classes)

    def level_states(self, state: int) -> tuple[LevelState, ...]:
        """What the splits know at a state, outermost first."""
        return self._states[state][0]

    def next(self, state: int, character_class: int, kind: int) -> tuple[int, ...]:
        """The states after one more character; dead ones are left out."""
        return self._after(state, character_class)[kind]

    def live(self, state: int) -> bool:
        """Whether some text continues from here to its end."""
        if state not in self._alive:
            self._search(state)
        return self._alive[state]

    def _can_end(self, state: int) -> bool:
        return all(level.can_end(here) for level, here in zip(self.levels, self.level_states(state), strict=True))

    def _ends(self, state: int) -> bool:
        """Whether the piece can end here: the text does, or another piece or added token begins."""
        return self.can_end(state) or any(self.next(state, c, kind) for c in self.classes for kind in (BREAK, ADD))

    def _ending_classes(self, state: int, kind: int) -> int:
        """Bits of the classes after which the piece can end: next character read as `kind` says."""
        return sum(1 << c for c in self.classes if any(map(self.ends, self.next(state, c, kind))))

    def _number(self, levels: tuple[LevelState, ...], fresh: bool) -> int:
        """fresh: nothing read yet."""
        key = (levels, fresh)
        if key not in self._numbers:
            if len(self._states) == _MOST_STATES:
                raise InputError(f"the splits have more than {_MOST_STATES:,} states; such splits are not supported")
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
        inner = zip(self.levels[depth + 1 :], levels[depth + 1 :], strict=True)
        inner_can_end = all(level.can_end(here) for level, here in inner)
        fresh = (FRESH_STATE,) * len(levels)
        for boundary, new in self.levels[depth].advance(levels[depth], bit):
            if boundary and not inner_can_end:
                continue
            if depth < self.added and new.kind == MATCH:
                yield boundary, (new, *fresh[depth + 1 :])  # The inner splits rest while an added token is read.
                continue
            for inside, rest in self._advance(fresh if boundary else levels, depth + 1, bit):
                yield boundary or inside, (new, *rest)

    def _search(self, state: int) -> None:
        """Decide which states are live among those that can be reached from one: backwards from those that can end."""
        reached = [state]
        before: dict[int, list[int]] = {state: []}
        for here in reached:
            if here in self._alive or self.can_end(here):
                continue
            for c in self.classes:
                for _, there in self._raw_successors(here, c):
                    if there not in before:
                        before[there] = []
                        reached.append(there)
                    before[there].append(here)
        queue = [here for here in reached if self._alive.get(here) or self.can_end(here)]
        live = set(queue)
        for here in queue:
            new = [there for there in before[here] if there not in live]
            live.update(new)
            queue += new
        self._alive.update((here, here in live) for here in reached)


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
        self.ending_classes = cache(self._ending_classes)
        self.possible_classes = cache(self._possible_classes)
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

    def _ending_classes(self, number: int, kind: int) -> int:
        """Bits of the classes of the next character after which the piece can end."""
        return reduce(or_, (self.machine.ending_classes(state, kind) for state in self.states[number]), 0)

    def _possible_classes(self, number: int, kind: int) -> int:
        """Bits of the classes that the next character can have."""
        return sum(1 << c for c in self.machine.classes if self.next(number, c, kind))
