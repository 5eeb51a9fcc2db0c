"""Operations of the blocks: RMSNorm of a sum, SwiGLU, rotary positions, and attention inside short sequences.

Each has two implementations with the same results up to rounding: PyTorch's operators, which GPUs, bfloat16 and
torch.compile use, and kernels for float32 on the CPU (`cpu_kernels`).
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tokenlab.networks import cpu_kernels as kernels

EPSILON = np.float32(1e-5)
"""Keeps RMSNorm from dividing by 0."""
_FEW = 32
"""Rows from which a kernel is faster than PyTorch: calling it takes 50 microseconds, a fifth of a step of generation.
"""
_ROWS = 4096
"""Rows that are worth a thread of their own: PyTorch's threads wait for milliseconds after each product without giving
their cores away, and on two cores kernels of 1,000 rows took four times as long on two threads as on one.
"""


def add_norm(states: Tensor, added: Tensor | None, gain: Tensor) -> tuple[Tensor, Tensor]:
    """The sum states + added, and its RMSNorm (Zhang & Sennrich 2019): sum / sqrt(mean(sum^2) + 1e-5) * gain.

    Args:
        states: float32[rows, width].
        added: [rows, width]; None: nothing.
        gain: float32[width].
    """
    if _on_kernels(states) and (added is None or added.dtype == states.dtype):
        _check("add_norm", gain.shape == states.shape[1:] and (added is None or added.shape == states.shape))
        return _AddNorm.apply(states, added, gain)
    total = states if added is None else states + added
    return total, functional.rms_norm(total, (total.shape[-1],), gain, float(EPSILON))


def swiglu(states: Tensor) -> Tensor:
    """silu(a) * b of the halves a, b of the last axis (Shazeer 2020), [rows, 2 inner] -> [rows, inner]."""
    if _on_kernels(states):
        return _Swiglu.apply(states)
    gates, inner = states.chunk(2, dim=-1)
    return functional.silu(gates) * inner


def rotate(states: Tensor, turns: Tensor, positions: Tensor) -> Tensor:
    """Queries and keys turned by their positions (Su et al. 2021), values as they are.

    Args:
        states: [rows, 3, heads, size], queries, keys, values.
        turns: float32[positions, 2, size / 2], cosines and sines; the halves of a head are its pairs.
        positions: int64[rows].
    """
    if _on_kernels(states):
        _check("rotate", len(positions) == len(states) and turns.shape[2] * 2 == states.shape[3])
        return _Rotate.apply(states, turns, positions)
    cosine, sine = turns.index_select(0, positions)[:, None, None].unbind(3)
    first, second = states[:, :2].float().chunk(2, dim=-1)
    turned = torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)
    return torch.cat((turned.to(states.dtype), states[:, 2:]), dim=1)


def attends_short(states: Tensor) -> bool:
    """Whether `attend_short` works on such states."""
    return _on_kernels(states)


def attend_short(states: Tensor, offsets: Tensor) -> Tensor:
    """Causal attention inside short sequences, on the CPU.

    Args:
        states: float32[rows, 3, heads, size] of `rotate`.
        offsets: int64[sequences + 1], where each sequence begins.

    Returns:
        float32[rows, heads * size].
    """
    _check("attend_short", int(offsets[-1]) == len(states))
    return _AttendShort.apply(states, offsets)


class _AddNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, added: Tensor | None, gain: Tensor) -> tuple[Tensor, Tensor]:
        states = states.contiguous()
        total = states if added is None else torch.empty_like(states)
        normed, scales = torch.empty_like(states), states.new_empty(len(states))
        if added is None:
            _spread(len(states), kernels.norm, *_arrays(states, gain), EPSILON, *_arrays(normed, scales))
        else:
            terms = _arrays(states, added.contiguous(), gain)
            _spread(len(states), kernels.add_norm, *terms, EPSILON, *_arrays(total, normed, scales))
        ctx.save_for_backward(total, gain, scales)
        ctx.adds = added is not None
        # A view, not the input itself: autograd would take that for an operation in place.
        return total.view_as(total) if added is None else total, normed

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
        total, gain, scales = ctx.saved_tensors
        to_total, to_normed = (gradient.contiguous() for gradient in gradients)
        made = torch.empty_like(total)
        arguments = _arrays(total, gain, scales, to_total, to_normed, made)
        to_gain = _summed(len(total), gain, kernels.norm_gradient, *arguments)
        return made, made if ctx.adds else None, to_gain


class _Swiglu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor) -> Tensor:
        states = states.contiguous()
        made = states.new_empty(len(states), states.shape[1] // 2)
        _spread(len(states), kernels.swiglu, *_arrays(states, made))
        ctx.save_for_backward(states)
        return made

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (states,) = ctx.saved_tensors
        found = torch.empty_like(states)
        _spread(len(states), kernels.swiglu_gradient, *_arrays(states, gradients[0].contiguous(), found))
        return found


class _Rotate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, turns: Tensor, positions: Tensor) -> Tensor:
        ctx.save_for_backward(turns, positions)
        return _turned(states, turns, positions, 1.0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        turns, positions = ctx.saved_tensors
        return _turned(gradients[0], turns, positions, -1.0), None, None


def _turned(states: Tensor, turns: Tensor, positions: Tensor, sign: float) -> Tensor:
    states = states.contiguous()
    made = torch.empty_like(states)
    old, table, where, new = _arrays(states, turns, positions, made)
    _spread(len(states), kernels.rotate, old, table, where, np.float32(sign), new, (0,) * states.shape[3])
    return made


class _AttendShort(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, offsets: Tensor) -> Tensor:
        states = states.contiguous()
        rows, _, heads, size = states.shape
        areas = functional.pad(offsets.diff().square().cumsum(0), (1, 0))
        weights = states.new_empty(heads, int(areas[-1]))
        made = states.new_empty(rows, heads, size)
        arguments = _arrays(states, offsets, areas, weights, made)
        _spread(len(offsets) - 1, kernels.attend, *arguments, (0,) * size)
        ctx.save_for_backward(states, offsets, areas, weights)
        return made.flatten(1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        states, offsets, areas, weights = ctx.saved_tensors
        to_made = gradients[0].contiguous().view(len(states), *states.shape[2:])
        found = torch.empty_like(states)
        arguments = _arrays(states, offsets, areas, weights, to_made, found)
        _spread(len(offsets) - 1, kernels.attend_gradient, *arguments, (0,) * states.shape[3])
        return found, None


def _on_kernels(states: Tensor) -> bool:
    suits = states.device.type == "cpu" and states.dtype == torch.float32 and len(states) >= _FEW
    return suits and not torch.compiler.is_compiling()


def _check(name: str, fits: bool) -> None:
    """Kernels look at no bounds."""
    if not fits:
        raise ValueError(f"{name}: the sizes of its arguments differ")


def _arrays(*tensors: Tensor) -> tuple[Any, ...]:
    return tuple(tensor.detach().numpy() for tensor in tensors)


def _spread(count: int, kernel: Callable[..., None], *arguments: Any) -> None:
    """Call kernel(begin, end, *arguments) for parts of range(count), in as many threads as PyTorch has; the kernels
    release the GIL."""
    threads = min(torch.get_num_threads(), count // _ROWS)
    if threads <= 1:
        kernel(0, count, *arguments)
        return
    bounds = [count * number // threads for number in range(threads + 1)]
    list(_pool(threads).map(lambda begin, end: kernel(begin, end, *arguments), bounds[:-1], bounds[1:]))


def _summed(count: int, like: Tensor, kernel: Callable[..., None], *arguments: Any) -> Tensor:
    """The sum of what the threads of `_spread` add to a last argument, which begins as zeros in the shape of `like`."""
    parts: dict[int, Tensor] = {}

    def one(begin: int, end: int) -> None:
        parts[begin] = torch.zeros_like(like)
        kernel(begin, end, *arguments, parts[begin].numpy())

    _spread(count, one)
    return torch.stack([parts[begin] for begin in sorted(parts)]).sum(0)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="networks")
