"""A stack of Transformer blocks over packed sequences: RMSNorm before, rotary positions, SwiGLU, no biases."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tokenlab.networks.attention import Cache, Step, attend, rotary_table
from tokenlab.networks.batches import Layout
from tokenlab.networks.operations import add_norm, rotate, swiglu
from tokenlab.networks.options import DEFAULT, Computation, StackShape
from tokenlab.networks.products import linear

INITIAL = 0.02
"""Standard deviation of new weights (GPT-2)."""


def matrix(rows: int, columns: int, deviation: float = INITIAL) -> nn.Parameter:
    """A new matrix, float32[rows, columns], drawn from PyTorch's generator."""
    return nn.Parameter(torch.empty(rows, columns).normal_(0.0, deviation))


class Norm(nn.Module):
    """RMSNorm with a gain."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, states: Tensor) -> Tensor:
        """float32[states, width] -> the same."""
        return add_norm(states, None, self.gain)[1]

    def sum(self, states: Tensor, added: Tensor | None) -> tuple[Tensor, Tensor]:
        """states + added, and its norm."""
        return add_norm(states, added, self.gain)


class Block(nn.Module):
    """Attention and SwiGLU, each added to the states. What a block adds last is handed to the next one, which adds it
    together with its norm."""

    def __init__(self, shape: StackShape) -> None:
        super().__init__()
        self.heads = shape.heads
        last = INITIAL / (2 * shape.layers) ** 0.5  # Radford et al. (2019): sums of 2 layers outputs keep their size
        self.attention_norm = Norm(shape.width)
        self.queries_keys_values = matrix(3 * shape.width, shape.width)
        self.attention_output = matrix(shape.width, shape.width, last)
        self.feed_forward_norm = Norm(shape.width)
        self.gates_inner = matrix(2 * shape.feed_forward, shape.width)
        self.feed_forward_output = matrix(shape.width, shape.feed_forward, last)

    def forward(
        self,
        states: Tensor,
        added: Tensor | None,
        turns: Tensor,
        positions: Tensor,
        attended: Callable[[Tensor], Tensor],
    ) -> tuple[Tensor, Tensor]:
        """States [states, width] and what is to be added to them -> the same after the block.

        turns, positions: see `rotate`. attended: [states, 3, heads, size] -> [states, width].
        """
        states, normed = self.attention_norm.sum(states, added)
        made = linear(normed, self.queries_keys_values).view(len(states), 3, self.heads, -1)
        added = linear(attended(rotate(made, turns, positions)), self.attention_output)
        states, normed = self.feed_forward_norm.sum(states, added)
        return states, linear(swiglu(linear(normed, self.gates_inner)), self.feed_forward_output)


class Stack(nn.Module):
    """Blocks and a last norm. Sequences never see each other."""

    def __init__(self, shape: StackShape, computation: Computation = DEFAULT) -> None:
        super().__init__()
        self.shape, self.computation = shape, computation
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.width)
        self._table: Tensor | None = None

    def forward(self, states: Tensor, layout: Layout, cache: Cache | None = None) -> Tensor:
        """The states after all blocks, before the last norm (`self.norm`).

        Args:
            states: float32[states, width], the sequences of the layout end to end.
            layout: of the sequences.
            cache: filled, where given, with the sequences as its rows; those rows must be empty.
        """

        def attended(layer: int, made: Tensor) -> Tensor:
            if cache is not None:
                cache.fill(layer, made, layout)
            return attend(made, layout, self.computation.attention)

        return self._through(states, self.turns(layout.longest, states.device), layout.positions, attended)

    def step(self, states: Tensor, cache: Cache, rows: Tensor | None = None) -> Tensor:
        """One more position: states [rows, width] -> the states after all blocks, before the last norm.

        `rows` (int64, distinct): the rows of the cache that grow; None: all.
        """
        step = Step(cache, rows)
        states = self._through(states, self.turns(step.most, states.device), step.positions, step.attend)
        step.finish(rows)
        return states

    def _through(
        self, states: Tensor, turns: Tensor, positions: Tensor, attended: Callable[[int, Tensor], Tensor]
    ) -> Tensor:
        added: Tensor | None = None
        for layer, block in enumerate(self.blocks):
            run = block
            if self.computation.checkpoint_activations and torch.is_grad_enabled():
                run = partial(checkpoint, block, use_reentrant=False, preserve_rng_state=False)  # nothing is drawn
            states, added = run(states, added, turns, positions, partial(attended, layer))
        return states if added is None else states + added

    def cache(self, rows: int, capacity: int) -> Cache:
        """An empty cache for `rows` rows of at most `capacity` positions (it grows beyond them)."""
        return Cache.empty(self.shape, rows, capacity, self.norm.gain.detach())

    def turns(self, positions: int, device: torch.device) -> Tensor:
        """The rotary table of at least so many positions."""
        # Neither a parameter nor a buffer: DDP would send buffers, and those of two processes may differ in length.
        if self._table is None or len(self._table) < positions or self._table.device != device:
            count = max(512, 1 << (positions - 1).bit_length())
            self._table = rotary_table(count, self.shape.width // self.shape.heads, device)
        return self._table
