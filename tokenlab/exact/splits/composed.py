"""Encoders that find added tokens, then split the text, then encode each piece as a word: as automata over tokens.

1. A state is a set of hypotheses: where the splits are (in one or several states), where the word is, and the first
   bytes of a character that a token has cut. A boundary between pieces is possible only before a token.
2. `allowed` joins two masks: what the word allows, and what the splits allow, which depends only on the classes of a
   token's characters and is computed once for each string of classes. Tokens after which the piece cannot end at once
   are looked at one by one (`Routes`), and so are tokens that cut a character.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.encoders.masks import Masks
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.splits.character_classes import CharacterClasses
from tokenlab.exact.splits.hypotheses import Hypothesis, Moves, TokenClasses, Words
from tokenlab.exact.splits.reading import AddedTokens, Splits
from tokenlab.exact.splits.regex_machine import (
    BREAK,
    CONTINUE,
    Level,
    SplitMachine,
    SplitSets,
    compile_expression,
    compile_literals,
)
from tokenlab.exact.splits.regex_syntax import sets_of
from tokenlab.exact.utf8 import character_status
from tokenlab.exact.vocabulary import Vocabulary

State = frozenset[Hypothesis]
_UNKNOWN = -1


class _Verdicts(NamedTuple):
    """Which tokens the splits allow, from one set of split states on."""

    sure: NDArray[np.bool_]
    """[groups] the piece can end after the token"""
    doubtful: NDArray[np.int64]
    """positions of the tokens after which it must go on, in a way that the word may not allow"""
    live: NDArray[np.int8]
    """[doubtful] whether it can go on: 1, 0, or -1 where that is not known yet. For words whose state after a token
    says nothing of what was before it."""


class SplitEncoding:
    """The token sequences with which encodings of texts begin, for an encoder with a pre-tokenizer (a TokenAutomaton).

    word: the encodings of a single piece of text. Every text must have one, if its characters or their bytes are
        tokens. Its vocabulary may lack the ids of added tokens.
    splits: the pre-tokenizer; added: the added tokens that text can contain.
    encode: the encoder itself, for texts.

    Texts are valid UTF-8 of such characters. Raises InputError for a word automaton without an end, and for an added
    token with another character.
    """

    def __init__(
        self,
        word: TokenAutomaton,
        splits: Splits,
        added: AddedTokens | None,
        encode: Callable[[bytes], list[int]],
        prefix: bytes = b"",
    ) -> None:
        if not word.has_end:
            raise InputError("texts without an end are not supported together with a pre-tokenizer")
        self.prefix, self.has_end, self._encode = prefix, True, encode
        extra = {id: text.encode() for id, text in added.texts} if added else {}
        self.vocabulary = _with_added(word.vocabulary, extra)
        self.classes = _classes(splits, added, word.vocabulary)
        for text in extra.values():
            _check_spelled(text.decode(), self.classes)
        self.machine = _machine(splits, added, self.classes)
        self.sets = SplitSets(self.machine)
        self.tokens = TokenClasses(self.vocabulary, self.classes)
        self._words = Words(word, self.vocabulary)
        self._moves = Moves(self.vocabulary.tokens, self.tokens, self.sets, self._words, extra)
        self._routes = Routes(self._moves, self._words)
        self._masks = Masks(len(self.vocabulary), self._allowed)
        self._following = Masks(len(self.vocabulary), self._next_word)
        self._verdicts = lru_cache(maxsize=1024)(self._verdicts_of)

    def start(self) -> State:
        """The state before the first token."""
        return frozenset([Hypothesis(self.sets.start, None)])

    def step(self, state: Hashable, token: int) -> State | None:
        """The state after one more token (an id), or None where no text's encoding goes on so."""
        assert isinstance(state, frozenset)
        after = frozenset(new for here in state for new in self._moves.all(here, token) if self._routes.live(new))
        return after or None

    def allowed(self, state: Hashable) -> NDArray[np.bool_]:
        """bool[positions]: the tokens after which the sequence is still live. Read-only."""
        return self._masks.get(state)

    def may_end(self, state: Hashable) -> bool:
        """Whether a text's encoding can end here."""
        assert isinstance(state, frozenset)
        return any(self._moves.may_end_word(here) and self.sets.can_end(here.splits) for here in state)

    def encode(self, text: bytes) -> list[int]:
        """The encoding of a text."""
        return self._encode(text)

    def _allowed(self, state: Hashable) -> NDArray[np.bool_]:
        assert isinstance(state, frozenset)
        mask = np.zeros(len(self.vocabulary), np.bool_)
        for here in state:
            if here.pending:
                self._allow_rest(mask, here)
                continue
            if here.word is not None:
                mask |= self._checked(here, here.word, CONTINUE)
            if self._moves.may_end_word(here):
                mask |= self._following.get(here.splits)
        return mask

    def _next_word(self, splits: Hashable) -> NDArray[np.bool_]:
        """bool[positions]: the tokens that can begin a word, or are added tokens."""
        assert isinstance(splits, int)
        here = Hypothesis(splits, None)
        mask = self._checked(here, self._words.start, BREAK)
        for token in self._moves.added:
            after = self._moves.adding(here, token)
            if after is not None and self._routes.live(after):
                mask[self.vocabulary.position[token]] = True
        return mask

    def _verdicts_of(self, splits: int, kind: int) -> _Verdicts:
        """Which tokens the splits allow to go on (CONTINUE) or to begin a word (BREAK)."""
        after = self.tokens.after(self.sets, splits, kind)
        sure = self.sets.ends_all(after) & ~self.tokens.tailed
        doubtful = (after > 0) & ~sure
        for group in np.flatnonzero(self.tokens.tailed & doubtful).tolist():
            first = self.tokens.node[group] == 0
            possible = self.sets.possible_classes(int(after[group]), kind if first else CONTINUE)
            doubtful[group] = bool(possible & self.classes.pending(self.tokens.tails[group]))
        positions = np.flatnonzero(doubtful[self.tokens.group] & self.tokens.without_head)
        return _Verdicts(sure, positions, np.full(len(positions), _UNKNOWN, np.int8))

    def _checked(self, here: Hypothesis, word: Hashable, kind: int) -> NDArray[np.bool_]:
        """bool[positions]: tokens without a head that can follow in the same word, or begin one."""
        verdicts = self._verdicts(here.splits, kind)
        allowed = self._words.allowed(word)
        mask = verdicts.sure[self.tokens.group]
        mask &= allowed
        mask &= self.tokens.without_head
        places = np.flatnonzero(allowed[verdicts.doubtful])
        known = verdicts.live[places] if self._words.forgets(word) else np.full(len(places), _UNKNOWN, np.int8)
        mask[verdicts.doubtful[places]] = known == 1
        for place in places[known == _UNKNOWN].tolist():
            position = int(verdicts.doubtful[place])
            mask[position], after = self._is_live(here, position, kind)
            if after is not None and self._words.is_plain(after.word, int(self.vocabulary.ids[position])):
                verdicts.live[place] = mask[position]
        unfinished = self._words.unfinished(word)
        for position in unfinished[mask[unfinished]].tolist():
            mask[position] = self._is_live(here, position, kind)[0]
        return mask

    def _is_live(self, here: Hypothesis, position: int, kind: int) -> tuple[bool, Hypothesis | None]:
        move = self._moves.within if kind == CONTINUE else self._moves.beginning
        after = move(here, int(self.vocabulary.ids[position]))
        return after is not None and self._routes.live(after), after

    def _allow_rest(self, mask: NDArray[np.bool_], here: Hypothesis) -> None:
        """Allow the tokens that go on in the middle of a character."""
        allowed = self._words.allowed(here.word)
        for position in self.tokens.headed[allowed[self.tokens.headed]].tolist():
            after = self._moves.within(here, int(self.vocabulary.ids[position]))
            if after is not None and self._routes.live(after):
                mask[position] = True


def _with_added(vocabulary: Vocabulary, added: dict[int, bytes]) -> Vocabulary:
    """A vocabulary that has the added tokens."""
    tokens = list(vocabulary.tokens)
    tokens += [None] * (max(added, default=-1) + 1 - len(tokens))
    if all(tokens[id] == text for id, text in added.items()):
        return vocabulary
    for id, text in added.items():
        tokens[id] = text
    return Vocabulary(tokens)


def _classes(splits: Splits, added: AddedTokens | None, words: Vocabulary) -> CharacterClasses:
    """The classes of characters of all levels, over the texts that words can spell."""
    sources = [source for level in splits.levels for source in sets_of(level)]
    return CharacterClasses(sources + (added.sources() if added else []), words.tokens)


def _check_spelled(added: str, classes: CharacterClasses) -> None:
    """Raise InputError for an added token with a character that no other text can have."""
    for character, found in zip(added, classes.of(added), strict=True):
        if not found:
            raise InputError(
                f"the added token {added!r} has {character!r}, which no other token spells; such tokens are not "
                "supported"
            )


def _machine(splits: Splits, added: AddedTokens | None, classes: CharacterClasses) -> SplitMachine:
    """The splits as one machine, with the added tokens as the first levels."""
    nodes = [compile_expression(level, classes) for level in splits.levels]
    rounds = [compile_literals(texts, classes) for texts in added.rounds()] if added else []
    return SplitMachine([Level(found, classes.end) for found in (*rounds, *nodes)], classes.count, added=len(rounds))


_DEPTH = 4
_CANDIDATES = 48
_BRANCHES = 64

Route = tuple[int, ...]


class Routes:
    """Continuations of hypotheses, found once each: tokens after which the word and its piece can end together.

    After that point any text that the splits allow can follow, because every word has an encoding. Most hypotheses can
    end at once. Otherwise the word automaton and the splits are searched together:

    1. A character that has begun is completed (`_completion`): by bytes, for the classes that the splits allow.
    2. The word goes on (`_longer`) where the splits allow no end, or the tokens are not the encoding of a word
       (`ignore_merges`). The first token of the continuation is searched through the whole vocabulary; of those after
       it, one for each string of classes, up to a depth of 4 tokens.
    """

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
        if character_status(spelled) == "begun":
            possible = self._tokens.classes.pending(spelled)
        else:
            possible = 1 << self._moves.completed(spelled)
        after = self._words.step(word, token) if possible & goal else None
        if after is None:
            return None
        if character_status(spelled) == "begun":
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
