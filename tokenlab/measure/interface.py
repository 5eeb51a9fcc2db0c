"""The interface of everything that is measured: text in, tokens with their spans out."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Tokens(NamedTuple):
    """The tokens of one text, without the special tokens around it."""

    ids: NDArray[np.int32]
    """int32[tokens], from 0 to `TextTokenizer.ids` - 1."""
    spans: NDArray[np.int32] | None
    """int32[tokens, 2]: the characters [start, end) of the text that a token holds, wholly or in part; starts and ends
    do not descend. None where this is not known."""
    byte_tokens: int | None
    """Bytes of byte fallback, and other tokens that hold a part of a character; None where this is not known."""
    unknown_tokens: int | None
    """Tokens that stand for text which the vocabulary cannot spell."""


class TextTokenizer(Protocol):
    """A tokenizer as it is measured."""

    @property
    def vocabulary(self) -> int:
        """Nominal |V|: all entries, special and added tokens included."""

    @property
    def ids(self) -> int:
        """The largest id + 1; more than `vocabulary` where ids are left out."""

    def encode_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text. Raises InputError for a text that the tokenizer cannot encode."""
