"""A causal Transformer over tokens (the BPE baseline) or bytes (the character baseline)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tokenlab.networks.attention import Cache
from tokenlab.networks.batches import Layout, on_device, packed_passages, sequence_layout
from tokenlab.networks.blocks import Stack, matrix
from tokenlab.networks.interface import CodedPassage, Loss, Network, Scores
from tokenlab.networks.options import DEFAULT, Computation, TokenShape
from tokenlab.networks.output import output_nats, output_scores
from tokenlab.networks.products import linear


@dataclass(frozen=True)
class TokenBatch:
    """Pieces end to end; `inputs` are the symbols before the targets, the start vector first."""

    inputs: Tensor
    """int64[symbols]."""
    targets: Tensor
    """int64[symbols]."""
    passages: Layout
    size: int
    symbols: int

    def to(self, device: torch.device | str) -> Self:
        """The same batch on a device."""
        return on_device(self, device)


class TokenNetwork(Network[TokenBatch]):
    """Embedding, blocks, and an output layer tied to the embedding. The embedding's last row is the start vector."""

    shape: TokenShape

    def __init__(self, shape: TokenShape, computation: Computation = DEFAULT) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = matrix(shape.vocabulary + 1, shape.stack.width)
        self.stack = Stack(shape.stack, computation)

    def collate(self, rows: Sequence[Sequence[CodedPassage]]) -> TokenBatch:
        """See `Network.collate`; starts of patches are not looked at."""
        passages, ids = packed_passages(rows, self.shape.vocabulary)
        layout = sequence_layout(np.array([len(passage.ids) for passage in passages]))
        inputs = np.concatenate(([self.shape.vocabulary], ids[:-1]))
        inputs[layout.offsets[:-1].numpy()] = self.shape.vocabulary
        size = sum(passage.size for passage in passages)
        return TokenBatch(torch.from_numpy(inputs), torch.from_numpy(ids), layout, size, len(ids))

    def forward(self, batch: TokenBatch) -> Loss:
        """See `Network.forward`."""
        nats = output_nats(self._states(batch), self.embedding, batch.targets, self.shape.vocabulary)
        return Loss(nats, torch.zeros_like(nats))

    @torch.no_grad()
    def symbol_scores(self, batch: TokenBatch) -> Scores:
        """See `Network.symbol_scores`."""
        return output_scores(self._states(batch), self.embedding, batch.targets, self.shape.vocabulary)

    @torch.no_grad()
    def logits(self, batch: TokenBatch) -> Tensor:
        """float32[symbols, vocabulary]: row i predicts symbol i of the passages' ids end to end."""
        return self._output(self._states(batch))

    def cache(self, rows: int, capacity: int) -> Cache:
        """An empty cache for `rows` texts of about `capacity` symbols."""
        return self.stack.cache(rows, capacity + 1)

    @torch.no_grad()
    def begin(self, texts: Sequence[Sequence[int]], capacity: int) -> tuple[Tensor, Cache]:
        """Read texts (symbols; may be empty), one a row.

        Returns:
            float32[texts, vocabulary], the logits of the next symbol of each; a cache with room for `capacity` symbols.
        """
        cache = self.cache(len(texts), capacity)
        layout = sequence_layout(np.array([len(text) + 1 for text in texts])).to(self.embedding.device)
        ids = [id for text in texts for id in (self.shape.vocabulary, *text)]
        states = functional.embedding(torch.tensor(ids, device=self.embedding.device), self.embedding)
        states = self.stack(states, layout, cache).index_select(0, layout.offsets[1:] - 1)
        return self._output(self.stack.norm(states)), cache

    @torch.no_grad()
    def step(self, ids: Tensor, cache: Cache, rows: Tensor | None = None) -> Tensor:
        """Append a symbol, int64[rows], to some rows (int64, distinct; None: all) of the cache.

        Returns float32[rows, vocabulary], the logits of the next symbol of these rows.
        """
        states = self.stack.step(functional.embedding(ids, self.embedding), cache, rows)
        return self._output(self.stack.norm(states))

    def _states(self, batch: TokenBatch) -> Tensor:
        return self.stack.norm(self.stack(functional.embedding(batch.inputs, self.embedding), batch.passages))

    def _output(self, states: Tensor) -> Tensor:
        return linear(states, self.embedding[: self.shape.vocabulary]).float()
