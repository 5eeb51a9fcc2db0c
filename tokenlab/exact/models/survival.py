"""The probability that a text goes on so that its encoding begins with given tokens (appendix F.2 of the paper).

P(t_1^i) = P(x_1^n) times the survival of t_1^i: the probability of the futures f for which encode(x_1^n f) begins with
t_1^i. Equation 23 enumerates the futures of the length of the longest token, which is right for maximum prefix
encoding only. Here the futures are followed byte by byte with the set of *parses*: the ways to go on from t_1^i that
agree with the future so far, each a state of the automaton and the beginning of a token. No parse left: the tokens
died. A set from which no future leads to the empty one: they survive, and nothing further needs to be looked at. In
between stands a system of linear equations, small because states repeat, and exact for any look-ahead.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import numpy as np

from tokenlab.core.errors import InputError
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.models.source import ByteSource, ByteState

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
        return self._probability((frozenset([(state, b"")]), at))

    def after(self, state: Hashable, text: bytes) -> Parses:
        """The parses of a text from a state."""
        parses: Parses = frozenset([(state, b"")])
        for byte in text:
            parses = self._advance(parses, byte)
        return parses

    def _probability(self, place: _Place) -> float:
        known = self._value(place)
        return self._solve(place) if known is None else known

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
