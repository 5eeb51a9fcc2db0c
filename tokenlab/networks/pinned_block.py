"""A block of a stack as one operation with its gradient, for products by OpenBLAS (`tokenlab.networks.products`).

In small models the products take a third of a training step. Most of the rest is small operations that autograd
records one by one; here they are fewer, and work in place.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from tokenlab.networks.attention import by_blocks
from tokenlab.networks.batches import Layout
from tokenlab.networks.products import attend, attend_backward, product

EPSILON = 1e-5
"""Keeps RMSNorm from dividing by 0."""


class PinnedBlock(torch.autograd.Function):
    """What `tokenlab.networks.blocks.Block` computes in training, equal up to rounding.

    given: float32[states, width]. table: of `blocks.rotary_table`. weights: the matrices of the block, then the gains
    of its norms, in the order of `Block`. Returns float32[states, width].
    """

    @staticmethod
    def forward(ctx: Any, given: Tensor, table: Tensor, layout: Layout, heads: int, *weights: Tensor) -> Tensor:
        to_heads, from_heads, to_inner, from_inner, first_gain, second_gain = weights
        normed, first = _norm(given, first_gain)
        made = _times(normed, to_heads).view(len(given), 3, heads, -1)
        padded = made if layout.sources is None else made.index_select(0, layout.sources)
        attended, turned, kept = _attend(padded, table, layout)
        if layout.places is not None:
            attended = attended.index_select(0, layout.places)
        between = _times(attended, from_heads).add_(given)
        normed_between, second = _norm(between, second_gain)
        gates, inner = (both := _times(normed_between, to_inner)).chunk(2, 1)
        open_gates = functional.silu(gates)
        product_inner = open_gates * inner
        ctx.save_for_backward(
            *(given, first, normed, table, turned, attended, between, second, normed_between),
            *(both, open_gates, product_inner, *weights, *(weight for weight in kept)),
        )
        ctx.layout = layout
        return _times(product_inner, from_inner).add_(between)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        given, first, normed, table, turned, attended, between, second, normed_between, *rest = ctx.saved_tensors
        both, open_gates, product_inner, *rest = rest
        to_heads, from_heads, to_inner, from_inner, first_gain, second_gain, *kept = rest
        to_made, layout = gradients[0].contiguous(), ctx.layout
        gates, inner = both.chunk(2, 1)
        to_product, of_from_inner = _gradients(to_made, product_inner, from_inner)
        to_both = torch.empty_like(both)
        to_gates, to_inner_states = to_both.chunk(2, 1)
        torch.mul(to_product, open_gates, out=to_inner_states)
        torch.ops.aten.silu_backward.grad_input(to_product.mul_(inner), gates, grad_input=to_gates)
        to_normed, of_to_inner = _gradients(to_both, normed_between, to_inner)
        to_between, of_second_gain = _norm_gradients(to_normed, between, second, second_gain)
        to_between += to_made
        to_attended, of_from_heads = _gradients(to_between, attended, from_heads)
        if layout.places is not None:
            to_attended = to_attended.new_zeros(len(turned), len(from_heads)).index_copy_(0, layout.places, to_attended)
        to_heads_made = _attend_gradient(to_attended, turned, kept, table, layout)
        if layout.places is not None:
            to_heads_made = to_heads_made.index_select(0, layout.places)
        to_normed, of_to_heads = _gradients(to_heads_made.flatten(1), normed, to_heads)
        to_given, of_first_gain = _norm_gradients(to_normed, given, first, first_gain)
        of_weights = (of_to_heads, of_from_heads, of_to_inner, of_from_inner, of_first_gain, of_second_gain)
        return to_given.add_(to_between), None, None, None, *of_weights


def _times(states: Tensor, weight: Tensor) -> Tensor:
    """states W'."""
    return product(states, weight.t(), states.new_empty(len(states), len(weight)))


def _gradients(to_made: Tensor, states: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of the states and the weight of `_times`."""
    return product(to_made, weight, torch.empty_like(states)), product(to_made.t(), states, torch.empty_like(weight))


def _norm(states: Tensor, gain: Tensor) -> tuple[Tensor, Tensor]:
    """RMSNorm, and by what it multiplies each state."""
    scale = states.square().mean(1, keepdim=True).add_(EPSILON).rsqrt_()
    return (states * scale).mul_(gain), scale


def _norm_gradients(to_normed: Tensor, states: Tensor, scale: Tensor, gain: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of the states and the gain of `_norm`; that of the normed states is overwritten."""
    scaled = states * scale
    of_gain = (to_normed * scaled).sum(0)
    to_scaled = to_normed.mul_(gain)
    along = (to_scaled * scaled).mean(1, keepdim=True)
    return to_scaled.addcmul_(scaled, along, value=-1).mul_(scale), of_gain


def _attend(padded: Tensor, table: Tensor, layout: Layout) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Attention inside each sequence, [positions, 3, heads, size] -> [positions, heads * size], in all blocks.

    Heads are turned by the places in their rows: in a sequence these differ as its positions do, which alone counts.
    Also returns the turned heads and the weights, for the gradient.
    """
    turned, made = torch.empty_like(padded), padded.new_empty(len(padded), padded[0, 0].numel())
    kept = []
    blocks = zip(by_blocks(padded, layout), by_blocks(turned, layout), by_blocks(made, layout), strict=True)
    for (rows, mask), (heads, _), (found, _) in blocks:
        straight, crossed = table[: rows.shape[1]].unbind(1)
        torch.mul(rows, straight, out=heads).addcmul_(_exchanged(rows), crossed)
        queries, keys, values = heads.permute(2, 0, 3, 1, 4)
        out, weights = attend(queries, keys, values, mask, mask is None, queries.shape[-1] ** -0.5)
        found.copy_(out.transpose(1, 2).flatten(2))
        kept += weights
    return made, turned, kept


def _attend_gradient(to_made: Tensor, turned: Tensor, kept: list[Tensor], table: Tensor, layout: Layout) -> Tensor:
    """The gradient of the padded heads of `_attend`."""
    to_padded = torch.empty_like(turned)
    blocks = zip(by_blocks(to_made, layout), by_blocks(turned, layout), by_blocks(to_padded, layout), strict=True)
    for (to_out, mask), (heads, _), (to_rows, _) in reversed([*blocks]):
        given, found = heads.permute(2, 0, 3, 1, 4), to_rows.permute(2, 0, 3, 1, 4)
        to_out = to_out.unflatten(2, heads.shape[3:]).transpose(1, 2)
        attend_backward([*given], kept, mask is None, heads.shape[-1] ** -0.5, to_out, [*found])
        straight, crossed = table[: heads.shape[1]].unbind(1)
        exchanged = _exchanged(to_rows * crossed)
        to_rows.mul_(straight).add_(exchanged)
    return to_padded


def _exchanged(states: Tensor) -> Tensor:
    """Heads with their halves exchanged."""
    return states.roll(states.shape[-1] // 2, -1)
