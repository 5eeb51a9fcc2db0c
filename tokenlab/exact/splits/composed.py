"""Encoders that find added tokens, then split the text, then encode each piece as a word: as automata over tokens.

1. A state is a set of hypotheses: where the splits are (in one or several states), where the word is, and the first
   bytes of a character that a token has cut. A boundary between pieces is possible only before a token.
2. `allowed` joins two masks: what the word allows, and what the splits allow, which depends only on the classes of a
   token's characters and is computed once for each string of classes. Tokens after which the piece cannot end at once
   are looked at one by one (`Routes`), and so are tokens that cut a character.
3. `TokenClasses`: tokens as classes of characters, grouped, so that the splits read each string of classes once. Each
   token is a *head* (bytes that finish a character begun before), whole characters, and a *tail* (the first bytes of a
   character). Tokens with the same classes and the same tail are a group; the strings of classes form a trie.
4. `Words`: the automaton of the words, by the positions of a vocabulary that has the added tokens too.
5. `Moves`: a token goes on in the same word (`within`), begins a word (`beginning`), or is an added token (`adding`).
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.encoders.byte_pair import BytePair, PairState
from tokenlab.exact.encoders.masks import Masks
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.splits.character_classes import CharacterClasses
from tokenlab.exact.splits.reading import AddedTokens, Splits
from tokenlab.exact.splits.regex_machine import (
    ADD,
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

_UNKNOWN = -1


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


State = frozenset[Hypothesis]


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
    ) -> None:
        if not word.has_end:
            raise InputError("texts without an end are not supported together with a pre-tokenizer")
        self.prefix, self.has_end, self.encode = b"", True, encode
        extra = {id: text.encode() for id, text in added.texts} if added else {}
        self.vocabulary = _with_added(word.vocabulary, extra)
        self.classes = _classes(splits, added, word.vocabulary)
        for text in extra.values():
            _check_spelled(text.decode(), self.classes)
        self.machine = _machine(splits, added, self.classes)
        self.sets = SplitSets(self.machine)
        self.tokens = TokenClasses(self.vocabulary, self.classes)
        self._words = Words(word, self.vocabulary)
        self._moves = Moves(self.tokens, self.sets, self._words, extra)
        self._routes = Routes(self._moves)
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
            mask[position] |= self._is_live(here, position, CONTINUE)[0]


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
    sources = [source for level in splits for source in sets_of(level)]
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
    nodes = [compile_expression(level, classes) for level in splits]
    rounds = [compile_literals(texts, classes) for texts in added.rounds()] if added else []
    return SplitMachine([Level(found, classes.end) for found in (*rounds, *nodes)], classes.count, added=len(rounds))


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
    """

    def __init__(self, vocabulary: Vocabulary, classes: CharacterClasses) -> None:
        self.classes = classes
        self._parent, self._class, self._depth = [0], [0], [0]
        groups: dict[tuple[int, bytes], int] = {(0, b"\xff"): 0}
        self._node_of_text: dict[bytes, int] = {b"": 0}
        self.group = np.zeros(len(vocabulary), np.int32)
        headed = []
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
        self.node = np.array([node for node, _ in groups], np.int32)
        self.tails = [tail for _, tail in groups]
        self.tails[0] = b""
        self.tailed = np.array([bool(tail) for tail in self.tails])
        self.headed = np.array(headed, np.int64)
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
        self._word, self.vocabulary = word, vocabulary
        self.may_end, self.start = word.may_end, word.start()
        self._whole_words = isinstance(self.start, PairState) and self.start.word is not None
        own = word.vocabulary
        self._pairs_decide = len(set(own.tokens) - {None}) == len(own)
        self._byte_ids = frozenset(word.byte_ids) if isinstance(word, BytePair) else frozenset()
        self._unfinished: dict[PairState, NDArray[np.int64]] = {}
        self._places = None if np.array_equal(own.ids, vocabulary.ids) else vocabulary.position[own.ids]

    def has(self, token: int) -> bool:
        """Whether an id is a token of words."""
        known = self._word.vocabulary.tokens
        return token < len(known) and known[token] is not None

    def step(self, state: Hashable, token: int) -> Hashable | None:
        """The state after one more token, or None.

        Of BPE only two tokens matter, and encoding both (20 us) is faster than all tokens that may follow the first
        (2 ms for 200,000 tokens), unless the text of both is a token: `ignore_merges`. A byte token is no text.
        """
        decided = self._pairs_decide and token not in self._byte_ids
        if decided and isinstance(state, PairState) and self.forgets(state) and state.last >= 0:
            found = self._word.encode(self.bytes_of(state.last) + self.bytes_of(token))
            if len(found) > 1 or not self._whole_words:
                return PairState(token) if found == [state.last, token] else None
        return self._word.step(state, token)

    def bytes_of(self, token: int) -> bytes:
        """The text of an id."""
        return self.vocabulary.tokens[token] or b""

    def allowed(self, state: Hashable) -> NDArray[np.bool_]:
        """bool[positions]: the tokens that may follow inside a word. Do not change it."""
        mask = self._word.allowed(state)
        if self._places is None:
            return mask
        wide = np.zeros(len(self.vocabulary), np.bool_)
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
        if self.forgets(state) or not isinstance(state, PairState):  # Words of other methods can always end.
            return np.zeros(0, np.int64)
        if state not in self._unfinished:
            allowed = self.allowed(state)
            found = [p for p in self._completing(state) if allowed[p] and not self._ends_after(state, p)]
            self._unfinished[state] = np.array(found, np.int64)
        return self._unfinished[state]

    def _completing(self, state: PairState) -> Iterable[int]:
        """Positions of the tokens that make a word of several tokens spell a token, so that it may be no encoding."""
        if state.partial:
            return range(len(self.vocabulary))
        if not state.word:
            return ()
        found: set[int] = set()
        for position in range(*self.vocabulary.beginning_with(state.word)):
            found.update(range(*self.vocabulary.equal_to(self.vocabulary.spelling(position)[len(state.word) :])))
        return found

    def _ends_after(self, state: Hashable, position: int) -> bool:
        after = self.step(state, int(self.vocabulary.ids[position]))
        return after is not None and self._word.may_end(after)


class Moves:
    """Hypotheses after one more token. Words may lack the ids of added tokens."""

    def __init__(self, classes: TokenClasses, sets: SplitSets, word: Words, added: Mapping[int, bytes]) -> None:
        self.classes, self.sets, self.word, self.added = classes, sets, word, added
        self._in_words = tuple(map(word.has, range(len(word.vocabulary.tokens))))
        self.parts = lru_cache(maxsize=1 << 16)(self._parts)

    def _parts(self, token: int) -> Parts | None:
        spelled = self.word.vocabulary.tokens[token]
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


_CANDIDATES = 48
_WAYS = 1 << 16
"""Hypotheses at most that a search goes through."""

Route = tuple[int, ...]


class Routes:
    """Continuations of hypotheses, found once each: tokens after which the word and its piece can end together.

    After that point any text that the splits allow can follow, because every word has an encoding. Most hypotheses can
    end at once. Otherwise the word automaton and the splits are searched together, depth first:

    1. A character that has begun is completed (`_completion`): by bytes, for the classes that the splits allow.
    2. The word goes on where the splits allow no end, or the tokens are not the encoding of a word (`ignore_merges`).
       Of the hypotheses with the same splits and begun character, one is followed before all others.

    Raises InputError where that would take more than 65,536 hypotheses: nothing that could go on counts as impossible.
    """

    def __init__(self, moves: Moves) -> None:
        self._moves, self._words, self._sets, self._tokens = moves, moves.word, moves.sets, moves.classes
        self._vocabulary = moves.word.vocabulary
        self._found: dict[Hypothesis, Route | None] = {}
        self._completions: dict[tuple[Hashable, bytes], dict[int, Route]] = defaultdict(dict)
        self._impossible: dict[tuple[Hashable, bytes], int] = defaultdict(int)
        group = self._tokens.group[self._tokens.headed]
        inner = self._tokens.headed[(self._tokens.characters[group] == 0) & ~self._tokens.tailed[group]]
        heads = [(self._vocabulary.spelling(position), int(self._vocabulary.ids[position])) for position in inner]
        self._finishing = sorted(heads, key=lambda head: (len(head[0]), head[0]))
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
            self._found[here] = self._search(here)
        return self._found[here]

    def _ends(self, here: Hypothesis) -> bool:
        return not here.pending and self._sets.ends(here.splits) and self._moves.may_end_word(here)

    def _search(self, start: Hypothesis) -> Route | None:
        if start.word is None or not start.splits:
            return None
        ways: dict[Hypothesis, Route] = {start: ()}
        firsts, others, groups = [start], list[Hypothesis](), set[tuple[int, int, bytes]]()
        while firsts or others:
            if not firsts and len(ways) > _WAYS:
                raise InputError(
                    f"the pre-tokenizer has pieces that take more than {_WAYS:,} ways to go on before they can end; "
                    "exact probabilities of this tokenizer are not supported, only `naive` ones"
                )
            here = firsts.pop() if firsts else others.pop()
            if here.pending:
                goal = self._sets.ending_classes(here.splits, here.kind)
                completion = self._completion(here.word, here.pending, goal)
                if completion is not None:
                    return (*ways[here], *completion)
            for token in self._possible(here):
                after = self._moves.within(here, token)
                if after is None or after in ways:
                    continue
                ways[after] = (*ways[here], token)
                rest = self._found.get(after, () if self._ends(after) else None)
                if rest is not None:
                    return (*ways[after], *rest)
                group = after.splits, after.kind, after.pending
                (others if group in groups else firsts).append(after)
                groups.add(group)
        self._found.update(dict.fromkeys(ways))
        return None

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
        begun = character_status(spelled) == "begun"
        possible = self._tokens.classes.pending(spelled) if begun else 1 << self._moves.completed(spelled)
        after = self._words.step(word, token) if possible & goal else None
        if after is None:
            return None
        if begun:
            rest = self._completion(after, spelled, goal)
            return None if rest is None else (token, *rest)
        return (token,) if self._words.may_end(after) else None

    def _possible(self, here: Hypothesis) -> Iterator[int]:
        """The tokens that can go on in the same word, those first after which the piece can end, and few before all."""
        if here.pending:
            classes = self._sets.possible_classes(here.splits, here.kind)
            if classes & self._tokens.classes.pending(here.pending):
                headed = self._tokens.headed
                yield from self._vocabulary.ids[headed[self._words.allowed(here.word)[headed]]].tolist()
            return
        yield from self._candidates(here.splits)
        allowed = self._words.allowed(here.word)
        ending, going_on = self._groups(here.splits)
        yield from self._vocabulary.ids[ending[self._tokens.group] & allowed].tolist()
        yield from self._vocabulary.ids[going_on[self._tokens.group] & allowed & self._tokens.without_head].tolist()

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
        order = np.argsort(self._vocabulary.length, kind="stable")
        order = order[self._tokens.without_head[order] & (self._tokens.group[order] > 0)]
        for group, token in zip(self._tokens.group[order].tolist(), self._vocabulary.ids[order].tolist(), strict=True):
            members[group].append(token)
        return {group: tokens[:: len(tokens) // 6 + 1] for group, tokens in members.items()}
