"""Hypotheses about a token sequence, and what a further token makes of them.

1. `TokenClasses`: tokens as classes of characters, grouped, so that the splits read each string of classes once. Each
   token is a *head* (bytes that finish a character begun before), whole characters, and a *tail* (the first bytes of a
   character). Tokens with the same classes and the same tail are a group; the strings of classes form a trie.
2. `Words`: the automaton of the words, by the positions of a vocabulary that has the added tokens too.
3. `Moves`: a token goes on in the same word (`within`), begins a word (`beginning`), or is an added token (`adding`).
"""

import sys
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.encoders.byte_pair import PairState
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.splits.character_classes import CharacterClasses
from tokenlab.exact.splits.regex_machine import ADD, BREAK, CONTINUE, SplitSets
from tokenlab.exact.utf8 import character_status
from tokenlab.exact.vocabulary import Vocabulary


class Parts(NamedTuple):
    """A token divided at the borders of characters."""

    head: bytes
    classes: tuple[int, ...]
    tail: bytes


class TokenClasses:
    """The tokens of a vocabulary as classes of characters.

    Attributes:
        group: int32[positions] the group of each token; group 0 holds those that no text has.
        node: int32[groups] the string of classes of a group, as a node of the trie.
        characters: int64[groups] number of whole characters.
        tails: the tail of each group.
        headed: int64[] positions of the tokens with a head.
        heads: their heads.
    """

    def __init__(self, vocabulary: Vocabulary, classes: CharacterClasses) -> None:
        self.classes = classes
        self._trie: dict[tuple[int, int], int] = {}
        self._parent, self._class, self._depth = [0], [0], [0]
        groups: dict[tuple[int, bytes], int] = {(0, b"\xff"): 0}
        self._node_of_text: dict[bytes, int] = {b"": 0}
        self.group = np.zeros(len(vocabulary), np.int32)
        headed, heads = [], []
        cuts = [_cut(vocabulary.spelling(position)) for position in range(len(vocabulary))]
        strings = self._class_strings([cut[1] if cut else "" for cut in cuts])
        for position, (cut, string) in enumerate(zip(cuts, strings, strict=True)):
            node = self._plant(string) if cut else -1
            if cut is None or node < 0 or (cut[2] and not classes.pending(cut[2])):
                continue
            key = (node, cut[2])
            self.group[position] = groups.setdefault(key, len(groups))
            if cut[0]:
                headed.append(position)
                heads.append(cut[0])
        self.node = np.array([node for node, _ in groups], np.int32)
        self.tails = [tail for _, tail in groups]
        self.tails[0] = b""
        self.tailed = np.array([bool(tail) for tail in self.tails])
        self.headed, self.heads = np.array(headed, np.int64), heads
        self.without_head = np.ones(len(vocabulary), np.bool_)
        self.without_head[self.headed] = False
        self._parents, self._last = np.array(self._parent), np.array(self._class, np.uint16)
        depth = np.array(self._depth)
        self.characters = depth[self.node]
        self._levels = [np.flatnonzero(depth == d) for d in range(1, int(depth.max()) + 1)]

    def parts(self, token: bytes) -> Parts | None:
        """A token divided; None for bytes that no text has."""
        cut = _cut(token)
        if cut is None:
            return None
        classes = tuple(self.classes.of(cut[1]))
        if 0 in classes or (cut[2] and not self.classes.pending(cut[2])):
            return None
        return Parts(cut[0], classes, cut[2])

    def after(self, sets: SplitSets, start: int, kind: int) -> NDArray[np.int32]:
        """int32[groups] the set of split states after the whole characters of each group, 0 where there is none.

        The first character is read as `kind` says. For groups of a tail alone: `start`.
        """
        reached = np.zeros(len(self._parents), np.int32)
        reached[0] = start
        for depth, nodes in enumerate(self._levels):
            before = reached[self._parents[nodes]]
            reached[nodes] = sets.next_all(before, self._last[nodes], CONTINUE if depth else kind)
        found = reached[self.node]
        found[0] = 0
        return found

    def _class_strings(self, texts: list[str]) -> list[bytes]:
        """The classes of the characters of each text, two bytes for each."""
        points = np.frombuffer("".join(texts).encode("utf-32-le"), "<u4")
        joined = self.classes.table[points].tobytes()
        ends = np.cumsum([2 * len(text) for text in texts]).tolist()
        return [joined[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def _plant(self, string: bytes) -> int:
        """The node of a string of classes, -1 where a class cannot occur."""
        known = self._node_of_text.get(string)
        if known is not None:
            return known
        parent = self._plant(string[:-2])
        last = int.from_bytes(string[-2:], sys.byteorder)
        node = -1
        if parent >= 0 and last:
            node = len(self._parent)
            self._parent.append(parent)
            self._class.append(last)
            self._depth.append(self._depth[parent] + 1)
        self._node_of_text[string] = node
        return node


def _cut(token: bytes) -> tuple[bytes, str, bytes] | None:
    """Head, whole characters and tail of a token; None where it is part of no UTF-8."""
    try:
        return b"", token.decode(), b""
    except UnicodeDecodeError:
        pass
    start = 0
    while start < len(token) and token[start] & 0xC0 == 0x80:
        start += 1
    if start > 3:
        return None
    end = next((i for i in range(len(token) - 1, start - 1, -1) if token[i] >= 0xC0), len(token))
    tail = token[end:]
    if tail and character_status(tail) != "begun":
        end, tail = len(token), b""
    try:
        return token[:start], token[start:end].decode(), tail
    except UnicodeDecodeError:
        return None


class Words:
    """A word automaton over another vocabulary, of which its own is a part."""

    def __init__(self, word: TokenAutomaton, vocabulary: Vocabulary) -> None:
        self._word = word
        self.ids, self.lengths = vocabulary.ids, vocabulary.length
        self.spelling = vocabulary.spelling
        self._tokens, self._vocabulary = vocabulary.tokens, vocabulary
        self.may_end, self.start = word.may_end, word.start()
        self._whole_words = isinstance(self.start, PairState) and self.start.word is not None
        own = word.vocabulary
        spelled = {own.spelling(position) for position in range(len(own))}
        self._pairs_decide = len(spelled) == len(own)
        self._unfinished: dict[Hashable, NDArray[np.int64]] = {}
        same = len(word.vocabulary) == len(vocabulary) and bool(np.array_equal(word.vocabulary.ids, vocabulary.ids))
        self._places: NDArray[np.int64] | None = None
        if not same:
            self._places = vocabulary.position[word.vocabulary.ids]

    def has(self, token: int) -> bool:
        """Whether an id is a token of words."""
        known = self._word.vocabulary.tokens
        return token < len(known) and known[token] is not None

    def step(self, state: Hashable, token: int) -> Hashable | None:
        """The state after one more token, or None.

        Of BPE only two tokens matter, and encoding both (20 us) is faster than all tokens that may follow the first
        (2 ms for 200,000 tokens), unless the text of both is a token: `ignore_merges`.
        """
        if self._pairs_decide and isinstance(state, PairState) and self.forgets(state) and state.last >= 0:
            found = self._word.encode(self.bytes_of(state.last) + self.bytes_of(token))
            if len(found) > 1 or not self._whole_words:
                return PairState(token) if found == [state.last, token] else None
        return self._word.step(state, token)

    def bytes_of(self, token: int) -> bytes:
        """The text of an id."""
        return self._tokens[token] or b""

    def allowed(self, state: Hashable) -> NDArray[np.bool_]:
        """bool[positions]: the tokens that may follow inside a word. Do not change it."""
        mask = self._word.allowed(state)
        if self._places is None:
            return mask
        wide = np.zeros(len(self.ids), np.bool_)
        wide[self._places] = mask
        return wide

    def forgets(self, state: Hashable) -> bool:
        """Whether only the last token matters: then the state after a token is the same as from any such state."""
        return isinstance(state, PairState) and state.word is None and not state.partial

    def is_plain(self, state: Hashable, token: int) -> bool:
        """Whether the state depends on the last token alone."""
        return state == PairState(token)

    def unfinished(self, state: Hashable) -> NDArray[np.int64]:
        """int64[] positions of the allowed tokens after which a word cannot end."""
        if self.forgets(state):
            return np.zeros(0, np.int64)
        if state not in self._unfinished:
            candidates = self._completing(state) if isinstance(state, PairState) else range(len(self.ids))
            allowed = self.allowed(state)
            found = [p for p in candidates if allowed[p] and not self._ends_after(state, p)]
            self._unfinished[state] = np.array(found, np.int64)
        return self._unfinished[state]

    def _completing(self, state: PairState) -> Iterable[int]:
        """Positions of the tokens that make a word of several tokens spell a token, so that it may be no encoding."""
        if state.partial:
            return range(len(self.ids))
        if not state.word:
            return ()
        found: set[int] = set()
        for position in range(*self._vocabulary.beginning_with(state.word)):
            found.update(range(*self._vocabulary.equal_to(self.spelling(position)[len(state.word) :])))
        return found

    def _ends_after(self, state: Hashable, position: int) -> bool:
        after = self.step(state, int(self.ids[position]))
        return after is not None and self._word.may_end(after)


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
            if character_status(first) == "begun":
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
        return self.classes.classes.of(character.decode())[0] if character_status(character) == "whole" else 0

    def _after(self, splits: int, classes: tuple[int, ...], kind: int) -> int:
        for character_class in classes:
            splits, kind = self.sets.next(splits, character_class, kind), CONTINUE
        return splits
