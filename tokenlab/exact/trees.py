"""Trees of contexts (`ContextTree`): over a cache in which each token has a slot (`CachedTree`), or evaluated as rows
without a cache, by PyTorch (`RowTree`)."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.interface import ContextTooLong

FIRST_SLOTS = 64
_COMPACT_ABOVE = 64  # slots
_LOGITS = 1 << 28  # of one pass over rows: 1 GiB in float32


class SlotCache(Protocol):
    """What a model keeps of the tokens that it has read, a slot each."""

    def evaluate(
        self, tokens: list[int], positions: NDArray[np.int64], seen: NDArray[np.bool_], *, last_only: bool
    ) -> NDArray[np.float32]:
        """Logits [tokens, ids] after new tokens, or [1, ids] after the last alone.

        The new tokens take the slots from `len(positions) - len(tokens)` on, also after a pass that failed.

        Args:
            positions: [slots] of all tokens, the new ones last.
            seen: [tokens, slots] what each new token sees.
        """
        ...

    def select(self, slots: NDArray[np.int64]) -> None:
        """Keep these slots, ascending, and number them anew from 0."""
        ...


class _Evaluated(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def start(self) -> tuple[int, ...]: ...
    @property
    def limit(self) -> int | None: ...


class CachedModel(_Evaluated, Protocol):
    """A model with a cache of slots."""

    def cache(self) -> SlotCache:
        """An empty one."""
        ...


class RowModel(_Evaluated, Protocol):
    """A model that evaluates rows."""

    def forward(self, ids: Sequence[Sequence[int]], **options: Any) -> Any:
        """Logits [rows, tokens, ids] of rows of equal length, a tensor of PyTorch."""
        ...


def check_ends(name: str, size: int, start: Sequence[int], end: int | None) -> None:
    """Raise InputError for a model without a start token, and for start and end tokens that it does not have."""
    if not start:
        raise InputError(
            f"{name}: no start token, so P(first token) is unknown; give it the BOS (or the EOS) after which it was "
            "trained to begin a text"
        )
    for what, id in [*(("start", token) for token in start), *([("end", end)] if end is not None else [])]:
        if not 0 <= id < size:
            raise InputError(f"{name}: {what} token {id} is not among its {size} ids; check the id")


class CachedTree:
    """A context tree in one cache of keys and values."""

    def __init__(self, model: CachedModel) -> None:
        self.contexts = self.passes = self.tokens = 0
        self._model = model
        self._slots, self._cache = _Slots(), model.cache()
        self._slot: dict[int, int] = {}  # of each node that is kept
        self._nodes = 1
        self._root: NDArray[np.float32] | None = None

    def root(self) -> NDArray[np.floating]:
        """[ids] logits of the first token."""
        if self._root is None:
            start = self._model.start
            self._root = self._evaluate([-1, *range(len(start) - 1)], list(start), last_only=True)[0]
            self._slot[0] = len(start) - 1
            self.contexts = 1
        return self._root

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> NDArray[np.floating]:
        """float32[nodes, ids] logits after each new node, by one pass; see ContextTree."""
        _check_nodes(parents, tokens, self._nodes, self._model.size)
        if not len(parents):
            return np.empty((0, self._model.size), np.float32)
        self.root()
        shift = self._slots.used - self._nodes  # from the number of a new node to its slot
        if forgotten := {parent for parent in parents if parent < self._nodes} - self._slot.keys():
            raise ValueError(f"node {min(forgotten)} was forgotten")
        slots = [parent + shift if parent >= self._nodes else self._slot[parent] for parent in parents]
        logits = self._evaluate(slots, list(tokens))
        new = range(self._nodes, self._nodes + len(parents))
        self._slot.update((node, node + shift) for node in new)
        self._nodes = new.stop
        self.contexts += len(new)
        return logits

    def keep(self, nodes: Sequence[int]) -> None:
        """Forget all nodes but these and their ancestors; compacts the cache when less than half of it is alive."""
        if self._root is None:
            return
        alive = self._slots.visible_from([*{self._slot[node] for node in nodes}, self._slot[0]])
        self._slot = {node: slot for node, slot in self._slot.items() if alive[slot]}
        if self._slots.used > max(_COMPACT_ABOVE, 2 * int(alive.sum())):
            kept = np.flatnonzero(alive)
            self._slots.select(kept)
            self._cache.select(kept)
            number = np.cumsum(alive) - 1
            self._slot = {node: int(number[slot]) for node, slot in self._slot.items()}

    def _evaluate(self, parents: list[int], tokens: list[int], *, last_only: bool = False) -> NDArray[np.float32]:
        seen = self._slots.append(parents)
        positions = self._slots.positions
        try:
            _check_depth(self._model, int(positions[-len(parents) :].max()) + 1 - len(self._model.start))
            logits = self._cache.evaluate(tokens, positions, seen, last_only=last_only)
        except BaseException:
            self._slots.used -= len(parents)
            raise
        self.passes += 1
        self.tokens += len(tokens)
        return logits


class RowTree:
    """A context tree without a cache: a pass evaluates the longest new paths as rows, padded on the right.

    More than one pass where the logits of all positions would fill the memory.
    """

    def __init__(self, model: RowModel) -> None:
        self.contexts = self.passes = self.tokens = 0
        self._model = model
        self._paths: dict[int, tuple[int, ...]] = {0: model.start}
        self._nodes = 1
        self._root: NDArray[np.float32] | None = None

    def root(self) -> NDArray[np.floating]:
        """[ids] logits of the first token."""
        if self._root is None:
            self._root = self._evaluate([self._model.start])[0]
        return self._root

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> NDArray[np.floating]:
        """float32[nodes, ids] logits after each new node, by one pass; see ContextTree."""
        _check_nodes(parents, tokens, self._nodes, self._model.size)
        if not len(parents):
            return np.empty((0, self._model.size), np.float32)
        paths = dict(self._paths)
        for node, (parent, token) in enumerate(zip(parents, tokens, strict=True), self._nodes):
            paths[node] = (*paths[parent], token)
        new = [paths[node] for node in range(self._nodes, self._nodes + len(parents))]
        _check_depth(self._model, max(map(len, new)) - len(self._model.start))
        logits = self._evaluate(new)
        self._paths, self._nodes = paths, self._nodes + len(parents)
        return logits

    def keep(self, nodes: Sequence[int]) -> None:
        """Forget all nodes but these and their ancestors."""
        kept = {self._paths[node][:length] for node in nodes for length in range(1, len(self._paths[node]) + 1)}
        self._paths = {node: path for node, path in self._paths.items() if not node or path in kept}

    def _evaluate(self, contexts: list[tuple[int, ...]]) -> NDArray[np.float32]:
        """Logits after each context. What follows in a row changes nothing in a causal model, so rows need no mask."""
        rows = _longest(contexts)
        places = [(next(i for i, row in enumerate(rows) if row[: len(c)] == c), len(c) - 1) for c in contexts]
        found = np.empty((len(contexts), self._model.size), np.float32)
        width = max(map(len, rows))
        step = max(1, _LOGITS // (width * self._model.size))
        for first in range(0, len(rows), step):
            chunk = rows[first : first + step]
            logits = self._model.forward([[*row, *[0] * (width - len(row))] for row in chunk], use_cache=False)
            self.passes += 1
            for i, (row, last) in enumerate(places):
                if first <= row < first + step:
                    found[i] = logits[row - first, last].float().cpu().numpy()
        self.tokens += sum(map(len, rows))
        self.contexts += len(contexts)
        return found


class _Slots:
    """The slots of a tree: which are visible from each, and how deep each is."""

    def __init__(self) -> None:
        self.used = 0
        self._paths = np.zeros((FIRST_SLOTS, FIRST_SLOTS), np.bool_)  # [slot, slot] ancestors and itself
        self._depth = np.zeros(FIRST_SLOTS, np.int64)  # tokens before it

    @property
    def positions(self) -> NDArray[np.int64]:
        """int64[slots in use]: the number of tokens before each on its path."""
        return self._depth[: self.used]

    def append(self, parents: Sequence[int]) -> NDArray[np.bool_]:
        """Take a slot for each new node; a parent is a slot, possibly of the same call, or -1.

        Returns: bool[new, slots] what each new node sees: its ancestors and itself.
        """
        first, self.used = self.used, self.used + len(parents)
        self._reserve()
        paths, depth = self._paths, self._depth
        for slot, parent in enumerate(parents, first):
            if parent >= 0:
                paths[slot, :slot] = paths[parent, :slot]
                depth[slot] = depth[parent] + 1
            else:
                paths[slot, :slot] = False
                depth[slot] = 0
            paths[slot, slot:] = False
            paths[slot, slot] = True
        return paths[first : self.used, : self.used].copy()

    def visible_from(self, slots: Sequence[int]) -> NDArray[np.bool_]:
        """bool[slots in use]: the union of the paths to these slots."""
        return np.logical_or.reduce(self._paths[np.asarray(slots, np.int64), : self.used], axis=0)

    def select(self, slots: NDArray[np.int64]) -> None:
        """Keep these slots, ascending, and number them anew from 0."""
        self.used = len(slots)
        self._paths[: self.used, : self.used] = self._paths[np.ix_(slots, slots)]
        self._depth[: self.used] = self._depth[slots]

    def _reserve(self) -> None:
        slots = len(self._depth)
        if self.used > slots:
            larger = max(2 * slots, self.used)
            paths, depth = np.zeros((larger, larger), np.bool_), np.zeros(larger, np.int64)
            paths[:slots, :slots], depth[:slots] = self._paths, self._depth
            self._paths, self._depth = paths, depth


def _check_nodes(parents: Sequence[int], tokens: Sequence[int], nodes: int, size: int) -> None:
    if len(parents) != len(tokens):
        raise ValueError(f"{len(parents)} parents but {len(tokens)} tokens")
    for node, (parent, token) in enumerate(zip(parents, tokens, strict=True), nodes):
        if not 0 <= parent < node:
            raise ValueError(f"node {node}: its parent {parent} does not exist")
        if not 0 <= token < size:
            raise InputError(f"token {token} is not among the model's {size} ids; use the model's own tokenizer")


def _longest(contexts: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The contexts that begin no other."""
    rows: list[tuple[int, ...]] = []
    for context in sorted(set(contexts), reverse=True):  # what begins with a context comes right before it
        if not rows or rows[-1][: len(context)] != context:
            rows.append(context)
    return rows


def _check_depth(model: _Evaluated, depth: int) -> None:
    """Raise ContextTooLong for a context of so many tokens below the root."""
    if model.limit is not None and depth > model.limit:
        raise ContextTooLong(
            f"{model.name}: a context of {depth + len(model.start)} tokens, but it has positions for "
            f"{model.limit + len(model.start)}; shorten the text or begin it later"
        )
