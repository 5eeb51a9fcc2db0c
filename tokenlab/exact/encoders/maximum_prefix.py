"""Maximum prefix encoding: the longest token that the rest of the text begins with, again and again.

Section 2 of the paper; the rule of WordPiece. A token is right only if the text that follows never spells a longer
token from where it begins. So what may follow is decided by the *pending* texts: what is spelled from the beginning of
a token on, as long as a longer token begins with it.
"""

from collections import Counter
from collections.abc import Hashable, Set

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.encoders.masks import Endless, Masks
from tokenlab.exact.vocabulary import Vocabulary

_SHOWN = 5


class MaximumPrefix:
    """The encodings of maximum prefix encoding. Of ids with equal bytes the first is produced.

    A state is the tuple of its pending texts, sorted. has_end: whether texts end; without an end only sequences that
    can be continued for ever are live.

    Raises InputError where a character of the tokens is no token itself: texts with it could not be encoded. A token
    may also be made of bytes that are tokens.
    """

    def __init__(self, vocabulary: Vocabulary, *, has_end: bool = True) -> None:
        self.vocabulary, self.prefix, self.has_end = vocabulary, b"", has_end
        spelled = [vocabulary.spelling(position) for position in range(len(vocabulary))]
        self._first = np.array([i == 0 or spelled[i - 1] != token for i, token in enumerate(spelled)])
        self._id = {spelled[i]: int(vocabulary.ids[i]) for i in np.flatnonzero(self._first)}
        _check_alphabet(self._id.keys())
        self._masks = Masks(len(vocabulary), self._allowed)
        self._endless = None if has_end else Endless(vocabulary, self._step, self._masks.get)

    def start(self) -> Hashable:
        """Nothing is pending."""
        return ()

    def step(self, state: Hashable, token: int) -> Hashable | None:
        """The pending texts after a token, None where one becomes a token, or the token is never produced."""
        return self._step(state, token) if self._endless is None else self._endless.step(state, token)

    def allowed(self, state: Hashable) -> NDArray[np.bool_]:
        """[len(vocabulary)] by position: the tokens that complete no pending text. Read-only."""
        return self._masks.get(state) if self._endless is None else self._endless.allowed(state)

    def may_end(self, state: Hashable) -> bool:
        """True where texts end."""
        return self.has_end

    def encode(self, text: bytes) -> list[int]:
        """Tokens by longest match from left to right. Raises InputError where no token matches."""
        tokens, at = self.encode_beginning(text)
        if at < len(text):
            shown = text[at : at + 4].decode(errors="replace")[0]
            raise InputError(f"no token begins the text at byte {at} ({shown!r}); it is not in the alphabet")
        return tokens

    def encode_beginning(self, text: bytes) -> tuple[list[int], int]:
        """Tokens by longest match from left to right up to where no token matches, and the number of their bytes."""
        tokens, at = [], 0
        while at < len(text):
            longest = min(len(text), at + self.vocabulary.longest)
            end = next((end for end in range(longest, at, -1) if text[at:end] in self._id), at)
            if end == at:
                break
            tokens.append(self._id[text[at:end]])
            at = end
        return tokens, at

    def _step(self, state: Hashable, token: int) -> Hashable | None:
        assert isinstance(state, tuple)
        text = self.vocabulary.tokens[token]
        if text is None or self._id[text] != token:
            return None
        pending = {text} if self._is_pending(text) else set()
        for begun in state:
            if any(begun + text[:length] in self._id for length in range(1, len(text) + 1)):
                return None
            if self._is_pending(begun + text):
                pending.add(begun + text)
        return tuple(sorted(pending))

    def _is_pending(self, text: bytes) -> bool:
        """Whether a longer token begins with a text."""
        low, high = self.vocabulary.beginning_with(text)
        return high > low and len(self.vocabulary.spelling(high - 1)) > len(text)

    def _allowed(self, state: Hashable) -> NDArray[np.bool_]:
        assert isinstance(state, tuple)
        mask = self._first.copy()
        for begun in state:
            low, high = self.vocabulary.beginning_with(begun)
            low = self.vocabulary.equal_to(begun, low, high)[1]
            while low < high:
                longer = self.vocabulary.spelling(low)
                blocked = self.vocabulary.beginning_with(longer[len(begun) :])
                mask[blocked[0] : blocked[1]] = False
                low = self.vocabulary.beginning_with(longer, low, high)[1]
        return mask


def _check_alphabet(tokens: Set[bytes]) -> None:
    """Raise InputError where a token is made neither of characters nor of bytes that are tokens."""
    missing: set[str] = set()
    for token in tokens:
        if all(token[i : i + 1] in tokens for i in range(len(token))):
            continue
        try:
            characters = [character.encode() for character in token.decode()]
        except UnicodeDecodeError:
            characters = [token[i : i + 1] for i in range(len(token))]
        missing |= {_shown(c) for c in characters if c not in tokens}
    if missing:
        names = sorted(missing)
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        raise InputError(f"the alphabet is not contained in the vocabulary: {shown}; add them as tokens")


def _shown(character: bytes) -> str:
    try:
        return repr(character.decode())
    except UnicodeDecodeError:
        return f"byte {character[0]:#04x}"


def anchors(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """V*: which tokens are a substring of no other token (section 3 of the paper).

    Returns: bool[ids]; False for ids that spell no text, and for ids with the bytes of another. With maximum prefix
    encoding nothing before such a token has an influence on what follows it.
    """
    ids_with = Counter(token for token in vocabulary.tokens if token is not None)
    inside = ids_with.keys() & (
        token[start:end]
        for token in ids_with
        for start in range(len(token))
        for end in range(start + 1, len(token) + (start > 0))
    )
    return np.array(
        [token is not None and ids_with[token] == 1 and token not in inside for token in vocabulary.tokens], bool
    )
