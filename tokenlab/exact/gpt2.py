"""Small GPT-2s in NumPy.

A command that evaluates one starts in a quarter of the time, since it imports neither PyTorch nor `transformers`. A
pass over few contexts is faster, too: 4 layers of width 192 take 0.9 ms for one context, where `transformers` takes
2.0; for 64 contexts both take 8 (one thread of a Xeon). From 8 million parameters on, PyTorch is as fast.
"""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from threadpoolctl import ThreadpoolController

from tokenlab.core.errors import InputError
from tokenlab.exact.interface import ContextTree
from tokenlab.exact.trees import FIRST_SLOTS, CachedTree, check_ends

_MOST_BYTES = 32 << 20
_OPTIONS: dict[str, tuple[object, ...]] = {
    "activation_function": ("gelu_new", "gelu_pytorch_tanh"),  # two names of one formula
    "add_cross_attention": (False,),
    "quantization_config": (None,),
    "reorder_and_upcast_attn": (False,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "scale_attn_weights": (True,),
    "tie_word_embeddings": (True,),
}
"""The values that `Gpt2` computes; a configuration without one of these keys has the first."""
_PAIRS = ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")

_Array = NDArray[np.float32]
_Pair = tuple[_Array, _Array]


class Block(NamedTuple):
    """Pairs of gain and bias of norms, and of weights [inputs, outputs] and bias of layers; float32."""

    norm: _Pair
    queries_keys_values: _Pair
    attention_output: _Pair
    feed_forward_norm: _Pair
    inner: _Pair
    feed_forward_output: _Pair


class Gpt2Weights(NamedTuple):
    """The weights of a GPT-2 (Radford et al. 2019); float32."""

    tokens: _Array
    """[ids, width] the embeddings, also of the output"""
    positions: _Array
    """[positions, width]"""
    blocks: list[Block]
    norm: _Pair
    heads: int
    epsilon: float
    bos: int | None
    eos: int | None


def read_gpt2(folder: Path) -> Gpt2Weights | None:
    """The GPT-2 in a folder as `save_pretrained` writes it, in float32 and of at most 32 MiB; None for anything else:
    a larger or another model, options that `Gpt2` does not compute, damaged files."""
    try:
        return _read(folder)
    except (OSError, SafetensorError, ValueError, LookupError, OverflowError):
        return None
    except (TypeError, AttributeError, RecursionError):  # JSON of another form
        return None


def _read(folder: Path) -> Gpt2Weights:
    path, generation = folder / "model.safetensors", folder / "generation_config.json"
    config = json.loads((folder / "config.json").read_bytes())
    others = [key for key, values in _OPTIONS.items() if config.get(key, values[0]) not in values]
    if config["model_type"] != "gpt2" or others or path.stat().st_size > _MOST_BYTES:
        raise ValueError(config["model_type"], others)
    eos = json.loads(generation.read_bytes()).get("eos_token_id") if generation.is_file() else None
    width, heads, layers = config["n_embd"], config["n_head"], config["n_layer"]
    inner = 4 * width if config.get("n_inner") is None else config["n_inner"]
    weights = _read_weights(path)
    shapes = {name: weight.shape for name, weight in weights.items()}
    fit = shapes == _shapes(config["vocab_size"], config["n_positions"], width, inner, layers)
    if not fit or type(heads) is not int or heads < 1 or width % heads:
        raise ValueError(shapes, heads)

    def pair(name: str) -> _Pair:
        return weights[f"{name}.weight"], weights[f"{name}.bias"]

    return Gpt2Weights(
        weights["wte.weight"],
        weights["wpe.weight"],
        [Block(*(pair(f"h.{layer}.{name}") for name in _PAIRS)) for layer in range(layers)],
        pair("ln_f"),
        heads,
        float(config.get("layer_norm_epsilon", 1e-5)),
        first_id(config["bos_token_id"]),  # `transformers` has a default where there is no such key.
        first_id(config["eos_token_id"] if eos is None else eos),
    )


def _read_weights(path: Path) -> dict[str, _Array]:
    """Arrays by name, without GPT-2's prefix. Raises ValueError where they are not float32, or not finite."""
    found = {}
    with safe_open(path, framework="numpy") as file:
        for name in file.keys():  # noqa: SIM118 (not a mapping)
            if file.get_slice(name).get_dtype() != "F32":
                raise ValueError(name)
            weight = file.get_tensor(name)
            if not np.isfinite(weight).all():
                raise ValueError(name)
            found[name.removeprefix("transformer.")] = weight
    return found


def _shapes(ids: int, positions: int, width: int, inner: int, layers: int) -> dict[str, tuple[int, ...]]:
    outputs = {"attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width)}
    outputs |= {"mlp.c_fc": (width, inner), "mlp.c_proj": (inner, width)}
    found: dict[str, tuple[int, ...]] = {"wte.weight": (ids, width), "wpe.weight": (positions, width)}
    found |= {"ln_f.weight": (width,), "ln_f.bias": (width,)}
    for layer in range(layers):
        for name in _PAIRS:
            shape = outputs.get(name, (width,))
            found |= {f"h.{layer}.{name}.weight": shape, f"h.{layer}.{name}.bias": shape[-1:]}
    return found


def first_id(found: Any) -> int | None:
    """An id of a configuration, of several the first."""
    first = found[0] if isinstance(found, (list, tuple)) else found
    return None if first is None else int(first)


class Gpt2:
    """A small GPT-2 as a token model.

    Args:
        start: tokens before every text, BOS last; they must be there.
        end: id of EOS, None for a model that never ends a text.
        threads: of matrix products; None leaves them as they are.

    Raises InputError: no start, ids outside of the model; in a pass, logits that are not finite.
    """

    name = "GPT-2"

    def __init__(
        self, weights: Gpt2Weights, *, start: Sequence[int], end: int | None, threads: int | None = None
    ) -> None:
        self.weights, self.start, self.end = weights, tuple(start), end
        self.size = len(weights.tokens)
        self.limit: int | None = len(weights.positions) - len(self.start)
        check_ends(self.name, self.size, self.start, end)
        self._threads, self._pools = threads, ThreadpoolController() if threads else None

    def tree(self) -> ContextTree:
        """A new tree with nothing but its root."""
        return CachedTree(self)

    def cache(self) -> "Gpt2Cache":
        """An empty cache of slots."""
        return Gpt2Cache(self)

    def limited(self) -> AbstractContextManager[object]:
        """Products in it use the threads that were asked for."""
        return self._pools.limit(limits=self._threads, user_api="blas") if self._pools else nullcontext()


class Gpt2Cache:
    """The keys and values of a model, a slot a token, in a buffer that doubles when it is full."""

    def __init__(self, model: Gpt2) -> None:
        self._model = model
        weights = model.weights
        size = weights.tokens.shape[1] // weights.heads
        self._states = np.empty((len(weights.blocks), 2, weights.heads, FIRST_SLOTS, size), np.float32)

    def evaluate(
        self, tokens: list[int], positions: NDArray[np.int64], seen: NDArray[np.bool_], *, last_only: bool
    ) -> _Array:
        """Logits after new tokens; see SlotCache."""
        first, used = len(positions) - len(tokens), len(positions)
        if used > self._states.shape[3]:
            self._resize(self._states[..., :first, :], max(2 * self._states.shape[3], used))
        weights = self._model.weights
        mask = np.where(seen, np.float32(0), np.float32(-np.inf))
        states = weights.tokens[tokens] + weights.positions[positions[first:]]
        with self._model.limited(), np.errstate(over="ignore", invalid="ignore"):
            for block, kept in zip(weights.blocks, self._states[..., :used, :], strict=True):
                made = _linear(_layer_norm(states, block.norm, weights.epsilon), block.queries_keys_values)
                made = made.reshape(len(tokens), 3, weights.heads, -1).transpose(1, 2, 0, 3)
                kept[:, :, first:] = made[1:]
                states += _linear(_attend(made[0], kept[0], kept[1], mask), block.attention_output)
                inner = _linear(_layer_norm(states, block.feed_forward_norm, weights.epsilon), block.inner)
                states += _linear(_gelu(inner), block.feed_forward_output)
            if last_only:
                states = states[-1:]
            logits = _layer_norm(states, weights.norm, weights.epsilon) @ weights.tokens.T
        if not np.isfinite(logits).all():
            raise InputError(f"{self._model.name}: it gives logits that are not finite; use another model")
        return cast(_Array, logits)

    def select(self, slots: NDArray[np.int64]) -> None:
        """Keep these slots, ascending, and number them anew from 0."""
        self._resize(self._states[..., slots, :], max(2 * len(slots), FIRST_SLOTS))

    def _resize(self, kept: _Array, slots: int) -> None:
        self._states = np.empty((*kept.shape[:3], slots, kept.shape[4]), np.float32)
        self._states[..., : kept.shape[3], :] = kept


def _attend(queries: _Array, keys: _Array, values: _Array, mask: _Array) -> _Array:
    """Attention of queries [heads, tokens, size] to keys and values [heads, slots, size] -> [tokens, width].

    mask: [tokens, slots] 0 for a slot that the token sees, else -inf.
    """
    scores = queries @ keys.transpose(0, 2, 1)
    scores *= np.float32(queries.shape[-1] ** -0.5)
    scores += mask
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return cast(_Array, (scores @ values).transpose(1, 0, 2).reshape(queries.shape[1], -1))


def _linear(states: _Array, pair: _Pair) -> _Array:
    made = states @ pair[0]
    made += pair[1]
    return cast(_Array, made)


def _layer_norm(states: _Array, pair: _Pair, epsilon: float) -> _Array:
    """LayerNorm (Ba et al. 2016)."""
    centred = states - states.mean(-1, keepdims=True)
    centred /= np.sqrt(np.square(centred).mean(-1, keepdims=True) + np.float32(epsilon))
    centred *= pair[0]
    centred += pair[1]
    return centred


def _gelu(states: _Array) -> _Array:
    """GELU by tanh (Hendrycks & Gimpel 2016)."""
    inner = states * states
    inner *= np.float32(0.044715)
    inner += np.float32(1)
    inner *= states
    inner *= np.float32((2 / np.pi) ** 0.5)
    np.tanh(inner, out=inner)
    inner += np.float32(1)
    inner *= states
    inner *= np.float32(0.5)
    return inner
