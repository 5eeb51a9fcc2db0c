"""Contexts evaluated by a model: those that are wanted and their ancestors, in few passes, each context once."""

from collections.abc import Iterable, Sequence
from typing import Protocol
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.estimators.covers import Context, Cover, Covers, unevaluated
from tokenlab.exact.estimators.distributions import TokenDistribution, token_distribution
from tokenlab.exact.estimators.sums import log_masses, log_product, log_sum
from tokenlab.exact.interface import TokenAutomaton, TokenModel
from tokenlab.exact.results import Cost

NODES = 256
"""Contexts of one pass. Their logits are in memory at once: 50 MB for 50,000 tokens in float32."""


class HoldsCovers(Protocol):
    """A text whose covers are still needed."""

    def open_covers(self) -> Iterable[Cover]: ...


class Evaluator:
    """One tree of contexts of a model, for one text or for several.

    Attributes:
        root: the context before the first token.
        users: the texts that go on from contexts of this tree; nodes that none of them needs can be forgotten.

    Raises InputError for a model that has fewer ids than the vocabulary.
    """

    def __init__(self, model: TokenModel, automaton: TokenAutomaton, *, truncate: bool, nodes: int = NODES) -> None:
        check_sizes(model, automaton)
        self.model, self.automaton, self.truncate, self.nodes = model, automaton, truncate, nodes
        self.tree = model.tree()
        self.root = Context(None, -1, -1, 0, automaton.start())
        self.users: WeakSet[HoldsCovers] = WeakSet()
        self._root: TokenDistribution | None = None
        self._log_prefix: float | None = None
        self._numbers = 1
        self._undefined = 0

    def cost(self) -> Cost:
        """What all evaluations so far took."""
        return Cost(self.tree.contexts, self.tree.passes, self.tree.tokens, self._undefined)

    def root_distribution(self) -> TokenDistribution:
        """The distribution of the first token."""
        if self._root is None:
            self._root = self._distribution(self.root, self.tree.root())
            self.root.evaluated(0, self._root)
        return self._root

    def log_prefix(self) -> float:
        """log of the probability that a text begins with the automaton's prefix, or ends before its first token.

        0 up to rounding for encodings that the tokenizer produces, truncated: all of them begin with the prefix.
        """
        prefix = self.automaton.prefix
        if not prefix:
            return 0.0
        if self._log_prefix is None:
            covers = Covers(self.automaton, self.root, max_contexts=len(self.automaton.vocabulary))
            covers.covers[0].take(self.root_distribution())
            for byte in prefix:
                covers.advance(byte)
            self.evaluate(cover.context.parent or cover.context for cover in covers.covers)
            self._log_prefix = log_sum([*log_masses(covers), log_product(self.root, self.root_distribution().end)])
        return self._log_prefix

    def evaluate(self, contexts: Iterable[Context]) -> None:
        """Evaluate the contexts, and their ancestors, that are not evaluated yet.

        Equal contexts of different texts are evaluated once. Raises InputError for contexts longer than the model
        allows.
        """
        wanted = unevaluated(contexts)
        if wanted and wanted[0] is self.root:
            self.root_distribution()
            wanted = wanted[1:]
        same = self._grouped(wanted)
        pairs = list(same)
        for start in range(0, len(pairs), self.nodes):
            chunk = pairs[start : start + self.nodes]
            logits = self.tree.extend([parent for parent, _ in chunk], [token for _, token in chunk])
            for pair, row in zip(chunk, logits, strict=True):
                distribution = self._distribution(same[pair][0], row)
                for context in same[pair]:
                    context.evaluated(self._numbers, distribution)
                self._numbers += 1

    def forget(self) -> None:
        """Forget the nodes of the tree that no text needs any more."""
        needed = {0}
        for user in list(self.users):
            for cover in user.open_covers():
                context: Context | None = cover.context
                while context is not None and context.number is None:
                    context = context.parent
                if context is not None and context.number is not None:
                    needed.add(context.number)
        self.tree.keep(sorted(needed))

    def _grouped(self, wanted: Sequence[Context]) -> dict[tuple[int, int], list[Context]]:
        """Group equal contexts under the number of their parent and their token, in the order of their numbers."""
        same: dict[tuple[int, int], list[Context]] = {}
        numbers: dict[int, int] = {}
        number_of: dict[tuple[int, int], int] = {}
        for context in wanted:
            parent = context.parent
            assert parent is not None
            pair = (numbers[id(parent)] if parent.number is None else parent.number, context.token)
            same.setdefault(pair, []).append(context)
            numbers[id(context)] = number_of.setdefault(pair, self._numbers + len(number_of))
        return same

    def _distribution(self, context: Context, logits: NDArray[np.floating]) -> TokenDistribution:
        end = self.model.end if self.automaton.may_end(context.state) else None
        allowed = self.automaton.allowed(context.state)
        distribution = token_distribution(
            logits, self.automaton.vocabulary, end, allowed=allowed, truncate=self.truncate
        )
        self._undefined += not distribution.defined
        return distribution


def check_sizes(model: TokenModel, automaton: TokenAutomaton) -> None:
    """Raise InputError for a vocabulary with ids that the model has not."""
    largest = int(automaton.vocabulary.ids.max())
    if largest >= model.size:
        raise InputError(
            f"the vocabulary has ids up to {largest} and the model only {model.size} of them; "
            "use the tokenizer that belongs to the model"
        )


def since(now: Cost, then: Cost) -> Cost:
    """What was taken between two counts."""
    return Cost(*(after - before for after, before in zip(now, then, strict=True)))
