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

    given: float32[states, width]. turns: see `blocks.rotate`. weights: the matrices of the block, then the gains of its
    norms, in the order of `Block`. Returns float32[states, width].
    """

    @staticmethod
    def forward(ctx: Any, given: Tensor, turns: Tensor, layout: Layout, heads: int, *weights: Tensor) -> Tensor:
        to_heads, from_heads, to_inner, from_inner, first_gain, second_gain = weights
        normed, first = _norm(given, first_gain)
        made = _times(normed, to_heads).view(len(given), 3, heads, -1)
        straight, crossed = turns.unbind(1)
        turned = torch.mul(made, straight).addcmul_(_exchanged(made), crossed)
        attended, kept = _attend(turned, layout)
        between = _times(attended, from_heads).add_(given)
        normed_between, second = _norm(between, second_gain)
        gates, inner = (both := _times(normed_between, to_inner)).chunk(2, 1)
        open_gates = functional.silu(gates)
        product_inner = open_gates * inner
        ctx.save_for_backward(
            *(given, first, normed, turns, turned, attended, between, second, normed_between),
            *(both, open_gates, product_inner, *weights, *(weight for weight in kept)),
        )
        ctx.layout = layout
        return _times(product_inner, from_inner).add_(between)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        given, first, normed, turns, turned, attended, between, second, normed_between, *rest = ctx.saved_tensors
        both, open_gates, product_inner, *rest = rest
        to_heads, from_heads, to_inner, from_inner, first_gain, second_gain, *kept = rest
        to_made = gradients[0].contiguous()
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
        to_turned = _attend_gradient(to_attended, turned, kept, ctx.layout)
        straight, crossed = turns.unbind(1)
        to_heads_made = torch.mul(to_turned, straight).add_(_exchanged(to_turned.mul_(crossed)))
        to_normed, of_to_heads = _gradients(to_heads_made.view(len(given), -1), normed, to_heads)
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


def _exchanged(states: Tensor) -> Tensor:
    """Heads with their halves exchanged."""
    return states.roll(states.shape[-1] // 2, -1)


def _attend(states: Tensor, layout: Layout) -> tuple[Tensor, list[Tensor]]:
    """Attention inside each sequence, [states, 3, heads, size] -> [states, heads * size]; what its gradient needs."""
    padded = states if layout.sources is None else states.index_select(0, layout.sources)
    found, kept = [], []
    for given, mask in by_blocks(padded, layout):
        made, weights = attend(*given, mask, mask is None, states.shape[-1] ** -0.5)
        found.append(made.transpose(1, 2).flatten(2).flatten(0, 1))
        kept += weights
    together = found[0] if len(found) == 1 else torch.cat(found)
    return together if layout.places is None else together.index_select(0, layout.places), kept


def _attend_gradient(to_made: Tensor, states: Tensor, kept: list[Tensor], layout: Layout) -> Tensor:
    """The gradient of the states of `_attend`."""
    padded = states
    if layout.sources is not None and layout.places is not None:
        padded = states.index_select(0, layout.sources)
        to_made = to_made.new_zeros(len(padded), to_made.shape[1]).index_copy_(0, layout.places, to_made)
    to_padded = torch.empty_like(padded)
    end = len(padded)
    both = zip(by_blocks(padded, layout), by_blocks(to_padded, layout), strict=True)
    for (given, mask), (found, _) in reversed([*both]):
        rows, heads, length, size = given[0].shape
        begin = end - rows * length
        to_part = to_made[begin:end].view(rows, length, heads, size).transpose(1, 2)
        attend_backward(given, kept, mask is None, size**-0.5, to_part, found)
        end = begin
    return to_padded if layout.places is None else to_padded.index_select(0, layout.places)
