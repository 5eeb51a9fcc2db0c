"""What networks read: pieces of documents as symbols, grouped into patches."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Piece(NamedTuple):
    """A document, or a part of a long one; nothing in a network crosses from one piece to another."""

    ids: NDArray[np.int32]
    """int32[symbols]: tokens, bytes, or the symbols of all patches end to end, markers included."""
    starts: NDArray[np.int32]
    """int32[patches]: offset in `ids` of each patch's first symbol; 0 first. For networks without given patches, empty.
    """
    size: int
    """Bytes of UTF-8, by which bits are divided."""
