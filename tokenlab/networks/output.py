"""The output layer with its cross-entropy, in chunks: the logits of all symbols never stand in memory together.

A chunk's logits become probabilities and then gradients, and the gradients of states and matrix are summed up while the
loss is computed: the loss is a sum over symbols, so its gradient only multiplies them (Hsu et al. 2024, Liger Kernel,
section 3.2). A CPU does so in place. A GPU trains by one fused kernel between products of padded matrices.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from tokenlab.networks.compiled import outside
from tokenlab.networks.interface import Scores
from tokenlab.networks.products import multiply, on_openblas

_LOGITS = {"cpu": 1 << 21, "cuda": 1 << 27}
"""Logits in a chunk: few enough for the caches of a CPU, enough to occupy a GPU."""
_LEAST = 512
"""Rows in a chunk at least; with fewer, adding up the matrix' gradient costs more than the products."""
_ALIGNED = 16
"""Rows of logits begin at multiples of so many numbers: MKL takes 1.4 times as long for rows of 50,257."""
_PADDED = 64
"""Symbols of a GPU's matrix are a multiple of so many. With 50,257 the products of a step took 64 ms of 151 (H100)."""
_PADDED_LOGITS = 1 << 28
"""Logits in a chunk there, in the number format of the products."""


def output_nats(states: Tensor, matrix: Tensor, targets: Tensor, symbols: int) -> Tensor:
    """float32 scalar: minus the log-probability of all targets, in nats.

    Args:
        states: [states, width].
        matrix: float32[rows, width]; its first `symbols` rows are the output matrix.
        targets: int64[states].
        symbols: how many symbols there are to predict.
    """
    return outside(_nats)(states, matrix, targets, symbols)


def _nats(states: Tensor, matrix: Tensor, targets: Tensor, symbols: int) -> Tensor:
    # Inside the function gradients are off, and it cannot tell whether they are outside.
    return _OutputNats.apply(states, matrix, targets, symbols, torch.is_grad_enabled())


@torch.no_grad()
def output_scores(states: Tensor, matrix: Tensor, targets: Tensor, symbols: int) -> Scores:
    """The score of each target (arguments as for `output_nats`); no gradients."""
    used, rows = _number_formats(states, matrix[:symbols])
    nats, best = [], []
    with torch.autocast(states.device.type, enabled=False):
        for chunk, logits in _chunks(used, rows):
            wanted = targets[chunk, None]
            nats.append(logits.logsumexp(1) - logits.gather(1, wanted)[:, 0])
            best.append(logits.argmax(1) == wanted[:, 0])
    return Scores(torch.cat(nats), torch.cat(best))


class _OutputNats(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, matrix: Tensor, targets: Tensor, symbols: int, learns: bool) -> Tensor:
        training = learns and any(ctx.needs_input_grad)
        used, rows = _number_formats(states.detach(), matrix.detach()[:symbols])
        to_states = torch.empty_like(states, dtype=torch.float32) if training else None
        to_matrix = torch.empty_like(matrix, dtype=torch.float32) if training else None
        with torch.autocast(states.device.type, enabled=False):
            if to_states is None or to_matrix is None:
                return _summed_in_place(used, rows, targets, None, None).float()
            summed = _summed_padded if states.is_cuda else _summed_in_place
            nats = summed(used, rows, targets, to_states, to_matrix[:symbols])
            to_matrix[symbols:] = 0
            ctx.gradients = (to_states.to(states.dtype), to_matrix)
        return nats.float()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        if ctx.gradients is None:
            raise RuntimeError("a second backward pass through the output layer, whose gradients are scaled in place")
        to_states, to_matrix = ctx.gradients
        ctx.gradients = None
        return to_states.mul_(gradients[0]), to_matrix.mul_(gradients[0]), None, None, None


def _summed_in_place(
    states: Tensor, matrix: Tensor, targets: Tensor, to_states: Tensor | None, to_matrix: Tensor | None
) -> Tensor:
    """The nats of all targets, float64 scalar; the gradients of states and matrix, where given, are overwritten."""
    nats = torch.zeros((), dtype=torch.float64, device=states.device)
    for chunk, logits in _chunks(states, matrix):
        wanted = targets[chunk, None]
        at_targets = logits.gather(1, wanted)
        largest = logits.amax(1, keepdim=True)
        torch.softmax(logits, 1, out=logits)
        # -log of the target's probability would be infinite where that underflows; the largest never does.
        nats += (largest - logits.amax(1, keepdim=True).log() - at_targets).sum(dtype=torch.float64)
        if to_states is None or to_matrix is None:
            continue
        logits.scatter_add_(1, wanted, torch.full_like(at_targets, -1.0))
        gradient = logits.to(matrix.dtype)
        multiply(gradient, matrix, to_states[chunk])
        _add_product(to_matrix, gradient, states[chunk], first=chunk.start == 0)
    return nats


def _summed_padded(states: Tensor, matrix: Tensor, targets: Tensor, to_states: Tensor, to_matrix: Tensor) -> Tensor:
    """As `_summed_in_place`, with padding to fast products, and one kernel for all between them."""
    symbols = len(matrix)
    matrix = functional.pad(matrix, (0, 0, 0, -symbols % _PADDED))
    nats = torch.zeros((), dtype=torch.float64, device=states.device)
    total = torch.empty_like(matrix, dtype=torch.float32)
    most = max(_LEAST, _PADDED_LOGITS // len(matrix))
    for begin in range(0, len(states), most):
        chunk = slice(begin, begin + most)
        found, gradient = _compiled_nats()(states[chunk] @ matrix.t(), targets[chunk], symbols)
        nats += found
        to_states[chunk] = gradient @ matrix
        _add_product(total, gradient, states[chunk], first=begin == 0)
    to_matrix.copy_(total[:symbols])
    return nats


@cache
def _compiled_nats() -> Any:
    return torch.compile(_nats_and_gradient, dynamic=True)


def _nats_and_gradient(logits: Tensor, targets: Tensor, symbols: int) -> tuple[Tensor, Tensor]:
    """The nats of all targets, float64 scalar, and the gradient with respect to the logits, in their dtype.

    Args:
        logits: [states, at least symbols]; those from `symbols` on are padding, with gradient 0.
        targets: int64[states].
        symbols: how many symbols there are to predict.
    """
    columns = torch.arange(logits.shape[1], device=logits.device)
    known = torch.where(columns < symbols, logits.float(), -torch.inf)
    largest = known.amax(1, keepdim=True)
    powers = (known - largest).exp()
    sums = powers.sum(1, keepdim=True)
    wanted = targets[:, None]
    nats = (largest + sums.log() - known.gather(1, wanted)).sum(dtype=torch.float64)
    gradient = powers / sums - (columns == wanted).float()
    return nats, gradient.to(logits.dtype)


def _add_product(total: Tensor, gradient: Tensor, states: Tensor, first: bool) -> None:
    """total += gradient^T states; the first time, total = gradient^T states."""
    if on_openblas(total, gradient, states):
        made = multiply(gradient.t(), states, total if first else torch.empty_like(total))
        if not first:
            total += made
    elif total.dtype == gradient.dtype:
        torch.addmm(total, gradient.t(), states, beta=0.0 if first else 1.0, out=total)
    elif first:
        total.copy_(gradient.t() @ states)
    else:
        total += gradient.t() @ states


def _number_formats(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The operands of a product in the number format that autocast chooses, else float32."""
    kind = tensors[0].device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else torch.float32
    return tuple(tensor.to(dtype) for tensor in tensors)


def _chunks(states: Tensor, matrix: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Slices of the states, and their logits, float32, which may be overwritten and last until the next slice."""
    symbols = len(matrix)
    most = max(_LEAST, _LOGITS.get(states.device.type, _LOGITS["cuda"]) // symbols)
    room = states.new_empty(min(most, len(states)), -(-symbols // _ALIGNED) * _ALIGNED)
    for begin in range(0, len(states), most):
        chunk = slice(begin, min(begin + most, len(states)))
        logits = room[: chunk.stop - begin, :symbols]
        multiply(states[chunk], matrix.t(), logits)
        yield chunk, logits.float()
