"""Encoders that find added tokens, then split the text, then encode each piece as a word: as automata over tokens.

1. A state is a set of hypotheses: where the splits are (in one or several states), where the word is, and the first
   bytes of a character that a token has cut. A boundary between pieces is possible only before a token.
2. `allowed` joins two masks: what the word allows, and what the splits allow, which depends only on the classes of a
   token's characters and is computed once for each string of classes. Tokens after which the piece cannot end at once
   are looked at one by one (`routes`), and so are tokens that cut a character.
"""

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.encoders.masks import Masks
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.splits.added_tokens import AddedTokens
from tokenlab.exact.splits.character_classes import CharacterClasses
from tokenlab.exact.splits.hypotheses import Hypothesis, Moves
from tokenlab.exact.splits.reading import Splits
from tokenlab.exact.splits.regex_machine import Level, compile_expression, compile_literals
from tokenlab.exact.splits.regex_syntax import sets_of
from tokenlab.exact.splits.routes import Routes
from tokenlab.exact.splits.split_states import BREAK, CONTINUE, SplitMachine, SplitSets
from tokenlab.exact.splits.token_classes import TokenClasses
from tokenlab.exact.splits.words import Words
from tokenlab.exact.vocabulary import Vocabulary

State = frozenset[Hypothesis]


_UNKNOWN = -1


class _Verdicts(NamedTuple):
    """What the splits say about tokens, from one set of split states on."""

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
        self._place = {int(id): position for position, id in enumerate(self.vocabulary.ids)}
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

    def witness(self, state: Hashable) -> bytes:
        """Bytes after which the text can end: the encoding of text and witness begins with the tokens of the state."""
        assert isinstance(state, frozenset)
        return min((self._witness(here) for here in state), key=len)

    def _witness(self, here: Hypothesis) -> bytes:
        route = self._routes.route(here)
        assert route is not None
        for token in route:
            after = self._moves.within(here, token)
            assert after is not None
            here = after
        found = b"".join(self._words.bytes_of(token) for token in route)
        shortest = min((self.machine.ending(state) for state in self.sets.states[here.splits]), key=_no_ending_last)
        assert shortest is not None
        return found + "".join(self.classes.example(c) for c in shortest).encode()

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
                mask[self._place[token]] = True
        return mask

    def _verdicts_of(self, splits: int, kind: int) -> "_Verdicts":
        """What the splits say about the tokens that go on (CONTINUE) or begin a word (BREAK)."""
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


def _no_ending_last(characters: list[int] | None) -> float:
    return float("inf") if characters is None else len(characters)


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
