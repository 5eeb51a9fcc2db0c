"""The interface of patchers: bytes in, boundaries of patches out."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Starts = NDArray[np.int64]
"""int64[patches]: the offsets of the first bytes of patches, ascending; the first is 0. Empty for an empty text."""


class CausalStream(Protocol):
    """The boundaries of one text that arrives in parts; all starts of all calls are those of the whole text.

    They follow from the bytes before them, as generation needs.
    """

    def feed(self, data: bytes) -> list[int]:
        """Starts that are certain now and were not before, as offsets in the whole text."""
        ...

    def finish(self) -> list[int]:
        """The remaining starts, once the text has ended."""
        ...

    def begins_next(self) -> bool:
        """Whether the next byte, whatever it is, begins a patch."""
        ...


class Patcher(Protocol):
    """A way to cut text into patches. Texts are documents: no patch depends on another text.

    Patchers that are not `causal` need the marker in models.
    """

    causal: bool

    def starts(self, texts: Sequence[bytes]) -> list[Starts]:
        """The patches of each text. Raises InputError for a text that cannot be cut (tokenizers may change a text)."""
        ...


class CausalPatcher(Patcher, Protocol):
    """A patcher whose boundaries follow from the bytes before them: space, entropy, character and fixed."""

    def stream(self) -> CausalStream:
        """A new stream."""
        ...
