"""The probability of a text that grows byte by byte: covers of every prefix are kept, and only new contexts evaluated.

Contexts are evaluated when a probability needs them. A text that is appended at once takes passes of up to 256
contexts, and those that no cover of the whole text goes through are never evaluated: with BPE about one goes through
the model for each token, not for each byte. The logits of a pass become sums of probabilities at once, so memory stays
flat.

Several texts can share a tree, with what they have in common evaluated once and the new contexts of all in one pass:
`copy` and `evaluate`.

This is the way of the follow-up work "Exact Byte-Level Probabilities from Tokenized Language Models", exact here also
for pre-tokenizers that look ahead.
"""

from collections.abc import Sequence
from copy import copy
from math import expm1, inf, log1p, nan

import numpy as np

from tokenlab.core.errors import ParameterError
from tokenlab.exact.covers import (
    Context,
    Cover,
    Covers,
    Evaluator,
    conditional,
    log_branches,
    log_masses,
    log_sum,
    unknown_byte,
)
from tokenlab.exact.interface import Cost, NextBytes, TextProbability, TokenAutomaton, TokenModel
from tokenlab.exact.options import DEFAULT, ExactOptions

_DROPPED = 16
"""Covers dropped between two requests to the tree to forget nodes."""


class Incremental:
    """A text that grows byte by byte, and its probability under a tokenized model.

    All probabilities are conditional on the bytes that the tokenizer puts before every text. With `prune`, contexts
    with a smaller share of the probability of the text are dropped after each byte.

    Attributes:
        evaluator: the tree of the model; texts made with the same one share it.

    Raises what the model raises; whether it fits the vocabulary is checked by `CharacterModel`.
    """

    def __init__(
        self,
        model: TokenModel,
        automaton: TokenAutomaton,
        options: ExactOptions = DEFAULT,
        *,
        evaluator: Evaluator | None = None,
    ) -> None:
        self.options = options
        self.evaluator = evaluator or Evaluator(model, automaton, truncate=options.truncate)
        self._covers = Covers(automaton, self.evaluator.root, max_contexts=options.max_contexts)
        self._prefix = automaton.prefix
        self._kept = 0.0
        self._dropped = 0
        self._reported = evaluator.cost() if evaluator else Cost()
        self.evaluator.users.add(self._covers)
        if self.evaluator.root.number is not None:
            self._covers.covers[0].take(self.evaluator.root_distribution())
        for byte in self._prefix:
            self._covers.advance(byte)

    @property
    def text(self) -> bytes:
        """The text so far, without the prefix."""
        return bytes(self._covers.text[len(self._prefix) :])

    @property
    def pruned(self) -> float:
        """Share of the probability of the text that pruning dropped, if what was dropped had gone on as the rest."""
        return -expm1(self._kept) or 0.0

    @property
    def covers(self) -> list[Cover]:
        """The contexts that cover the text, with their tokens."""
        return self._covers.covers

    def copy(self) -> "Incremental":
        """The same text, to grow apart; the tree of the model is shared."""
        other = copy(self)
        other._covers = self._covers.copy()
        other._reported = self.evaluator.cost()
        self.evaluator.users.add(other._covers)
        return other

    def advance(self, byte: int) -> None:
        """Append a byte.

        Raises InputError for a byte that no token has, ParameterError where there are more contexts than max_contexts
        or where pruning has left none.
        """
        if self.options.prune:
            self.evaluator.evaluate(self.wanted())
        before = len(self._covers.covers)
        self._covers.advance(byte)
        if not self._covers.covers and not self.evaluator.automaton.vocabulary.has_byte[byte]:
            raise unknown_byte(byte, len(self._covers.text) - len(self._prefix))
        if not self._covers.covers and self._kept:
            raise ParameterError(
                f"pruning dropped all contexts that go on as the text at byte {len(self.text)}; set a smaller prune"
            )
        if self.options.prune:
            self._prune()
        self._covers.check()
        self._dropped += max(before + 1 - len(self._covers.covers), 0)

    def extend(self, text: bytes) -> None:
        """Append bytes. Raises what `advance` raises."""
        for byte in text:
            self.advance(byte)

    def next_bytes(self) -> NextBytes:
        """The distribution of the byte that follows; NaN where the text has probability zero."""
        evaluate([self])
        evaluator, covers = self.evaluator, self._covers
        log_bytes = log_branches(evaluator.automaton.vocabulary, covers)
        log_end, log_text = evaluator.log_end(covers), evaluator.log_mass(covers)
        return conditional(log_bytes, log_end, log_text, self.pruned, self.take_cost())

    def log_probability(self) -> float:
        """log P(x...) in nats; -inf for texts without probability. Less than that by what was pruned."""
        self.evaluator.evaluate(self.wanted(beyond=False))
        return self.evaluator.log_mass(self._covers) - self.evaluator.log_prefix()

    def log_end(self) -> float:
        """log P(the text ends here | text); NaN where the text has probability zero."""
        evaluate([self])
        text = self.evaluator.log_mass(self._covers)
        return self.evaluator.log_end(self._covers) - (text if text > -inf else nan)

    def probability(self) -> TextProbability:
        """The probability that a text starts with this one, and that it ends here."""
        evaluate([self])
        return TextProbability(self.log_probability(), self.log_end(), self.pruned, self.take_cost())

    def take_cost(self) -> Cost:
        """What the tree took since this was asked last. Texts that share a tree share what it takes."""
        before, self._reported = self._reported, self.evaluator.cost()
        return self._reported - before

    def wanted(self, *, beyond: bool = True) -> list[Context]:
        """The contexts whose distributions the probability of the text needs, and also that of what is beyond it."""
        length = len(self._covers.text)
        contexts = [cover.context for cover in self._covers.covers]
        if beyond:
            return contexts
        return [context if context.length < length else context.parent or context for context in contexts]

    def forget(self) -> None:
        """Let the tree of the model forget the nodes that no text needs, where they have become many."""
        if self._dropped >= _DROPPED:
            self.evaluator.forget()
            self._dropped = 0

    def _prune(self) -> None:
        """Drop the covers with a share of the probability below `prune`, but for the most probable one."""
        self.evaluator.evaluate(self.wanted(beyond=False))
        masses = np.array(log_masses(self._covers))
        total = log_sum(masses)
        if total == -inf:
            return
        shares = np.exp(masses - total)
        kept = (shares >= self.options.prune) | (shares == shares.max())
        self._kept += log1p(-float(shares[~kept].sum()))
        self._covers.covers = [cover for cover, keep in zip(self._covers.covers, kept, strict=True) if keep]


def evaluate(texts: Sequence[Incremental]) -> None:
    """Evaluate what the next bytes of several texts need, in one pass for all texts that share a tree."""
    by_tree: dict[int, list[Incremental]] = {}
    for text in texts:
        by_tree.setdefault(id(text.evaluator), []).append(text)
    for same in by_tree.values():
        same[0].evaluator.evaluate([context for text in same for context in text.wanted()])
        for text in same:
            text.forget()
