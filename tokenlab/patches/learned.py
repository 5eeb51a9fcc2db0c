"""Patches that are the chunks of a model that learns its own (H-Net, Hwang et al. 2025)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.networks.interface import NO_STARTS, CodedPassage
from tokenlab.patches.interface import Starts

if TYPE_CHECKING:
    from tokenlab.networks.chunk_network import ChunkNetwork

_LONGEST_CHARACTER = 4


class LearnedPatcher:
    """The patcher of a model of learned chunks.

    A text is read in pieces of at most `context` bytes, cut between characters, as in training; each begins a patch. A
    piece goes through the network alone, so that its patches depend on nothing else, not even by rounding. Whether a
    byte begins a patch depends on that byte, so the patcher is not causal.

    Attributes:
        network: the model.
        context: bytes of the pieces on which it was trained, at least 4.
    """

    causal = False

    def __init__(self, network: "ChunkNetwork", context: int) -> None:
        """Raises InputError for a network of another kind, ParameterError for a context below 4."""
        if not hasattr(network, "boundaries"):
            raise InputError("the model has no chunks of its own; name one that learned them")
        if context < _LONGEST_CHARACTER:
            raise ParameterError(f"context is {context}; a piece has at least 4 bytes, so that every character fits")
        self.network, self.context = network.eval(), context

    def starts(self, texts: Sequence[bytes]) -> list[Starts]:
        """The patches of each text."""
        return [np.array(self._whole(text), np.int64) for text in texts]

    def piece_starts(self, piece: bytes) -> list[int]:
        """The patches of a piece of at most `context` bytes."""
        ids = np.frombuffer(piece, np.uint8).astype(np.int32)
        device = next(self.network.parameters()).device
        with torch.no_grad():
            batch = self.network.collate([[CodedPassage(ids, NO_STARTS, len(piece))]]).to(device)
            return self.network.boundaries(batch).nonzero()[:, 0].tolist()

    def _whole(self, text: bytes) -> list[int]:
        """The patches of a text in pieces, cut as `tokenlab.language.cut_passages` cuts those of trainings."""
        starts: list[int] = []
        at = 0
        while at < len(text):
            end = min(at + self.context, len(text))
            while end < len(text) and text[end] & 0xC0 == 0x80 and end > at + self.context - _LONGEST_CHARACTER + 1:
                end -= 1
            starts += [at + start for start in self.piece_starts(text[at:end])]
            at = end
        return starts
