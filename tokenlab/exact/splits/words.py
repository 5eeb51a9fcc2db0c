"""The automaton of the words, seen through the positions of a vocabulary that has the added tokens too."""

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.encoders.byte_pair import PairState
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.vocabulary import Vocabulary


class Words:
    """A word automaton over another vocabulary, of which its own is a part.

    An automaton can have two members beyond the protocol, which save time: `always_ends` (every live state may end),
    and `unfinished(state)`, the positions of the allowed tokens after which a word cannot end.
    """

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
        self._always_ends = bool(getattr(word, "always_ends", False))
        self._unfinished: dict[Hashable, NDArray[np.int64]] = {}
        same = len(word.vocabulary) == len(vocabulary) and bool(np.array_equal(word.vocabulary.ids, vocabulary.ids))
        self._places: NDArray[np.int64] | None = None
        if not same:
            place = np.full(len(vocabulary.tokens), -1, np.int64)
            place[vocabulary.ids] = np.arange(len(vocabulary))
            self._places = place[word.vocabulary.ids]

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
        """Whether a state says no more than that `token` was the last."""
        return state == PairState(token)

    def unfinished(self, state: Hashable) -> NDArray[np.int64]:
        """int64[] positions of the allowed tokens after which a word cannot end."""
        if self._always_ends or self.forgets(state):
            return np.zeros(0, np.int64)
        if hasattr(self._word, "unfinished"):
            own = np.asarray(self._word.unfinished(state), np.int64)
            return own if self._places is None else self._places[own]
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
