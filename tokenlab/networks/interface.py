"""The interface of networks: passages of documents in, the information of each symbol out."""

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tokenlab.networks.options import Shape


class CodedPassage(NamedTuple):
    """A document, or a part of a long one, as symbols grouped into patches; nothing in a network crosses from one
    passage to another."""

    ids: NDArray[np.int32]
    """int32[symbols]: tokens, bytes, or the symbols of all patches end to end, markers included."""
    starts: NDArray[np.int32]
    """int32[patches]: offset in `ids` of each patch's first symbol; 0 first. For networks without given patches, empty.
    """
    size: int
    """Bytes of UTF-8, by which bits are divided."""


NO_STARTS = np.empty(0, np.int32)
"""Of a passage for a network without given patches."""


class Batch(Protocol):
    """Pieces as tensors; made by a network's `collate`, on the CPU."""

    @property
    def size(self) -> int:
        """Bytes of all passages."""
        ...

    @property
    def symbols(self) -> int:
        """Symbols of all passages; every one is predicted."""
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
    """Scores of all symbols of a batch, in the order of the passages' ids."""

    nats: Tensor
    """float32[symbols]: minus the log-probability of each symbol, in nats."""
    best: Tensor
    """bool[symbols]: whether the symbol is the most probable one (of equals, the first)."""


B = TypeVar("B", bound=Batch)


class Network(nn.Module, Generic[B]):
    """A language model over symbols. No passage depends on another passage of its batch.

    Nobody predicts the end of a passage; every passage starts from a learned start vector.
    """

    shape: Shape

    def collate(self, rows: Sequence[Sequence[CodedPassage]]) -> B:
        """The passages of some rows as one batch, in their order.

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
