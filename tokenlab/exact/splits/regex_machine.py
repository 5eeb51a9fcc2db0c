"""One split as a machine that reads a class of characters at a time: leftmost-first matching with hypotheses.

1. `compile_expression`, `compile_literals`: an expression, or words of which the longest wins, as *nodes*. A node lists
   what may come next, in the order of preference: (bits of classes, next node or ACCEPT). Look-ahead of one character
   is in the bits, because the choice is made when the next character (or the end of the text) is known.
2. `Level.advance`: where a match ends may be known only later, so a boundary is a hypothesis. An accepting thread says
   that the match ends here if the threads of higher priority all die without accepting: these *doomed* nodes are
   carried along, and the hypothesis falls if one of them accepts. The other hypothesis, that the match goes on, keeps
   only the threads of higher priority. Text between matches is a gap: the threads of each of its positions are doomed.

For a complete text exactly one sequence of hypotheses survives: the pieces that the search finds.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from tokenlab.exact.splits.character_classes import CharacterClasses
from tokenlab.exact.splits.regex_syntax import Choice, Look, Node, Repeat, Sequence, Set

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
        if state.kind == GAP:
            threads, _ = self._threads((0,), bit)
            wanted = tuple(node for node in threads if node not in doomed)
            match = (Step(True, LevelState(MATCH, wanted, doomed)),) if wanted else ()
            return (Step(False, LevelState(GAP, (), doomed.union(threads))), *match)
        threads, accepted = self._threads(state.threads, bit)
        wanted = tuple(node for node in threads if node not in doomed)
        on = (Step(False, LevelState(MATCH, wanted, doomed)),) if wanted else ()
        if not accepted:
            return on
        return on + tuple(Step(True, new) for new in self.begin(bit, doomed.union(threads)))

    def _threads(self, threads: tuple[int, ...], bit: int) -> tuple[tuple[int, ...], bool]:
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
        after = set()
        for thread in doomed:
            for bits, node in self.nodes[thread]:
                if bits & bit:
                    if node == ACCEPT:
                        return None
                    after.add(node)
        return frozenset(after)


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
    program.start = program.add(expression, program.accept)
    return program.nodes()


class _Program:
    """Instructions of a backtracking matcher, built from the end of the expression to its start."""

    def __init__(self, classes: CharacterClasses) -> None:
        self.classes = classes
        self.code: list[tuple] = [("accept",)]
        self.accept = 0
        self.start = 0

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
            case Sequence(parts):
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

    def nodes(self) -> Nodes:
        """A node for the start and for each place behind a set: what the matcher can do there."""
        number = {self.start: 0}
        places, nodes = [self.start], []
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
