"""One hypothesis about a token sequence, and what a further token makes of it.

A token goes on in the same word (`within`), begins a word (`beginning`), or is an added token (`adding`).
"""

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import NamedTuple

from tokenlab.exact.splits.split_states import ADD, BREAK, CONTINUE, SplitSets
from tokenlab.exact.splits.token_classes import Parts, TokenClasses, is_incomplete
from tokenlab.exact.splits.words import Words


class Hypothesis(NamedTuple):
    """What is assumed about the text so far, and what it leaves open."""

    splits: int
    """set of split states after the last whole character"""
    word: Hashable | None
    """state of the word automaton; None where a word or an added token has ended, so that only a new one can follow"""
    pending: bytes = b""
    """first bytes of a character"""
    kind: int = CONTINUE
    """how that character is read: in the same piece, or as the first of a piece"""


class Moves:
    """Hypotheses after one more token.

    tokens: the bytes of each id. Words may lack the ids of added tokens.
    """

    def __init__(
        self,
        tokens: tuple[bytes | None, ...],
        classes: TokenClasses,
        sets: SplitSets,
        word: Words,
        added: Mapping[int, bytes],
    ) -> None:
        self.tokens, self.classes, self.sets, self.word, self.added = tokens, classes, sets, word, added
        self._in_words = tuple(map(word.has, range(len(tokens))))
        self.parts = lru_cache(maxsize=1 << 16)(self._parts)

    def _parts(self, token: int) -> Parts | None:
        spelled = self.tokens[token]
        return None if spelled is None else self.classes.parts(spelled)

    def all(self, here: Hypothesis, token: int) -> list[Hypothesis]:
        """Every hypothesis after one more token (an id), also such as have no continuation."""
        found = (self.within(here, token), self.beginning(here, token), self.adding(here, token))
        return [hypothesis for hypothesis in found if hypothesis is not None]

    def within(self, here: Hypothesis, token: int) -> Hypothesis | None:
        """The token goes on in the same word."""
        if here.word is None or not self._in_words[token]:
            return None
        parts = self.parts(token)
        if parts is None or bool(parts.head) != bool(here.pending):
            return None
        splits, classes, kind = here.splits, parts.classes, CONTINUE
        if here.pending:
            first = here.pending + parts.head
            if is_incomplete(first):
                if parts.classes or parts.tail:
                    return None
                word = self.word.step(here.word, token)
                return None if word is None else Hypothesis(splits, word, first, here.kind)
            completed = self.completed(first)
            if not completed:
                return None
            classes, kind = (completed, *classes), here.kind
        splits = self._after(splits, classes, kind)
        if not splits:
            return None
        word = self.word.step(here.word, token)
        return None if word is None else Hypothesis(splits, word, parts.tail)

    def may_end_word(self, here: Hypothesis) -> bool:
        """Whether the word is complete, as far as the word automaton knows."""
        return not here.pending and (here.word is None or self.word.may_end(here.word))

    def beginning(self, here: Hypothesis, token: int) -> Hypothesis | None:
        """The token begins a word."""
        if not self._in_words[token] or not self.may_end_word(here):
            return None
        parts = self.parts(token)
        if parts is None or parts.head:
            return None
        splits = self._after(here.splits, parts.classes, BREAK)
        word = self.word.step(self.word.start, token) if splits else None
        if word is None:
            return None
        return Hypothesis(splits, word, parts.tail, CONTINUE if parts.classes else BREAK)

    def adding(self, here: Hypothesis, token: int) -> Hypothesis | None:
        """The token is an added token."""
        if token not in self.added or not self.may_end_word(here):
            return None
        parts = self.classes.parts(self.added[token])
        splits = self._after(here.splits, parts.classes, ADD) if parts else 0
        return Hypothesis(splits, None) if splits else None

    def completed(self, character: bytes) -> int:
        """The class of the character that some bytes spell, 0 where they do not."""
        try:
            text = character.decode()
        except UnicodeDecodeError:
            return 0
        return self.classes.classes.of(text)[0] if len(text) == 1 else 0

    def _after(self, splits: int, classes: tuple[int, ...], kind: int) -> int:
        for character_class in classes:
            splits, kind = self.sets.next(splits, character_class, kind), CONTINUE
        return splits
