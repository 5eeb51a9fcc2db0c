"""A stack of Transformer blocks over packed sequences: RMSNorm before, rotary positions, SwiGLU, no biases."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from tokenlab.networks.attention import Cache, Step, attend
from tokenlab.networks.batches import Layout
from tokenlab.networks.options import DEFAULT, Computation, StackShape
from tokenlab.networks.products import linear

ROTARY_BASE = 10_000.0
INITIAL = 0.02
"""Standard deviation of new weights (GPT-2)."""


def matrix(rows: int, columns: int, deviation: float = INITIAL) -> nn.Parameter:
    """A new matrix, float32[rows, columns], drawn from PyTorch's generator."""
    return nn.Parameter(torch.empty(rows, columns).normal_(0.0, deviation))


def rotary_table(positions: int, heads: int, size: int, device: torch.device) -> Tensor:
    """Rotary positions (Su et al. 2021) for queries, keys and values of `heads` heads of `size`, float32[positions, 2,
    3, heads, size]: what `rotate` multiplies a head by (cosines; 1 for values), and what it multiplies its exchanged
    halves by (sines, the first negative; 0 for values).

    Computed in float64 on the CPU, so that all devices rotate alike. There the table has all heads: broadcasting in
    runs of 16 numbers takes six times as long. On other devices it has one, [positions, 2, 3, 1, size].
    """
    frequencies = ROTARY_BASE ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angles = torch.arange(positions, dtype=torch.float64)[:, None] * frequencies
    cosine, sine = angles.cos(), angles.sin()
    turns = torch.stack((torch.cat((cosine, cosine), 1), torch.cat((-sine, sine), 1)), 1).float()
    still = torch.tensor([1.0, 0.0])[None, :, None].expand_as(turns)
    table = torch.stack((turns, turns, still), 2)[:, :, :, None].to(device)
    return table.expand(-1, -1, -1, heads, -1).contiguous() if device.type == "cpu" else table


def rotate(states: Tensor, turns: Tensor) -> Tensor:
    """Queries and keys turned by their positions, values as they are.

    Args:
        states: [states, 3, heads, size], queries, keys, values.
        turns: the rows of `rotary_table` at the states' positions.
    """
    straight, crossed = turns.unbind(1)
    given = states.float()
    return torch.addcmul(given * straight, given.roll(states.shape[-1] // 2, -1), crossed).to(states.dtype)


def swiglu(states: Tensor) -> Tensor:
    """silu(a) * b of the halves a, b of the last axis (Shazeer 2020), [states, 2 inner] -> [states, inner]."""
    gates, inner = states.chunk(2, dim=-1)
    return functional.silu(gates) * inner


class Norm(nn.Module):
    """RMSNorm with a gain (Zhang & Sennrich 2019)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, states: Tensor) -> Tensor:
        """states / sqrt(mean(states^2) + 1e-5) * gain, [states, width] -> the same."""
        return functional.rms_norm(states, self.gain.shape, self.gain, 1e-5)


class Block(nn.Module):
    """Attention and SwiGLU, each added to the states."""

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

    def forward(self, states: Tensor, turns: Tensor, attended: Callable[[Tensor], Tensor]) -> Tensor:
        """States [states, width] after the block.

        turns: see `rotate`. attended: [states, 3, heads, size] -> [states, width].
        """
        made = linear(self.attention_norm(states), self.queries_keys_values).view(len(states), 3, self.heads, -1)
        states = states + linear(attended(rotate(made, turns)), self.attention_output)
        inner = swiglu(linear(self.feed_forward_norm(states), self.gates_inner))
        return states + linear(inner, self.feed_forward_output)


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
        turns = self.turns(layout.longest, states.device).index_select(0, layout.positions)

        def run(layer: int, block: Block, states: Tensor) -> Tensor:
            def attended(made: Tensor) -> Tensor:
                if cache is not None:
                    cache.fill(layer, made, layout)
                return attend(made, layout, self.computation.attention)

            return block(states, turns, attended)

        return self._through(states, run)

    def step(self, states: Tensor, cache: Cache, rows: Tensor | None = None) -> Tensor:
        """One more position: states [rows, width] -> the states after all blocks, before the last norm.

        `rows` (int64, distinct): the rows of the cache that grow; None: all.
        """
        step = Step(cache, rows)
        turns = self.turns(step.most, states.device).index_select(0, step.positions)
        states = self._through(states, lambda layer, block, states: block(states, turns, partial(step.attend, layer)))
        step.finish(rows)
        return states

    def _through(self, states: Tensor, run: Callable[[int, Block, Tensor], Tensor]) -> Tensor:
        for layer, block in enumerate(cast(Iterable[Block], self.blocks)):
            if self.computation.checkpoint_activations and torch.is_grad_enabled():  # Nothing is drawn in a block.
                states = checkpoint(run, layer, block, states, use_reentrant=False, preserve_rng_state=False)
            else:
                states = run(layer, block, states)
        return states

    def cache(self, rows: int, capacity: int) -> Cache:
        """An empty cache for `rows` rows of at most `capacity` positions (it grows beyond them)."""
        return Cache.empty(self.shape, rows, capacity, self.norm.gain.detach())

    def turns(self, positions: int, device: torch.device) -> Tensor:
        """The rotary table of at least so many positions."""
        # Neither a parameter nor a buffer: DDP would send buffers, and those of two processes may differ in length.
        if self._table is None or len(self._table) < positions or self._table.device != device:
            count = max(512, 1 << (positions - 1).bit_length())
            self._table = rotary_table(count, self.shape.heads, self.shape.width // self.shape.heads, device)
        return self._table
