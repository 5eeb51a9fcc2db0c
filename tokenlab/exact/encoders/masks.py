"""Masks of allowed tokens, kept as packed bits for the states used last."""

from collections import OrderedDict
from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

_ROOM = 1 << 26
"""Bytes of packed masks kept: 10,000 states of a vocabulary of 50,000 tokens."""


class Masks:
    """The masks of the states used last. `get` computes a mask that is not there.

    compute: from a state to bool[size].
    """

    def __init__(self, size: int, compute: Callable[[Hashable], NDArray[np.bool_]]) -> None:
        self._size, self._compute = size, compute
        self._kept: OrderedDict[Hashable, NDArray[np.uint8]] = OrderedDict()
        self._most = max(16, _ROOM // (size // 8 + 200))

    def get(self, state: Hashable) -> NDArray[np.bool_]:
        """bool[size], read-only."""
        packed = self._kept.get(state)
        if packed is None:
            mask = self._compute(state)
            self._kept[state] = np.packbits(mask)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(state)
            mask = np.unpackbits(packed, count=self._size).view(bool)
        mask.flags.writeable = False
        return mask
