"""Two or more models with different vocabularies as one, by their distributions of the next byte.

The models share no tokens, but all have P(byte | text) and P(end | text). They are combined in one of three ways:

- `product`: at every step, the product of P_i^w_i over the bytes and the end, renormalised (log-linear, a product of
  experts). The probability of a text is the product of these steps. It is not the product of the texts' probabilities
  renormalised over all texts, which nobody can sum.
- `mean`: at every step, the sum of w_i P_i, with the same weights at every step (linear).
- `mixture`: the text is by one of the models, by model i with probability w_i, so that P(x) is exactly the sum of
  w_i P_i(x). At each step the weights are the posterior w_i P_i(text) / P(text): a model that predicted the text so far
  well counts more (Bayesian averaging).

The result is a model of texts like any other: it is sampled, scored, and combined again.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.options import check_choice
from tokenlab.exact.character_model import next_characters
from tokenlab.exact.interface import ByteModel, Cost, NextBytes, NextCharacters, TextProbability
from tokenlab.exact.utf8 import as_bytes, unfinished

Rule = Literal["product", "mean", "mixture"]


class Combination:
    """Models combined into one, itself a `ByteModel`.

    Args:
        models: what is combined; each keeps its own tokenizer and options.
        rule: see the module.
        weights: positive. Of `mean` and `mixture` they are divided by their sum; of `product` they are exponents as
            they are. Default: equal weights with sum 1, so that `product` is the geometric mean.

    Raises ParameterError for no model, an unknown rule, and weights that do not fit.
    """

    def __init__(self, models: Sequence[ByteModel], rule: Rule = "product", weights: Sequence[float] | None = None):
        self.models = tuple(models)
        if not self.models:
            raise ParameterError("models is empty; give at least one model")
        check_choice("rule", rule, Rule)
        given = np.full(len(models), 1 / len(models)) if weights is None else np.array(weights, float)
        if given.shape != (len(models),):
            raise ParameterError(f"weights has {given.size} numbers for {len(models)} models; give one for each model")
        if not ((given > 0) & (given < np.inf)).all():
            raise ParameterError(f"weights is {given.tolist()}; every weight must be a number above 0")
        self.rule = rule
        self.weights: NDArray[np.float64] = given if rule == "product" else given / given.sum()
        self._last: tuple[bytes, NDArray[np.float64], NDArray[np.float64]] | None = None  # text, log P_i, distributions

    def next_byte(self, text: bytes | str) -> NextBytes:
        """The combined distribution of the byte after a text; it is normalised, so `total` is 0 up to rounding.

        Raises InputError where nothing is possible: the text has probability zero, or the models of a `product` allow
        no byte in common, and not the end either.
        """
        text = as_bytes(text)
        if self.rule == "product":
            log_p, pruned, cost = self._distributions(text)
            joined = (self.weights[:, None] * log_p).sum(0)
        elif self.rule == "mean":
            log_p, pruned, cost = self._distributions(text)
            joined = np.logaddexp.reduce(log_p + np.log(self.weights)[:, None])
        else:
            log_text, before = self._log_probabilities(text)
            log_p, pruned, cost = self._distributions(text, log_text > -np.inf)
            cost += before
            joined = np.logaddexp.reduce(log_p + (np.log(self.weights) + log_text)[:, None])
            self._last = text, log_text, log_p
        total = np.logaddexp.reduce(joined)
        if not total > -np.inf:
            raise InputError(f"the models have nothing in common that can follow {_shown(text)}; give another text")
        joined -= total
        return NextBytes(joined[:256], float(joined[256]), float(np.logaddexp.reduce(joined)), pruned, cost)

    def next_character(self, text: bytes | str, top: int | None = None) -> NextCharacters:
        """The most probable characters after a text, or all of them, in descending order."""
        data = as_bytes(text)
        begun = unfinished(data)
        before = data[: len(data) - len(begun)]
        return next_characters(lambda all: [self.next_byte(before + one) for one in all], begun, top)

    def log_probability(self, text: bytes | str) -> TextProbability:
        """The probability that a text starts with this one: the product of the distributions of its bytes.

        This holds for every rule; of `mixture` it equals the sum of w_i P_i(text).
        """
        text = as_bytes(text)
        log_probability, pruned, cost = 0.0, 0.0, Cost()
        for place, byte in enumerate(text):
            following = self.next_byte(text[:place])
            pruned, cost = max(pruned, following.pruned), cost + following.cost
            log_probability += float(following.log_probability[byte])
            if log_probability == -np.inf:
                return TextProbability(-np.inf, np.nan, pruned, cost)
        after = self.next_byte(text)
        return TextProbability(log_probability, after.end, max(pruned, after.pruned), cost + after.cost)

    def _distributions(
        self, text: bytes, possible: Sequence[bool] | NDArray[np.bool_] = ()
    ) -> tuple[NDArray[np.float64], float, Cost]:
        """[models, 257] each model's distribution over bytes and the end; -inf for models that are not `possible`."""
        log_p, pruned, cost = np.full((len(self.models), 257), -np.inf), 0.0, Cost()
        for place, model in enumerate(self.models):
            if len(possible) and not possible[place]:
                continue
            found = model.next_byte(text)
            log_p[place] = np.append(found.log_probability, found.end)
            if np.isnan(log_p[place]).any():
                raise InputError(f"model {place + 1} defines nothing after {_shown(text)}; use another estimator")
            pruned, cost = max(pruned, found.pruned), cost + found.cost
        return log_p, pruned, cost

    def _log_probabilities(self, text: bytes) -> tuple[NDArray[np.float64], Cost]:
        """[models] log P_i(text), from those of the text before it if this is one step on."""
        log_text, start, cost = np.zeros(len(self.models)), 0, Cost()
        if self._last is not None:
            last, log_last, log_p = self._last
            if text == last:
                return log_last, cost
            if text.startswith(last):
                start = len(last) + 1
                log_text = log_last + log_p[:, text[len(last)]]
        for place in range(start, len(text)):
            log_p, _, spent = self._distributions(text[:place], log_text > -np.inf)
            log_text, cost = log_text + log_p[:, text[place]], cost + spent
        if not (log_text > -np.inf).any():
            raise InputError(f"every model gives {_shown(text)} probability zero; give another text")
        return log_text, cost


def _shown(text: bytes) -> str:
    return repr(text[-30:].decode(errors="replace"))
