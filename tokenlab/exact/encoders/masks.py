"""Masks of allowed tokens: kept for the states used last, and those of texts without an end."""

from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.vocabulary import Vocabulary

_ROOM = 1 << 26
"""Bytes of packed masks kept: 10,000 states of a vocabulary of 50,000 tokens."""


class Masks:
    """The masks of the states used last, as packed bits. `get` computes a mask that is not there.

    compute: from a state to bool[size].
    """

    def __init__(self, size: int, compute: Callable[[Hashable], NDArray[np.bool_]]) -> None:
        self._size = size
        kept = lru_cache(max(16, _ROOM // (size // 8 + 200)))
        self._packed = kept(lambda state: np.packbits(compute(state)))

    def get(self, state: Hashable) -> NDArray[np.bool_]:
        """bool[size], read-only."""
        mask = np.unpackbits(self._packed(state), count=self._size).view(bool)
        mask.flags.writeable = False
        return mask


class Endless:
    """The states of an automaton from which there is an endless path: of texts without an end, only these are live.

    A valid encoding can be dead: no text without end begins with `BA|A` of section 4. Searched depth first when a state
    is first met, each state once: an endless path exists where a path comes back to a state on it. Meant for small
    vocabularies: the first mask of a state steps to each of its successors.

    step, allowed: as of a `TokenAutomaton` with ends.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        step: Callable[[Hashable, int], Hashable | None],
        allowed: Callable[[Hashable], NDArray[np.bool_]],
    ) -> None:
        self._ids, self._step, self._allowed = vocabulary.ids.tolist(), step, allowed
        self._live: dict[Hashable, bool] = {}
        self._masks = Masks(len(vocabulary), self._endless)

    def step(self, state: Hashable, token: int) -> Hashable | None:
        """The state after one more token, None where no endless text's encoding goes on so."""
        after = self._step(state, token)
        return after if after is not None and self._is_live(after) else None

    def allowed(self, state: Hashable) -> NDArray[np.bool_]:
        """bool[positions]: tokens after which there is an endless path. Read-only."""
        return self._masks.get(state)

    def _endless(self, state: Hashable) -> NDArray[np.bool_]:
        mask = self._allowed(state).copy()
        for position in np.flatnonzero(mask):
            mask[position] = self.step(state, self._ids[position]) is not None
        return mask

    def _is_live(self, state: Hashable) -> bool:
        """Whether an endless path begins at a state."""
        if state in self._live:
            return self._live[state]
        path, ways = {state: None}, [self._successors(state)]
        while ways:
            after = next(ways[-1], None)
            if after is None:
                ways.pop()
                self._live[path.popitem()[0]] = False
                continue
            if after in path or self._live.get(after, False):
                self._live.update(dict.fromkeys(path, True))
                return True
            if after not in self._live:
                path[after] = None
                ways.append(self._successors(after))
        return False

    def _successors(self, state: Hashable) -> Iterator[Hashable]:
        for position in np.flatnonzero(self._allowed(state)):
            after = self._step(state, self._ids[position])
            if after is not None:
                yield after
