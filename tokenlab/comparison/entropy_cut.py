"""The cut at the local maxima of predictive entropy (Entropy-Driven Pre-Tokenization, section 3.2), by a byte model.

The entropy of a character is that of its first byte, given the bytes of the line before it.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokenlab.patches.entropy_patcher import text_entropies
from tokenlab.segment.by_entropy import segment_by_entropy
from tokenlab.segment.options import BoundaryOptions
from tokenlab.segment.segmentation import Segmentation
from tokenlab.tokenizers.cuts import Cut, make_cut

if TYPE_CHECKING:
    from tokenlab.networks.token_network import TokenNetwork

_LINES = 512
"""Lines that are segmented at a time."""


class EntropySegmenter:
    """The segments of sentences. network: over bytes; context: bytes of its windows."""

    def __init__(self, network: "TokenNetwork", context: int) -> None:
        self._network, self._context = network, context

    def segment(self, sentences: Iterable[str], /) -> Iterator[Segmentation]:
        """As `tokenlab.tokenizers.cuts.Cutter.segment`."""
        remaining = iter(sentences)
        while lines := [*islice(remaining, _LINES)]:
            yield segment_by_entropy(lines, self._entropies(lines), BoundaryOptions("maxima"), "script")

    def _entropies(self, lines: list[str]) -> list[NDArray[np.float32]]:
        """float32[characters] of each line, in nats."""
        data = [line.encode() for line in lines]
        found = text_entropies(self._network, data, self._context)
        return [
            entropies[(np.frombuffer(text, np.uint8) & 0xC0) != 0x80]
            for entropies, text in zip(found, data, strict=True)
        ]


def entropy_cut(network: "TokenNetwork", context: int) -> Cut:
    """The cut `words` with the segments of a byte model in place of learned words, in all scripts without spaces."""
    return make_cut("words", ())._replace(name="entropy", cutter=EntropySegmenter(network, context))
