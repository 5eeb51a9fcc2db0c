"""What the parts give each other; all probabilities are natural logarithms (nats).

1. Encoders: which token sequences they produce (`TokenAutomaton`).
2. Models: the probability of the next token (`TokenModel`, `ContextTree`).
3. Estimators: the distribution of the next byte (`ByteModel`), and what they return.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.vocabulary import Vocabulary


class ContextTooLong(InputError):
    """A context has more tokens than the model has positions for."""


class TokenAutomaton(Protocol):
    """The token sequences with which encodings of texts begin, as states and steps.

    A sequence is *live* if some text's encoding begins with it (S(t) is not empty, section 2.1 of the paper). A state
    stands for all that decides which tokens may follow; states are hashable, equal states have equal futures.
    """

    vocabulary: Vocabulary
    prefix: bytes
    """Bytes put before every text, as the space of SentencePiece; usually empty."""
    has_end: bool
    """Whether texts end. False for endless sources, such as a Markov chain: a sequence is then live only if it can be
    continued for ever."""

    def start(self) -> Hashable:
        """The state before the first token."""
        ...

    def step(self, state: Hashable, token: int) -> Hashable | None:
        """The state after one more token (an id), or None where no text's encoding goes on so."""
        ...

    def allowed(self, state: Hashable) -> NDArray[np.bool_]:
        """[len(vocabulary)] by position: the tokens after which the sequence is still live. Do not change it."""
        ...

    def may_end(self, state: Hashable) -> bool:
        """Whether a text's encoding can end here: the tokens are the encoding of the text that they spell."""
        ...

    def encode(self, text: bytes) -> list[int]:
        """The encoding of a text. Raises InputError for a text that cannot be encoded."""
        ...


class ContextTree(Protocol):
    """Contexts (token sequences) evaluated by a model, as a tree whose nodes share what the model has cached.

    Node 0 is the root: the context before the first token of the text (the model's BOS). New nodes get consecutive
    numbers, in the order in which they are added.
    """

    contexts: int
    """Distinct contexts evaluated so far, the root included: the paper's model calls."""
    passes: int
    """Forward passes so far."""
    tokens: int
    """Tokens evaluated that no cache held."""

    def root(self) -> NDArray[np.floating]:
        """[ids] logits of the first token."""
        ...

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> NDArray[np.floating]:
        """Add a node for each pair of a parent and a token, in one pass; a parent may be a node of the same call.

        Returns: float[nodes, ids] logits of the token that follows; a row of NaN where the context has probability
        zero, so that nothing is defined after it. Raises ContextTooLong for a context longer than the model allows.
        """
        ...

    def keep(self, nodes: Sequence[int]) -> None:
        """Forget all nodes but these and their ancestors. Numbers stay what they are."""
        ...


class TokenModel(Protocol):
    """A language model over tokens."""

    size: int
    """Number of ids."""
    end: int | None
    """The id of EOS, None for a model that never ends a text."""
    limit: int | None
    """Longest context in tokens below the root, None for any."""

    def tree(self) -> ContextTree:
        """A new tree with nothing but its root."""
        ...


class Cost(NamedTuple):
    """What a result took."""

    contexts: int = 0
    """Distinct contexts evaluated: the paper's model calls."""
    passes: int = 0
    """Forward passes of the model."""
    tokens: int = 0
    """Tokens evaluated that no cache held."""
    undefined: int = 0
    """Contexts met that have probability zero."""

    def __add__(self, other: "Cost") -> "Cost":  # type: ignore[override]
        return Cost(*(a + b for a, b in zip(self, other, strict=True)))

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(*(a - b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True)
class NextBytes:
    """The distribution of the byte after a text. NaN throughout where it is undefined (naive, at an encoding of
    probability zero)."""

    log_probability: NDArray[np.float64]
    """[256] log P(byte | text); -inf for bytes that cannot follow"""
    end: float
    """log P(the text ends here | text)"""
    total: float
    """log of the sum over bytes and end: 0 up to rounding, below 0 without truncation"""
    pruned: float
    """share of the probability of the text that pruning dropped"""
    cost: Cost


@dataclass(frozen=True)
class NextCharacters:
    """The most probable characters after a text, or all of them, in descending order."""

    characters: tuple[str, ...]
    log_probability: NDArray[np.float64]
    """[characters] log P(character | text)"""
    end: float
    """log P(the text ends here | text)"""
    rest: float
    """log of what the characters and the end leave: other characters"""
    pruned: float
    cost: Cost


@dataclass(frozen=True)
class TextProbability:
    """The probability that a text starts with x."""

    log_probability: float
    """log P(x...); 0 for the empty text; NaN where undefined"""
    end: float
    """log P(the text ends after x | x)"""
    pruned: float
    cost: Cost


class ByteModel(Protocol):
    """A distribution of texts, byte by byte: a `CharacterModel`, or a combination of several.

    A text is str, or bytes where it may end inside a character. Asking about longer and longer texts is cheap.
    """

    def next_byte(self, text: bytes | str) -> NextBytes:
        """The distribution of the byte after a text."""
        ...

    def next_character(self, text: bytes | str, top: int | None = None) -> NextCharacters:
        """The `top` most probable characters after a text, or all of them."""
        ...

    def log_probability(self, text: bytes | str) -> TextProbability:
        """The probability that a text starts with this one, and that it ends after it."""
        ...
