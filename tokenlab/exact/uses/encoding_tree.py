"""log P of the encodings of texts, read off a tree of contexts that is evaluated for another reason.

The encoding of a text is one of its covers, so most of its contexts are evaluated where P(text) is. The rows of logits
pass by here, and what the next token of an encoding needs is taken; the contexts that nobody evaluated come at the end.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.estimators.evaluation import NODES
from tokenlab.exact.interface import TokenModel


class EncodingTree:
    """A token model with one tree, which is itself that tree, and the encodings to score in it.

    Add the encodings before anything is evaluated. Probabilities are the model's own, by a softmax over all ids.
    """

    def __init__(self, model: TokenModel) -> None:
        self.size, self.end, self.limit = model.size, model.end, model.limit
        self.contexts = self.passes = self.tokens = 0
        self._tree = model.tree()
        self._nodes = 1
        self._children: list[dict[int, int]] = [{}]  # of each beginning of an encoding: token -> longer beginning
        self._parent, self._token = [-1], [-1]
        self._last: list[float] = [0.0]  # log P(last token | those before), in nats
        self._end: dict[int, float] = {}
        self._node_of: dict[int, int] = {}  # beginning -> node of the tree
        self._beginning_of = {0: 0}  # node of the tree -> beginning

    def tree(self) -> "EncodingTree":
        """Itself."""
        return self

    def root(self) -> NDArray[np.floating]:
        """[ids] logits of the first token."""
        logits = self._tree.root()
        self._count()
        self._take(0, 0, logits)
        return logits

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> NDArray[np.floating]:
        """float[nodes, ids] logits after new nodes; see ContextTree."""
        rows = self._tree.extend(parents, tokens)
        self._count()
        for parent, token, row in zip(parents, tokens, rows, strict=True):
            before = self._beginning_of.get(parent)
            beginning = None if before is None else self._children[before].get(token)
            if beginning is not None:
                self._beginning_of[self._nodes] = beginning
                self._take(beginning, self._nodes, row)
            self._nodes += 1
        return rows

    def keep(self, nodes: Sequence[int]) -> None:
        """Forget all nodes but these and their ancestors. `complete` must have been called before."""
        self._tree.keep(nodes)

    def add(self, tokens: Sequence[int]) -> list[int]:
        """Add an encoding. Returns: its beginnings, from that of one token to the whole."""
        at, path = 0, []
        for token in tokens:
            found = self._children[at].get(token)
            if found is None:
                found = self._children[at][token] = len(self._children)
                self._children.append({})
                self._parent.append(at)
                self._token.append(token)
                self._last.append(float("nan"))
            at = found
            path.append(at)
        self._end[at] = float("nan")
        return path

    def complete(self) -> None:
        """Evaluate the contexts of encodings that were not evaluated."""
        if 0 not in self._node_of:
            self.root()
        missing = [at for at in range(len(self._children)) if at not in self._node_of and self._asked(at)]
        for start in range(0, len(missing), NODES):
            chunk = missing[start : start + NODES]  # parents come before their children
            number = {at: self._nodes + place for place, at in enumerate(chunk)}
            parents = [number.get(self._parent[at], self._node_of.get(self._parent[at], -1)) for at in chunk]
            self.extend(parents, [self._token[at] for at in chunk])

    def log_probability(self, path: Sequence[int], first: int = 0) -> tuple[float, float]:
        """log P of the tokens of an encoding from number `first` on, given those before, and log P(EOS) after them.

        -inf and NaN where a context has probability zero; NaN for a model without EOS.
        """
        found = sum((self._last[beginning] for beginning in path[first:]), 0.0)
        return (found, self._end[path[-1] if path else 0]) if found > -np.inf else (-np.inf, float("nan"))

    def _count(self) -> None:
        self.contexts, self.passes, self.tokens = self._tree.contexts, self._tree.passes, self._tree.tokens

    def _asked(self, beginning: int) -> bool:
        """Whether the distribution after a beginning is needed."""
        return bool(self._children[beginning]) or (beginning in self._end and self.end is not None)

    def _take(self, beginning: int, node: int, logits: NDArray[np.floating]) -> None:
        self._node_of[beginning] = node
        if not self._asked(beginning):
            return
        values = logits.astype(np.float64)
        highest = values.max()
        undefined = np.isnan(highest)
        total = np.nan if undefined else highest + np.log(np.exp(values - highest).sum())
        for token, child in self._children[beginning].items():
            self._last[child] = -np.inf if undefined else float(values[token] - total)
        if beginning in self._end and self.end is not None:
            self._end[beginning] = -np.inf if undefined else float(values[self.end] - total)
