"""Logits of a context to probabilities of its tokens, truncated and renormalised (appendix G of the paper)."""

from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.vocabulary import Vocabulary

_LEAST = 1e-100
"""Share of the live tokens below which their probabilities are computed apart."""


class TokenDistribution(NamedTuple):
    """What may follow a context."""

    tokens: NDArray[np.float64]
    """[len(vocabulary)] by position: probabilities of the tokens that spell text; 0 for tokens that are not live"""
    end: float
    """probability that the text ends here"""
    defined: bool
    """False after a context of probability zero: then all probabilities are 0"""


def token_distribution(
    logits: NDArray[np.floating],
    vocabulary: Vocabulary,
    end: int | None,
    *,
    allowed: NDArray[np.bool_] | None = None,
    truncate: bool = False,
) -> TokenDistribution:
    """Probabilities of the next token from logits, in float64.

    With `truncate` the softmax runs over the allowed tokens and the end alone: probabilities p / Z of appendix G,
    without the underflow of Z. Without it, it runs over all ids, and tokens that are not allowed get 0 afterwards.

    Args:
        logits: float[ids]; all NaN after a context of probability zero.
        end: the id of EOS, None where the text cannot end here.
        allowed: bool[len(vocabulary)] the tokens that are live, None for all.

    Raises InputError for logits of NaN beside numbers, or of infinity.
    """
    spelled = logits[vocabulary.ids]
    closing = float("-inf") if end is None else float(logits[end])
    highest = max(float(spelled.max()), closing) if truncate else float(logits.max())
    if not np.isfinite(highest):
        return _nothing(logits, highest, len(spelled))
    values = _exponentials(spelled, highest)
    if allowed is not None:
        # a product and not a mask of -inf before: numpy's exp is ten times as slow where a tenth are infinite
        values *= allowed
    if not truncate:
        total = float(_exponentials(logits, highest).sum())
        return TokenDistribution(values / total, exp(closing - highest) / total, True)
    total = float(values.sum()) + exp(closing - highest)
    if total < _LEAST and allowed is not None:
        # tokens that are not live have all the probability: the highest of the others keeps their digits
        highest = max(float(spelled[allowed].max(initial=-np.inf)), closing)
        if highest == -np.inf:
            return _nothing(logits, highest, len(spelled))
        values.fill(0)
        values[allowed] = _exponentials(spelled[allowed], highest)
        total = float(values.sum()) + exp(closing - highest)
    values /= total
    return TokenDistribution(values, exp(closing - highest) / total, True)


def _exponentials(logits: NDArray[np.floating], highest: float) -> NDArray[np.float64]:
    """exp(logits - highest) in float64."""
    values = np.subtract(logits, highest, dtype=np.float64)
    return np.exp(values, out=values)


def _nothing(logits: NDArray[np.floating], highest: float, size: int) -> TokenDistribution:
    """The distribution after a context that the model gives no probability, or whose live tokens it gives none."""
    if highest == np.inf or (np.isnan(highest) and not np.isnan(logits).all()):
        raise InputError("the model's logits have NaN or infinite values; check its weights and its number format")
    return TokenDistribution(np.zeros(size), 0.0, False)
