"""The interface of networks: pieces of documents in, the information of each symbol out."""

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from tokenlab.networks.options import Shape
from tokenlab.networks.pieces import Piece


class Batch(Protocol):
    """Pieces as tensors; made by a network's `collate`, on the CPU."""

    @property
    def size(self) -> int:
        """Bytes of all pieces."""
        ...

    @property
    def symbols(self) -> int:
        """Symbols of all pieces; every one is predicted."""
        ...

    def to(self, device: torch.device | str) -> Self:
        """The same batch on a device."""
        ...


class Loss(NamedTuple):
    """Losses of a batch; the sum of both is what training minimises, divided by what it counts."""

    nats: Tensor
    """float32 scalar: minus the log-probability of all symbols, in nats."""
    extra: Tensor
    """float32 scalar: further losses with their weights, such as that of the ratio of chunks; 0 for most networks. Its
    scale is that of `nats`: a sum over the symbols."""


class Scores(NamedTuple):
    """Scores of all symbols of a batch, in the order of the pieces' ids."""

    nats: Tensor
    """float32[symbols]: minus the log-probability of each symbol, in nats."""
    best: Tensor
    """bool[symbols]: whether the symbol is the most probable one (of equals, the first)."""


B = TypeVar("B", bound=Batch)


class Network(nn.Module, Generic[B]):
    """A language model over symbols. No piece depends on another piece of its batch.

    Nobody predicts the end of a piece; every piece starts from a learned start vector.
    """

    shape: Shape

    def collate(self, rows: Sequence[Sequence[Piece]]) -> B:
        """The pieces of some rows as one batch, in their order.

        Raises InputError for a batch without symbols, ids out of range, and starts that do not cut the ids.
        """
        raise NotImplementedError

    def forward(self, batch: B) -> Loss:
        """The losses of a batch, summed over its symbols."""
        raise NotImplementedError

    def symbol_scores(self, batch: B) -> Scores:
        """The score of each symbol; without gradients."""
        raise NotImplementedError

    def symbol_nats(self, batch: B) -> Tensor:
        """float32[symbols]: minus the log-probability of each symbol, in nats; without gradients."""
        return self.symbol_scores(batch).nats


AnyNetwork = Network[Any]
