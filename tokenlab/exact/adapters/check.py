"""Self-check of a tokenizer: is its automaton exact, and which premises of the paper hold?

Along each text, and for every prefix of it (`_Check.text`):

1. the engine's tokens spell the text;
2. every step of them is allowed, and the text may end there;
3. exactly one of all accepted sequences spells the prefix, and it is the engine's; none where a character is cut;
4. every live context is the beginning of some text's encoding: a completion is found, and the engine agrees with it.

Then along random sequences of allowed tokens, whose text the engine must encode so (`_Check.walk`); and over the
vocabulary: tokens that no context allows (`Reach`), V*, the longest token.

At the end of the module: the states that live sequences along a text reach (`live_paths`), and how they go on to the
end of some text (`completion`).

The paper's corollary H.3 and proposition H.6 need that the tokens of a cover before its last are the encoding of the
text that they spell. Expressions that look ahead break it: GPT-2 has two tokens for the newlines of "\\n\\na", but one
for "\\n\\n" alone.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.adapters.probes import probe_texts
from tokenlab.exact.adapters.real import RealTokenizer, decoded
from tokenlab.exact.encoders.maximum_prefix import anchors
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.vocabulary import Vocabulary

_SHOWN = 5
_ENOUGH = 20
_LONGEST_WALK = 6
_SAMPLED, _DEEPEST, _ATTEMPTS = 24, 8, 12
_MOST_STATES = 600


class Failure(NamedTuple):
    """Where the automaton and the engine disagree."""

    kind: str
    text: bytes
    detail: str


@dataclass
class CheckReport:
    """What a self-check found."""

    name: str
    texts: int = 0
    skipped: int = 0
    """texts that the engine has no tokens for"""
    prefixes: int = 0
    """prefixes of texts that were checked"""
    contexts: int = 0
    """live contexts that were completed to a text"""
    walks: int = 0
    """random sequences of tokens that were checked"""
    failed: int = 0
    failures: tuple[Failure, ...] = ()
    """the first of them"""
    most_contexts: int = 0
    """the most live contexts that spell the same text; 1 where covers differ in their last token alone"""
    premise: bool = True
    """whether the tokens before the last of every cover are an encoding (corollary H.3, proposition H.6)"""
    premise_example: str = ""
    """a counterexample, "" where none was found"""
    tokens: int = 0
    """tokens that spell text"""
    unreachable: int = 0
    """tokens that no context allows, of all contexts that were tried"""
    unreachable_examples: tuple[str, ...] = ()
    """the first of them, with their ids"""
    anchors: int = 0
    """tokens that are a part of no other: the paper's V*"""
    longest: int = 0
    """length of the longest token in bytes"""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def handled(self) -> bool:
        """Whether the tokenizer is handled exactly, as far as it was tried."""
        return self.failed == 0


def check_tokenizer(real: RealTokenizer, texts: Iterable[str] | None = None, *, walks: int = 200) -> CheckReport:
    """Compare a tokenizer's automaton with its engine.

    Args:
        texts: beside the named ones of `probes`, which are all that None tries.
        walks: number of random sequences of tokens.

    Raises nothing for disagreements: they are counted in the report. After 20 of them the check stops.
    """
    started = perf_counter()
    check = _Check(real)
    report, vocabulary = check.report, real.automaton.vocabulary
    for text in chain(probe_texts(), texts or ()):
        if report.failed >= _ENOUGH:
            break
        try:
            data = text.encode("utf-8")
            real.automaton.encode(data)
        except (InputError, UnicodeEncodeError):
            report.skipped += 1
            continue
        report.texts += 1
        check.text(data)
    while report.walks < walks and report.failed < _ENOUGH:
        check.walk()
        report.walks += 1
    unreached = check.reach.unreached()
    report.tokens, report.longest, report.notes = len(vocabulary), vocabulary.longest, real.notes
    report.unreachable = len(unreached)
    report.unreachable_examples = tuple(
        f"{shown(vocabulary.spelling(place))} ({vocabulary.ids[place]})" for place in unreached[:_SHOWN].tolist()
    )
    report.anchors = int(anchors(vocabulary).sum())
    report.seconds = perf_counter() - started
    return report


def shown(token: bytes) -> str:
    """Bytes for a reader: as text where they are, else as bytes."""
    try:
        return repr(token.decode("utf-8"))
    except UnicodeDecodeError:
        return repr(token)


class _Check:
    """One self-check: its report so far, the tokens that were allowed, and how contexts go on to the end of a text."""

    def __init__(self, real: RealTokenizer) -> None:
        self.report, self.reach = CheckReport(real.name), Reach(real.automaton)
        self._automaton, self._tokens = real.automaton, real.automaton.vocabulary.tokens
        self._random = np.random.default_rng(0)
        self._endings: dict[Hashable, list[int] | None] = {}

    def text(self, text: bytes) -> None:
        """The tokens of a text, and of every prefix of it."""
        automaton, report = self._automaton, self.report
        self._steps(text, automaton.encode(text))
        try:
            reached = live_paths(automaton, automaton.prefix + text)
        except ValueError as error:
            self._fail("allowed without a state", text, str(error))
            return
        for at, states in enumerate(reached):
            self.reach.add(states)
            own = at - len(automaton.prefix)
            if own < 0 or (own == 0 and automaton.prefix):
                continue  # the space before a text comes with its first character
            report.most_contexts = max(report.most_contexts, sum(arrival.sequences for arrival in states.values()))
            whole = own == len(text) or text[own] & 0xC0 != 0x80
            accepted = [state for state in states if automaton.may_end(state)]
            self._accepted(text[:own], [tokens_to(reached, at, state) for state in accepted], whole)
            if sum(states[state].sequences for state in accepted) > 1:
                self._fail("several encodings", text[:own], "two sequences that lead to one state")
            for state in states.keys() - accepted:
                path = tokens_to(reached, at, state)
                if state not in self._endings:
                    self._endings[state] = completion(automaton, state, self._random)
                self._completed(path, self._endings[state])
                if whole and report.premise:
                    parts = "|".join(shown(self._tokens[token] or b"") for token in path[-6:])
                    report.premise = False
                    report.premise_example = f"{parts} begins an encoding but is not that of its own text"

    def walk(self) -> None:
        """A random sequence of allowed tokens, completed, is the encoding of its text."""
        automaton, ids = self._automaton, self._automaton.vocabulary.ids
        state, path, states = automaton.start(), [], []
        for _ in range(int(self._random.integers(1, _LONGEST_WALK + 1))):
            choices = np.flatnonzero(automaton.allowed(state))
            if not len(choices):
                break
            token = int(ids[self._random.choice(choices)])
            after = automaton.step(state, token)
            path.append(token)
            if after is None:
                self._fail("allowed without a state", decoded(self._tokens, path), f"{path}")
                return
            state = after
            states.append(state)
        self.reach.add(states)
        self._completed(path, completion(automaton, state, self._random))

    def _steps(self, text: bytes, ids: Sequence[int]) -> None:
        """The engine's tokens spell the text, each is allowed, and the text may end after them."""
        automaton = self._automaton
        spelled = b"".join(self._tokens[id] or b"\xff" for id in ids)
        if spelled != (automaton.prefix + text if text else b""):
            self._fail("decoded otherwise", text, f"{list(ids)[:20]}")
        state: Hashable | None = automaton.start()
        for number, token in enumerate(ids):
            place = automaton.vocabulary.position[token]
            allowed = place >= 0 and automaton.allowed(state)[place]
            state = automaton.step(state, token) if allowed else None
            if state is None:
                *before, last = (shown(self._tokens[id] or b"") for id in ids[max(0, number - 4) : number + 1])
                self._fail("not allowed", text, f"{last} after {'|'.join(before) or 'the start'}")
                return
        if text and not automaton.may_end(state):
            self._fail("no end", text, f"{list(ids)[-20:]}")

    def _accepted(self, text: bytes, paths: list[list[int]], whole: bool) -> None:
        """One accepted sequence spells a prefix, and it is the engine's; none where a character is cut."""
        self.report.prefixes += 1
        if not whole:
            if paths:
                self._fail("ends inside a character", text, f"{paths[0][-20:]}")
            return
        wanted = self._automaton.encode(text)
        if paths != [wanted]:
            found = [path[-20:] for path in paths[:3]]
            self._fail("other encodings", text, f"accepted {found}, encoded {wanted[-20:]}")

    def _completed(self, path: list[int], ending: list[int] | None) -> None:
        """A live context begins the encoding of some text."""
        self.report.contexts += 1
        if ending is None:
            self._fail("no completion", decoded(self._tokens, path), f"{path[-20:]}")
            return
        whole = [*path, *ending]
        text = decoded(self._tokens, whole).removeprefix(self._automaton.prefix)
        try:
            encoded = self._automaton.encode(text)
        except InputError as error:
            self._fail("completed to a text that cannot be encoded", text, str(error))
            return
        if encoded != whole:
            self._fail("completed otherwise", text, f"expected {whole[-20:]}, encoded {encoded[-20:]}")

    def _fail(self, kind: str, text: bytes, detail: str) -> None:
        self.report.failed += 1
        if len(self.report.failures) < _SHOWN:
            self.report.failures += (Failure(kind, text, detail),)


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
        if any(vocabulary.spelling(position)[0] & 0xC0 == 0x80 for position in left.tolist()):
            self.add(self._unfinished(), most=4 * _MOST_STATES)
            left = np.flatnonzero(~self._reached)
        return left

    def _unfinished(self) -> Iterator[Hashable]:
        """States after one, two and three tokens of one byte that begin a character, as they are asked for."""
        automaton, vocabulary = self._automaton, self._automaton.vocabulary
        single = np.flatnonzero(vocabulary.length == 1)
        states = self._beginnings
        for _ in range(3):
            following: dict[Hashable, None] = {}  # In the order in which they were met.
            for state in states:
                allowed = automaton.allowed(state)
                for position in single[allowed[single]]:
                    if vocabulary.spelling(int(position))[0] >= 0x80:
                        after = automaton.step(state, int(vocabulary.ids[position]))
                        if after is not None and after not in following and not automaton.may_end(after):
                            following[after] = None
                            yield after
            states = list(following)
