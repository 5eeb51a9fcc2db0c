"""Causal language models of `transformers` as token models.

Two ways to evaluate contexts:

- `tree`: all contexts share one cache of keys and values, a slot a context (`CachedTree`); a pass evaluates new
  contexts of any branches, as one sequence of batch size 1, under a mask of ancestors (`Attention`). For models whose
  attention takes a mask and positions.
- `rows`: each pass evaluates whole contexts as rows, without a cache. For recurrent models, ALiBi, and attention of
  kinds that are not known. Exact, and slow.

Which one a model gets is measured at construction: both are compared with plain passes over single sequences.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, DynamicLayer

from tokenlab.core.errors import InputError
from tokenlab.exact.interface import ContextTree
from tokenlab.exact.trees import FIRST_SLOTS, CachedTree, RowTree, check_ends

_TOLERANCE = 1e-4  # of the largest logit; float32 differs by 1e-6 to 1e-5 through different shapes of a pass
_COARSE_TOLERANCE = 0.05  # of 16-bit weights
Way = Literal["tree", "rows"]


class TransformersModel:
    """A token model over a causal language model.

    Args:
        model: its weights must not change while trees are in use. Evaluated as it is: float32, or its own dtype.
        start: tokens before every text, BOS last; they must be there.
        end: id of EOS, None for a model that never ends a text.
        threads: of torch during a pass; None leaves torch's setting.

    Raises:
        InputError: no start, ids outside of the model, a model that neither way evaluates as plain passes do.
    """

    def __init__(
        self, model: PreTrainedModel, *, start: Sequence[int], end: int | None, threads: int | None = None
    ) -> None:
        self.model = model.eval()
        self.start, self.end, self.threads = tuple(start), end, threads
        self.name = type(model).__name__
        embeddings: Any = model.get_input_embeddings()
        self.size = int(embeddings.weight.shape[0])
        check_ends(self.name, self.size, self.start, end)
        self.attention, self.why_rows = attention_of(model)
        positions = position_limit(model)
        self.limit = None if positions is None else positions - len(self.start)
        self.way: Way = "rows" if self.why_rows else "tree"
        _settle(self)

    def tree(self) -> ContextTree:
        """A new tree with nothing but its root."""
        return CachedTree(self) if self.way == "tree" else RowTree(self)

    def cache(self) -> "TransformersCache":
        """An empty cache of slots."""
        return TransformersCache(self)

    @torch.inference_mode()
    def forward(self, ids: Sequence[Sequence[int]], **inputs: Any) -> torch.Tensor:
        """Logits [rows, tokens, ids] of one pass."""
        with _threads(self.threads):
            found: Any = self.model(input_ids=torch.tensor(ids, device=self.model.device), **inputs)
            logits: torch.Tensor = found.logits
            return logits


class TransformersCache:
    """The keys and values of a model, a slot a token."""

    def __init__(self, model: TransformersModel) -> None:
        self._model = model
        self._layers = [SlotLayer() for _ in range(model.attention.layers)]
        self._cache = Cache(layers=list(self._layers))

    def evaluate(
        self, tokens: list[int], positions: NDArray[np.int64], seen: NDArray[np.bool_], *, last_only: bool
    ) -> NDArray[np.float32]:
        """Logits after new tokens; see SlotCache."""
        for layer in self._layers:
            layer.used = len(positions) - len(tokens)  # also after a pass that failed
        device, attention = self._model.model.device, self._model.attention
        new = positions[-len(tokens) :]
        near = seen if attention.window is None else new[:, None] - positions < attention.window
        logits = self._model.forward(
            [tokens],
            attention_mask=attention.mask(*(torch.from_numpy(part)[None, None].to(device) for part in (seen, near))),
            position_ids=torch.from_numpy(new)[None].to(device),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=int(last_only),
        )
        return logits[0].float().cpu().numpy()

    def select(self, slots: NDArray[np.int64]) -> None:
        """Keep these slots, ascending, and number them anew from 0."""
        kept = torch.from_numpy(slots)
        for layer in self._layers:
            layer.select(kept)


@contextmanager
def _threads(threads: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    if threads is None or threads == before:
        yield
        return
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _settle(model: TransformersModel) -> None:
    """Choose the way of evaluation by trial: the tree if it agrees with plain passes, else rows. Raises InputError."""
    if model.way == "tree":
        reason = _disagreement(model)
        if not reason:
            return
        model.way, model.why_rows = "rows", reason
    if reason := _disagreement(model):
        raise InputError(
            f"{model.name}: contexts evaluated together differ from plain passes ({reason}); use another model, or "
            "load it with attn_implementation='eager'"
        )


def _disagreement(model: TransformersModel) -> str:
    """How a small tree with three branches differs from plain passes; empty where it does not."""
    parents = [0, 0, 1, 2, 3, 3, 5, 6, 7, 8]  # two levels at once, nodes side by side, then a branch of its own
    tokens = [(7 * i + 1) % model.size for i in range(len(parents))]
    depth = [0]
    for parent in parents:
        depth.append(depth[parent] + 1)
    nodes = [i for i in range(len(parents)) if model.limit is None or depth[i + 1] <= model.limit]
    parents, tokens = [parents[i] for i in nodes], [tokens[i] for i in nodes]
    paths = [model.start]
    for parent, token in zip(parents, tokens, strict=True):
        paths.append((*paths[parent], token))
    tree = model.tree()
    try:
        found = np.vstack([tree.root(), tree.extend(parents[:4], tokens[:4]), tree.extend(parents[4:], tokens[4:])])
    except Exception as error:  # A model that does not take a tree may raise anything.
        reason = (str(error).strip() or type(error).__name__).partition("\n")[0]
        return f"it takes no tree: {reason}"[:200]
    coarse = next(model.model.parameters()).dtype not in (torch.float32, torch.float64)
    tolerance = _COARSE_TOLERANCE if coarse else _TOLERANCE
    for path, logits in zip(paths, found, strict=True):
        plain = model.forward([path], use_cache=False)[0, -1].float().cpu().numpy()
        if not np.isfinite(plain).all():
            return "a plain pass gives logits that are not finite"
        if (difference := np.abs(plain - logits).max()) > tolerance * max(1.0, float(np.abs(plain).max())):
            return f"logits differ by {difference:.2g} after {len(path)} tokens"
    return ""


_FULL, _SLIDING = "full_attention", "sliding_attention"
_WINDOWS = ("sliding_window", "window_size", "attention_window", "attention_chunk_size", "sliding_window_size")
_GROWING_ROPE = ("longrope", "dynamic")  # Rotations change for all tokens when a text grows beyond this length.


class Attention(NamedTuple):
    """How a model takes the mask of a tree."""

    layers: int
    window: int | None
    """last tokens of its path that a token sees in sliding layers, itself included; None without such layers"""
    is_mixed: bool
    """whether other layers see all: the model takes a mask for each kind"""
    additive: bool
    """the mask is added to scores (eager attention), not boolean"""
    dtype: torch.dtype

    def mask(self, seen: torch.Tensor, near: torch.Tensor) -> torch.Tensor | dict[str, torch.Tensor]:
        """bool[1, 1, new, slots] what each token sees, and what of it is near (in the window) -> the model's mask."""
        if self.is_mixed:
            return {_FULL: self._converted(seen), _SLIDING: self._converted(seen & near)}
        return self._converted(seen if self.window is None else seen & near)

    def _converted(self, seen: torch.Tensor) -> torch.Tensor:
        if not self.additive:
            return seen
        hidden = torch.finfo(self.dtype).min
        return torch.zeros(seen.shape, dtype=self.dtype, device=seen.device).masked_fill_(~seen, hidden)


def attention_of(model: PreTrainedModel) -> tuple[Attention, str]:
    """The attention of a model, and why it takes no tree (empty where it does, as far as its configuration says)."""
    config: Any = model.config.get_text_config()
    layers = int(getattr(config, "num_hidden_layers", 0) or 0)
    kinds = {
        str(kind) for kind in getattr(config, "layer_types", None) or getattr(config, "attention_layers", None) or ()
    }
    window, reason = _window(config, kinds)
    if not layers:
        reason = "its configuration names no number of layers"
    additive = getattr(config, "_attn_implementation", None) != "sdpa"
    return Attention(layers, window, kinds == {_FULL, _SLIDING}, additive, model.dtype), reason


def position_limit(model: PreTrainedModel) -> int | None:
    """The longest sequence over which a token's representation does not depend on later ones, None for any."""
    config: Any = model.config.get_text_config()
    limit = getattr(config, "max_position_embeddings", None)
    rope = getattr(config, "rope_parameters", None) or {}
    if isinstance(rope, dict) and rope.get("rope_type") in _GROWING_ROPE:
        limit = rope.get("original_max_position_embeddings") or limit
    return None if limit is None else int(limit)


def _window(config: Any, kinds: set[str]) -> tuple[int | None, str]:
    """The window of the layers that have one, or why there is no such window."""
    if kinds and kinds <= {_FULL, "global"}:
        return None, ""
    if kinds - {_FULL, _SLIDING}:
        return None, f"its layers attend differently ({', '.join(sorted(kinds))})"
    if not kinds and getattr(config, "use_sliding_window", True) is False:
        return None, ""
    found = {name: getattr(config, name, None) for name in _WINDOWS}
    windows = {name: window for name, window in found.items() if window}
    if not windows and not kinds:
        return None, ""
    if set(windows) == {"sliding_window"} and isinstance(windows["sliding_window"], int):
        return windows["sliding_window"], ""
    return None, f"its attention has a window of a kind that is not known ({', '.join(windows) or 'no size'})"


class SlotLayer(DynamicLayer):
    """One layer's keys and values [1, heads, slots, size] in buffers that double when they are full."""

    is_croppable = False

    def __init__(self) -> None:
        super().__init__()
        self.used = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Allocate buffers shaped as these states."""
        self.keys, self.values = (_buffer(states[:, :, :0], FIRST_SLOTS) for states in (key_states, value_states))
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_args: object, **_options: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the states of new nodes. Returns the states of all slots, views of the buffers."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None and self.values is not None
        first, self.used = self.used, self.used + key_states.shape[-2]
        if self.used > self.keys.shape[-2]:
            slots = max(2 * self.keys.shape[-2], self.used)
            self.keys = _buffer(self.keys[:, :, :first], slots)
            self.values = _buffer(self.values[:, :, :first], slots)
        self.keys[:, :, first : self.used] = key_states
        self.values[:, :, first : self.used] = value_states
        return self.keys[:, :, : self.used], self.values[:, :, : self.used]

    def select(self, slots: torch.Tensor) -> None:
        """Keep these slots, int64[kept] ascending, in their order."""
        if self.keys is not None and self.values is not None:
            slots, room = slots.to(self.keys.device), max(2 * len(slots), FIRST_SLOTS)
            self.keys = _buffer(self.keys.index_select(2, slots), room)
            self.values = _buffer(self.values.index_select(2, slots), room)

    def get_seq_length(self) -> int:
        """Slots in use."""
        return self.used


def _buffer(states: torch.Tensor, slots: int) -> torch.Tensor:
    """A buffer of so many slots, the first of which hold some states."""
    buffer = states.new_empty((*states.shape[:2], slots, states.shape[3]))
    buffer[:, :, : states.shape[2]] = states
    return buffer
