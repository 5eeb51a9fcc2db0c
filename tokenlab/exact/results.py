"""What the estimators return. All probabilities are natural logarithms (nats)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


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
