"""Every token string is an encoding of the text that it spells."""

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.vocabulary import Vocabulary


class EveryEncoding:
    """The automaton of `encodings: all`: one state, every token allowed, a text may end anywhere.

    encode: what `encode` does. prefix: bytes put before every text.
    """

    def __init__(self, vocabulary: Vocabulary, encode: Callable[[bytes], list[int]], prefix: bytes = b"") -> None:
        self.vocabulary, self.prefix, self.has_end = vocabulary, prefix, True
        self.encode = encode
        self._allowed = np.ones(len(vocabulary), bool)
        self._allowed.flags.writeable = False

    def start(self) -> Hashable:
        """The only state."""
        return ()

    def step(self, state: Hashable, token: int) -> Hashable | None:
        """The only state; None for a token that spells no text."""
        return None if self.vocabulary.tokens[token] is None else state

    def allowed(self, state: Hashable) -> NDArray[np.bool_]:
        """[len(vocabulary)] True throughout."""
        return self._allowed

    def may_end(self, state: Hashable) -> bool:
        """True."""
        return True
