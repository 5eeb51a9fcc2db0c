"""Matrix products of layers: PyTorch's, or NumPy's OpenBLAS where the environment pins MKL to one arithmetic for all.

Pinned with MKL_CBWR=COMPATIBLE, PyTorch multiplies with SSE2. NumPy's OpenBLAS, pinned with OPENBLAS_CORETYPE=Haswell,
multiplies with AVX2 on Intel and on AMD alike. GFLOP/s on AMD Zen 5, one thread, for x W', g W and g'x of 2048 x 256 x
1024: MKL pinned 43, 41, 43; OpenBLAS 109, 103, 106; MKL unpinned 95, 96, 93. So OpenBLAS is used where MKL is pinned,
for float32 on the CPU; GPUs, bfloat16, autocast, torch.compile and unpinned processes compute by PyTorch.

Are its sums the same everywhere? A sum over k is cut into parts by GEMM_Q alone (driver/level3/level3.c). For Haswell
that is a constant, 320 (param.h), as are the sizes of the kernel; the size of the L2 cache, by which OpenBLAS chooses
blocks for older cores (kernel/setparam-ref.c), does not enter. Checked: products of eight shapes with k up to 5,000 had
the same bits with OPENBLAS_L2_SIZE from 256 to 131,072. Threads would split the products, so pinning allows one.

`linear` and `attention` are differentiable; `multiply` is for code that makes its own gradients. `use_openblas` lets a
model of `transformers` compute by them.
"""

import math
import os
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

PINNED = os.environ.get("MKL_CBWR", "").startswith("COMPATIBLE")
"""Whether MKL computes with SSE2 only. It reads the variable once, when it is loaded."""
LONGEST = 1024
"""Longest sequences for `attention` by OpenBLAS, which keeps the weights of all pairs for the backward pass; with
longer ones these take more memory than all else."""
_QUERIES = 128
"""Queries at once in causal attention; keys behind the last of them are left out."""
_WEIGHTS = 1 << 19
"""Weights at once in attention, 2 MB: what follows on their product finds them in the cache. Forward and backward of 64
rows of 133 tokens with 4 heads take 16 and 15 ms so, 22 and 30 all at once (AMD EPYC)."""


def on_openblas(*tensors: Tensor) -> bool:
    """Whether products of these tensors go through OpenBLAS."""
    if not PINNED or torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu"):
        return False
    return all(tensor.dtype == torch.float32 and tensor.is_cpu for tensor in tensors)


def multiply(left: Tensor, right: Tensor, out: Tensor) -> Tensor:
    """out = left @ right, without gradients; batches of matrices are multiplied one by one."""
    if on_openblas(left, right, out):
        return product(left.detach(), right.detach(), out)
    if out.dtype != left.dtype:
        return out.copy_(left @ right)
    return torch.matmul(left, right, out=out)


def product(left: Tensor, right: Tensor, out: Tensor) -> Tensor:
    """out = left @ right by OpenBLAS."""
    with np.errstate(all="ignore"):  # As PyTorch, silent about numbers that are none: the loss tells.
        np.matmul(left.numpy(), right.numpy(), out=out.numpy())
    return out


def linear(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """states W' + bias: [..., inputs] -> [..., outputs], with weight [outputs, inputs] in any strides."""
    if not on_openblas(states, weight):
        return functional.linear(states, weight, bias)
    if torch.is_grad_enabled():
        return _Linear.apply(states, weight, bias)
    return _linear(states.detach(), weight.detach(), bias)


def _linear(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    rows = states.reshape(-1, states.shape[-1])
    made = product(rows, weight.t(), rows.new_empty(len(rows), len(weight)))
    if bias is not None:
        made += bias
    return made.view(*states.shape[:-1], len(weight))


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(states, weight)
        return _linear(states, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        states, weight = ctx.saved_tensors
        to_rows = gradients[0].reshape(-1, len(weight)).contiguous()
        to_states, to_weight, to_bias = None, None, None
        if ctx.needs_input_grad[0]:
            to_states = product(to_rows, weight, to_rows.new_empty(len(to_rows), weight.shape[1])).view(states.shape)
        if ctx.needs_input_grad[1]:
            rows = states.reshape(-1, states.shape[-1])
            to_weight = product(to_rows.t(), rows, torch.empty_like(weight))
        if ctx.needs_input_grad[2]:
            to_bias = to_rows.sum(0)
        return to_states, to_weight, to_bias


def attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Scaled dot-product attention, as PyTorch's function of that name.

    Args:
        queries: [rows, heads, length, size].
        keys: [rows, heads, keys, size].
        values: [rows, heads, keys, size].
        mask: bool, which keys each query sees, or to be added to the scores; can be expanded to [rows, heads, length,
            keys]. Without it, all.
        causal: whether query i sees only the keys up to key i; without a mask, and with as many keys as queries.
        scale: of the scores; None: 1 / sqrt(size).

    Returns:
        [rows, heads, length, size].
    """
    if keys.shape[2] <= LONGEST and queries.shape[1] == keys.shape[1] and on_openblas(queries, keys, values):
        factor = 1 / math.sqrt(queries.shape[-1]) if scale is None else scale
        return _Attention.apply(queries, keys, values, mask, causal, factor)
    return functional.scaled_dot_product_attention(queries, keys, values, mask, is_causal=causal, scale=scale)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        made, weights = attend(queries, keys, values, mask, causal, scale)
        ctx.save_for_backward(queries, keys, values, *weights)
        ctx.causal, ctx.scale = causal, scale
        return made

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, *kept = ctx.saved_tensors  # With activations computed again, once.
        given = (queries, keys, values)
        found = [torch.empty_like(part) for part in given]
        attend_backward(given, kept, ctx.causal, ctx.scale, gradients[0], found)
        return *found, None, None, None


def attend(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool, scale: float
) -> tuple[Tensor, list[Tensor]]:
    """`attention` by OpenBLAS, and the weights that its gradient needs, in the order of `_parts`."""
    made = queries.new_empty(queries.transpose(1, 2).shape).transpose(1, 2)
    kept = []
    for rows, part, seen in _parts(queries, keys, causal):
        asking, known = queries[rows, :, part] * scale, keys[rows, :, seen]
        weights = product(asking, known.mT, asking.new_empty(*asking.shape[:3], known.shape[2]))
        if causal:
            weights[..., part] += _later(part.stop - part.start)
        elif mask is not None:
            _apply(weights, mask[rows] if mask.dim() == 4 and len(mask) > 1 else mask)
        torch.softmax(weights, -1, out=weights)
        product(weights, values[rows, :, seen], made[rows, :, part])
        kept.append(weights)
    return made, kept


def _apply(scores: Tensor, mask: Tensor) -> None:
    if mask.dtype != torch.bool:
        scores += mask
    elif not mask.all():  # Most rows of a batch of equal lengths have no padding.
        scores.masked_fill_(~mask, -math.inf)


def attend_backward(
    given: Sequence[Tensor],
    kept: list[Tensor],
    causal: bool,
    scale: float,
    to_made: Tensor,
    found: Sequence[Tensor],
) -> None:
    """Fill `found`, the gradients of the queries, keys and values `given`, with those of `attend`, and take its weights
    from the end of `kept`."""
    queries, keys, values = given
    to_queries, to_keys, to_values = found
    for rows, part, seen in reversed(_parts(queries, keys, causal)):
        weights = kept.pop()
        to_part, asking, known = to_made[rows, :, part], queries[rows, :, part] * scale, keys[rows, :, seen]
        to_weights = product(to_part, values[rows, :, seen].mT, torch.empty_like(weights))
        to_scores = torch._softmax_backward_data(to_weights, weights, -1, torch.float32)
        product(to_scores, known, to_queries[rows, :, part]).mul_(scale)
        if part.stop == queries.shape[2]:  # The last queries see all keys: sums over queries begin there.
            product(to_scores.mT, asking, to_keys[rows])
            product(weights.mT, to_part, to_values[rows])
        else:
            to_keys[rows, :, seen] += product(to_scores.mT, asking, torch.empty_like(known))
            to_values[rows, :, seen] += product(weights.mT, to_part, torch.empty_like(known))


def _parts(queries: Tensor, keys: Tensor, causal: bool) -> list[tuple[slice, slice, slice]]:
    """Parts of the rows, in each parts of the queries, and the keys that these see at most."""
    count, heads, length, _ = queries.shape
    ends = [*range(_QUERIES, length - _QUERIES // 2, _QUERIES), length] if causal else [length]
    step = max(1, _WEIGHTS // (heads * length * keys.shape[2]))
    return [
        (slice(row, row + step), slice(begin, end), slice(0, end if causal else keys.shape[2]))
        for row in range(0, count, step)
        for begin, end in zip([0, *ends], ends, strict=False)
    ]


@cache
def _later(length: int) -> Tensor:
    """float32[length, length], -inf for the keys behind each query, else 0: adding is faster than filling."""
    return torch.full((length, length), -math.inf).triu(1)


def use_openblas(model: nn.Module) -> None:
    """Let a model of `transformers` compute by `linear` and `attention`: its nn.Linear and Conv1D layers, and attention
    where it is PyTorch's. Parameters, their names and the files of the model stay as they are. Nothing is changed where
    MKL is not pinned."""
    if not PINNED:
        return
    ways: dict[str, Any] = {"Linear": _linear_layer, "Conv1D": _transposed_layer}
    for module in model.modules():
        if way := ways.get(type(module).__name__):
            vars(module)["forward"] = partial(way, module)
    config: Any = getattr(model, "config", None)
    if getattr(config, "_attn_implementation", None) == "sdpa":
        config._attn_implementation = _registered_attention()


def _linear_layer(layer: Any, states: Tensor) -> Tensor:
    return linear(states, layer.weight, layer.bias)


def _transposed_layer(layer: Any, states: Tensor) -> Tensor:
    """Conv1D of GPT-2, whose weight is [inputs, outputs]."""
    return linear(states, layer.weight.t(), layer.bias)


@cache
def _registered_attention() -> str:
    """The name under which `transformers` knows `attention`."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    def forward(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        dropout: float = 0.0,
        scaling: float | None = None,
        is_causal: bool | None = None,
        **options: Any,
    ) -> tuple[Tensor, None]:
        if dropout or query.shape[1] != key.shape[1] or not on_openblas(query, key, value):
            given = (module, query, key, value, attention_mask, dropout, scaling, is_causal)
            return sdpa_attention_forward(*given, **options)
        wanted = getattr(module, "is_causal", True) if is_causal is None else is_causal
        causal = bool(wanted) and attention_mask is None and query.shape[2] > 1
        if causal:  # Room behind the keys of a cache is not seen.
            key, value = key[:, :, : query.shape[2]], value[:, :, : query.shape[2]]
        found = attention(query, key, value, attention_mask, causal, scaling)
        return found.transpose(1, 2).contiguous(), None

    AttentionInterface.register("tokenlab", forward)
    AttentionMaskInterface.register("tokenlab", sdpa_mask)
    return "tokenlab"
