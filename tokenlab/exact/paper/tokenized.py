"""The exact tokenized model of a token-free one (appendix F of the paper).

P(t_{i+1} | t_1^i) = P(text of t_{i+1} | text of t_1^i) survival(t_1^{i+1}) / survival(t_1^i). This is what a model
learns from tokenized data in the limit: the truth of experiments, without noise of training.

Survival (appendix F.2): P(t_1^i) = P(x_1^n) times the survival of t_1^i, the probability of the futures f for which
encode(x_1^n f) begins with t_1^i. Equation 23 enumerates the futures of the length of the longest token, which is right
for maximum prefix encoding only. Here the futures are followed byte by byte with the set of *parses*: the ways to go on
from t_1^i that agree with the future so far, each a state of the automaton and the beginning of a token. No parse left:
the tokens died. A set from which no future leads to the empty one: they survive, and nothing further needs to be looked
at. In between stands a system of linear equations, small because states repeat, and exact for any look-ahead.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.interface import ContextTree, TokenAutomaton
from tokenlab.exact.paper.chain import ByteSource, ByteState, CharacterSource

_ROWS = 4096


class State(NamedTuple):
    """What decides the tokens that follow a context."""

    tokens: Hashable
    """state of the automaton"""
    text: ByteState


class TokenizedModel:
    """The token model of a token-free model and an encoder.

    Args:
        source: the token-free model, such as a Markov chain.
        automaton: the encoder; for a source that never ends preferably one without an end.
        end: the id of EOS for a source that ends texts.

    Raises:
        InputError: a character of the alphabet that the vocabulary does not contain; a source that ends texts with an
            automaton that does not, or without an id of EOS. Later: an encoder that looks ahead too far.
    """

    def __init__(self, source: CharacterSource, automaton: TokenAutomaton, *, end: int | None = None) -> None:
        self.automaton, self.source = automaton, source
        self.size, self.end = len(automaton.vocabulary.tokens), end
        self.limit: int | None = None
        self._bytes = ByteSource(source, automaton.prefix)
        self._survival = Survival(self._bytes, automaton)
        if source.has_end and (end is None or not automaton.has_end):
            raise InputError("the source ends texts; give the id of EOS, and an encoder with has_end")
        if end is not None and not 0 <= end < self.size:
            raise InputError(f"end token {end} is not among the {self.size} ids; check the id")
        for character, spelled in zip(source.alphabet, self._bytes.spelled, strict=True):
            if not self._survival.after(automaton.start(), automaton.prefix + spelled):
                raise InputError(
                    f"the alphabet is not contained in the vocabulary: no token begins with {character!r}; add it"
                )
        first = self._survival.of(automaton.start(), self._bytes.start())
        if abs(first - 1) > 1e-9:
            raise InputError(f"the encoder encodes only {first:.3g} of the texts of the source; check its vocabulary")
        self.logits = lru_cache(_ROWS)(self._logits)

    def tree(self) -> ContextTree:
        """A new tree with nothing but its root."""
        return TokenizedTree(self)

    def start(self) -> State:
        """The state before the first token."""
        return State(self.automaton.start(), self._bytes.start())

    def step(self, state: State, token: int) -> State | None:
        """The state after one more token; None where the probability is zero."""
        text = self.automaton.vocabulary.tokens[token]
        after = None if text is None else self.automaton.step(state.tokens, token)
        at = state.text
        for byte in text or b"":
            found = [one.state for one in self._bytes.following(at).bytes if one.byte == byte]
            if not found:
                return None
            at = found[0]
        if after is None or not self._survival.of(after, at):
            return None
        return State(after, at)

    def _logits(self, state: State) -> NDArray[np.float64]:
        """float64[ids] log P(token | context); -inf for tokens of probability zero."""
        found = np.zeros(self.size)
        vocabulary = self.automaton.vocabulary
        allowed = self.automaton.allowed(state.tokens)
        stack = [(0, len(vocabulary), 0, state.text, 1.0)]
        while stack:
            low, high, depth, at, probability = stack.pop()
            branches = vocabulary.branches(low, high, depth)
            ends = np.append(branches.start[1:], high)
            longer = int(branches.start[0]) if len(branches.start) else high
            for position in range(low, longer):
                token = int(vocabulary.ids[position])
                after = self.automaton.step(state.tokens, token) if allowed[position] else None
                if after is not None:
                    found[token] = probability * self._survival.of(after, at)
            place = {int(byte): i for i, byte in enumerate(branches.following)}
            for byte, p, after_byte in self._bytes.following(at).bytes:
                if byte in place:
                    i = place[byte]
                    stack.append((int(branches.start[i]), int(ends[i]), depth + 1, after_byte, probability * p))
        if self.end is not None and self.automaton.may_end(state.tokens):
            found[self.end] = self._bytes.following(state.text).end
        with np.errstate(divide="ignore"):
            return np.log(found / self._survival.of(*state))


class TokenizedTree:
    """The contexts of a tokenized model: their states, one a node."""

    def __init__(self, model: TokenizedModel) -> None:
        self.contexts, self.passes, self.tokens = 0, 0, 0
        self._model = model
        self._states: dict[int, State | None] = {0: model.start()}
        self._nodes = 1

    def root(self) -> NDArray[np.floating]:
        """[ids] log P(first token)."""
        if not self.contexts:
            self._count(1)
        return self._model.logits(self._model.start())

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> NDArray[np.floating]:
        """float64[nodes, ids] log P(next token) at each new node, NaN after a context of probability zero."""
        found = np.full((len(parents), self._model.size), np.nan)
        for row, (parent, token) in enumerate(zip(parents, tokens, strict=True)):
            before = self._states[parent]
            state = None if before is None else self._model.step(before, token)
            self._states[self._nodes] = state
            self._nodes += 1
            if state is not None:
                found[row] = self._model.logits(state)
        if len(parents):
            self._count(len(parents))
        return found

    def keep(self, nodes: Sequence[int]) -> None:
        """Forget all nodes but these, and the root: a state needs no ancestors."""
        self._states = {node: self._states[node] for node in (0, *nodes)}

    def _count(self, nodes: int) -> None:
        self.contexts += nodes
        self.tokens += nodes
        self.passes += 1


T = TypeVar("T", bound=Hashable)
Parse = tuple[Hashable, bytes]
Parses = frozenset[Parse]
_Place = tuple[Parses, ByteState]
_MOST = 20_000  # sets of parses that are followed from one
_DEAD: Parses = frozenset()


class Survival:
    """Survival by state of the automaton and state of the source; what was computed is remembered.

    Raises InputError, also later, where the encoder looks ahead too far to be followed.
    """

    def __init__(self, source: ByteSource, automaton: TokenAutomaton) -> None:
        self._source, self._automaton = source, automaton
        self._alphabet = sorted({byte for character in source.spelled for byte in character} | set(automaton.prefix))
        self._parts: dict[tuple[Parse, int], Parses] = {}
        self._after: dict[tuple[Parses, int], Parses] = {}
        self._sure: dict[Parses, bool] = {_DEAD: False}
        self._known: dict[_Place, float] = {}

    def of(self, state: Hashable, at: ByteState) -> float:
        """The probability that the encoding of the text goes on from a state, given the text so far."""
        place = (frozenset([(state, b"")]), at)
        known = self._value(place)
        return self._solve(place) if known is None else known

    def after(self, state: Hashable, text: bytes) -> Parses:
        """The parses of a text from a state."""
        parses: Parses = frozenset([(state, b"")])
        for byte in text:
            parses = self._advance(parses, byte)
        return parses

    def _value(self, place: _Place) -> float | None:
        """The probability of a place where it needs no equation."""
        if not place[0]:
            return 0.0
        return 1.0 if self._is_sure(place[0]) else self._known.get(place)

    def _solve(self, first: _Place) -> float:
        """Solve for all unknown places that are reached from one: p = A p + b."""
        number: dict[_Place, int] = {first: 0}
        rows: list[list[tuple[int, float]]] = []
        constant: list[float] = []
        doubtful: set[int] = set()
        queue = [first]
        for place in queue:
            parses, at = place
            following = self._source.following(at)
            row, value, fails = [], 0.0, False
            if following.end:
                ends = self._may_end(parses)
                value, fails = following.end * ends, not ends
            for byte, probability, after in following.bytes:
                target = (self._advance(parses, byte), after)
                known = self._value(target)
                if known is not None:
                    value += probability * known
                    fails = fails or known < 1
                    continue
                if target not in number:
                    number[target] = len(queue)
                    queue.append(target)
                    _check_size(len(queue))
                row.append((number[target], probability))
            rows.append(row)
            constant.append(value)
            if fails:
                doubtful.add(len(rows) - 1)
        for place, probability in zip(queue, _solution(rows, constant, doubtful), strict=True):
            self._known[place] = probability
        return self._known[first]

    def _is_sure(self, parses: Parses) -> bool:
        """Whether no text of the alphabet leaves a set of parses without one."""
        if parses not in self._sure:
            found, before, queue = {parses}, dict[Parses, list[Parses]](), [parses]
            doubtful = []
            for one in queue:
                if self._source.has_end and not self._may_end(one):
                    doubtful.append(one)
                for byte in self._alphabet:
                    after = self._advance(one, byte)
                    before.setdefault(after, []).append(one)
                    known = self._sure.get(after)
                    if known is False:
                        doubtful.append(one)
                    elif known is None and after not in found:
                        found.add(after)
                        queue.append(after)
                        _check_size(len(queue))
            reached = _closure(doubtful, lambda one: before.get(one, ()))
            self._sure.update((one, one not in reached) for one in queue)
        return self._sure[parses]

    def _may_end(self, parses: Parses) -> bool:
        return any(not begun and self._automaton.may_end(state) for state, begun in parses)

    def _advance(self, parses: Parses, byte: int) -> Parses:
        key = (parses, byte)
        if key not in self._after:
            self._after[key] = _DEAD.union(*(self._advance_one(parse, byte) for parse in parses))
        return self._after[key]

    def _advance_one(self, parse: Parse, byte: int) -> Parses:
        """The parses after one more byte: inside the token, and at its end."""
        key = (parse, byte)
        if key not in self._parts:
            state, begun = parse[0], parse[1] + bytes([byte])
            vocabulary = self._automaton.vocabulary
            low, high = vocabulary.beginning_with(begun)
            longer = vocabulary.equal_to(begun, low, high)[1]
            allowed = self._automaton.allowed(state)
            found: set[Parse] = {(state, begun)} if allowed[longer:high].any() else set()
            for position in range(low, longer):
                if allowed[position]:
                    after = self._automaton.step(state, int(vocabulary.ids[position]))
                    if after is not None:
                        found.add((after, b""))
            self._parts[key] = frozenset(found)
        return self._parts[key]


def _solution(rows: list[list[tuple[int, float]]], constant: list[float], doubtful: set[int]) -> list[float]:
    """Solve p = A p + b for the probability to survive; places that never fail have 1, as the equations are singular
    there."""
    before: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        for target, _ in row:
            before.setdefault(target, []).append(number)
    failing = sorted(_closure(doubtful, lambda one: before.get(one, ())))
    place = {number: i for i, number in enumerate(failing)}
    matrix, right = np.eye(len(failing)), np.array([constant[number] for number in failing])
    for i, number in enumerate(failing):
        for target, probability in rows[number]:
            if target in place:
                matrix[i, place[target]] -= probability
            else:
                right[i] += probability
    solved = np.linalg.solve(matrix, right) if failing else right
    return [float(solved[place[number]]) if number in place else 1.0 for number in range(len(rows))]


def _closure(first: Iterable[T], neighbours: Callable[[T], Iterable[T]]) -> set[T]:
    """All that is reached from some."""
    found = set(first)
    queue = list(found)
    for one in queue:
        for other in neighbours(one):
            if other not in found:
                found.add(other)
                queue.append(other)
    return found


def _check_size(count: int) -> None:
    if count > _MOST:
        raise InputError(
            f"the encoder looks ahead too far: more than {_MOST:,} ways to go on are open; use a smaller vocabulary or "
            "a source with fewer states"
        )
