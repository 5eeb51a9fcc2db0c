"""Causal attention inside packed sequences, and inside sequences that grow symbol by symbol with a cache."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from tokenlab.core.errors import ParameterError
from tokenlab.networks.batches import Layout
from tokenlab.networks.compiled import outside
from tokenlab.networks.options import Attention, StackShape
from tokenlab.networks.products import attention


def attend(states: Tensor, layout: Layout, how: Attention) -> Tensor:
    """Causal attention inside each sequence.

    Args:
        states: queries and keys with rotary positions, and values, [states, 3, heads, size].
        layout: of the packed states.
        how: implementation.

    Returns:
        [states, heads * size].
    """
    _check_attention(how, states.device)
    if layout.sources is None:  # Sequences of one length need no mask.
        return _in_blocks(states, layout)
    # Compiled, each number of blocks would be compiled anew.
    return outside(_flex if how == "flex" else _in_blocks)(states, layout)


def _in_blocks(states: Tensor, layout: Layout) -> Tensor:
    padded = states if layout.sources is None else Gather.apply(states, layout.sources, layout.places)
    found = []
    for rows, mask in by_blocks(padded, layout):
        queries, keys, values = rows.permute(2, 0, 3, 1, 4).unbind()
        found.append(attention(queries, keys, values, mask, mask is None).transpose(1, 2).flatten(2).flatten(0, 1))
    made = found[0] if len(found) == 1 else torch.cat(found)
    return made if layout.places is None else Scatter.apply(made, layout.places)


def by_blocks(padded: Tensor, layout: Layout) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Views of each block, [rows, length, ...], and its mask. Padding stands behind all else in a row, so nothing but
    padding sees it.

    padded: [positions, ...], the positions of all blocks end to end.
    """
    sizes = [block.rows * block.length for block in layout.blocks]
    for block, part in zip(layout.blocks, padded.split(sizes), strict=True):
        yield part.unflatten(0, (block.rows, block.length)), block.mask


class Gather(torch.autograd.Function):
    """`states[sources]`, where every state has one place among the sources and the others are padding without effect;
    its gradient is a gather too, faster than the general one's sum."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, sources: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        return states.index_select(0, sources)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (places,) = ctx.saved_tensors
        return gradients[0].index_select(0, places), None, None


class Scatter(torch.autograd.Function):
    """`padded[places]`, the inverse of `Gather`; padding gets no gradient."""

    @staticmethod
    def forward(ctx: Any, padded: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        ctx.size = len(padded)
        return padded.index_select(0, places)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (places,) = ctx.saved_tensors
        (gradient,) = gradients
        padded = gradient.new_zeros(ctx.size, *gradient.shape[1:])
        return padded.index_copy(0, places, gradient), None


def _check_attention(how: Attention, device: torch.device) -> None:
    """Raises ParameterError where an implementation does not run on a device."""
    if how == "flex" and device.type == "cpu" and torch.is_grad_enabled():
        raise ParameterError("attention is 'flex', which computes no gradients on the CPU; use sdpa")


def _flex(states: Tensor, layout: Layout) -> Tensor:
    """Attention over all packed states at once, with a mask in blocks that skips the pairs of different sequences."""
    queries, keys, values = (part.transpose(0, 1)[None] for part in states.unbind(1))
    found = _compiled_flex()(queries, keys, values, block_mask=layout.block_mask)
    return found[0].transpose(0, 1).flatten(1)


@cache
def _compiled_flex() -> Any:
    """Uncompiled flex_attention would keep the scores of all pairs."""
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=True)


@dataclass
class Cache:
    """Keys and values of a stack for rows that grow: what attention needs of the positions before.

    `lengths` is on the CPU, so that no step waits for a GPU.
    """

    keys: Tensor
    """[layers, rows, heads, capacity, size], rotated."""
    values: Tensor
    lengths: Tensor
    """int64[rows], on the CPU: positions of each row so far."""

    @classmethod
    def empty(cls, shape: StackShape, rows: int, capacity: int, like: Tensor) -> "Cache":
        """A cache with the number format and the device of `like`; it grows where `capacity` does not suffice."""
        size = (shape.layers, rows, shape.heads, max(1, capacity), shape.width // shape.heads)
        return cls(like.new_zeros(size), like.new_zeros(size), torch.zeros(rows, dtype=torch.int64))

    def reserve(self, capacity: int) -> None:
        """Make room for `capacity` positions in each row."""
        have = self.keys.shape[3]
        if capacity > have:
            more = max(capacity, 2 * have) - have
            self.keys, self.values = (functional.pad(part, (0, 0, 0, more)) for part in (self.keys, self.values))

    def fill(self, layer: int, states: Tensor, layout: Layout) -> None:
        """Keep the keys and values of whole sequences, [states, 3, heads, size], in a row each."""
        self.reserve(layout.longest)
        self.lengths[:] = layout.offsets.diff().cpu()
        self.keys[layer][layout.sequences, :, layout.positions] = states[:, 1].to(self.keys.dtype)
        self.values[layer][layout.sequences, :, layout.positions] = states[:, 2].to(self.values.dtype)

    def select(self, rows: Tensor) -> "Cache":
        """A cache with some of the rows (int64, may repeat), in their order."""
        there = rows.to(self.keys.device)
        return Cache(self.keys[:, there], self.values[:, there], self.lengths[rows.cpu()])

    def forget(self, rows: Tensor | None = None) -> None:
        """Make some rows (int64) empty again, or all."""
        self.lengths[slice(None) if rows is None else rows.cpu()] = 0


class Step:
    """One more position in some rows of a cache: what all layers share."""

    def __init__(self, cache: Cache, rows: Tensor | None) -> None:
        self.cache = cache
        before = cache.lengths if rows is None else cache.lengths[rows.cpu()]
        self.most = int(before.max()) + 1
        cache.reserve(self.most)
        device = cache.keys.device
        self.positions = before.to(device)
        self.all = rows is None
        self.rows = torch.arange(len(before), device=device) if rows is None else rows.to(device)
        self.mask: Tensor | None = None
        if int(before.min()) + 1 < self.most:
            self.mask = (torch.arange(self.most, device=device) <= self.positions[:, None])[:, None, None]

    def attend(self, layer: int, states: Tensor) -> Tensor:
        """Keep the keys and values of the new positions, and let their queries see all positions of their rows.

        `states`, rotated, [rows, 3, heads, size], give [rows, heads * size].
        """
        keys_kept, values_kept = self.cache.keys[layer], self.cache.values[layer]
        keys_kept[self.rows, :, self.positions] = states[:, 1].to(keys_kept.dtype)
        values_kept[self.rows, :, self.positions] = states[:, 2].to(values_kept.dtype)
        seen = slice(self.most)
        if self.all:
            keys, vals = keys_kept[:, :, seen], values_kept[:, :, seen]
        else:
            keys, vals = keys_kept[self.rows, :, seen], values_kept[self.rows, :, seen]
        queries = states[:, 0, :, None].to(keys.dtype)
        found = functional.scaled_dot_product_attention(queries, keys, vals, attn_mask=self.mask)
        return found.flatten(1)

    def finish(self, rows: Tensor | None) -> None:
        """Count the new positions."""
        self.cache.lengths[slice(None) if rows is None else rows.cpu()] += 1
