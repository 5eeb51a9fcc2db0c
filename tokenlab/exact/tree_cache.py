"""A context tree in one pass: keys and values of its nodes, one slot a node, in one buffer a layer; and its masks.

All branches of a tree are one sequence of batch size 1: which slots a node sees is a row of a boolean matrix, and that
is the attention mask (`Attention`, by the configuration of the model). So branches share what they have in common, and
a pass over new nodes of many branches is one matrix product.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, CacheLayerMixin

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


_FIRST_SLOTS = 64


class SlotLayer(CacheLayerMixin):
    """One layer's keys and values [1, heads, slots, size] in buffers that double when they are full."""

    is_compileable = False
    is_croppable = False
    is_sliding = False

    def __init__(self) -> None:
        super().__init__()
        self.used = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Allocate buffers shaped as these states."""
        self.keys, self.values = _empty(key_states, _FIRST_SLOTS), _empty(value_states, _FIRST_SLOTS)
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
            self.keys = _copied(self.keys[:, :, :first], _empty(self.keys, slots))
            self.values = _copied(self.values[:, :, :first], _empty(self.values, slots))
        self.keys[:, :, first : self.used] = key_states
        self.values[:, :, first : self.used] = value_states
        return self.keys[:, :, : self.used], self.values[:, :, : self.used]

    def select(self, slots: torch.Tensor) -> None:
        """Keep these slots, int64[kept] ascending, in their order."""
        if self.keys is not None and self.values is not None:
            slots = slots.to(self.keys.device)
            self.keys = _copied(self.keys.index_select(2, slots), _empty(self.keys, max(2 * len(slots), _FIRST_SLOTS)))
            kept = self.values.index_select(2, slots)
            self.values = _copied(kept, _empty(self.values, self.keys.shape[-2]))
        self.used = len(slots)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Slots after a pass of this length, and the offset of the first."""
        return self.used + query_length, 0

    def get_seq_length(self) -> int:
        """Slots in use."""
        return self.used

    def get_max_length(self) -> int:
        """No maximum."""
        return -1


class TreeCache:
    """The slots of a tree: which are visible from each, how deep each is, and the layers' buffers."""

    def __init__(self, layers: int) -> None:
        self.layers = [SlotLayer() for _ in range(layers)]
        self.cache = Cache(layers=list(self.layers))
        self.used = 0
        self._paths = np.zeros((_FIRST_SLOTS, _FIRST_SLOTS), np.bool_)  # [slot, slot] ancestors and itself
        self._depth = np.zeros(_FIRST_SLOTS, np.int64)  # tokens before it

    @property
    def positions(self) -> NDArray[np.int64]:
        """int64[slots in use]: the number of tokens before each on its path."""
        return self._depth[: self.used]

    def append(self, parents: Sequence[int]) -> NDArray[np.bool_]:
        """Take a slot for each new node; a parent is a slot, possibly of the same call, or -1.

        Returns: bool[new, slots] what each new node sees: its ancestors and itself.
        """
        first, self.used = self.used, self.used + len(parents)
        self._reserve()
        paths, depth = self._paths, self._depth
        for slot, parent in enumerate(parents, first):
            if parent >= 0:
                paths[slot, :slot] = paths[parent, :slot]
                depth[slot] = depth[parent] + 1
            else:
                paths[slot, :slot] = False
                depth[slot] = 0
            paths[slot, slot:] = False
            paths[slot, slot] = True
        return paths[first : self.used, : self.used].copy()

    def drop_last(self, count: int) -> None:
        """Give back the slots of a pass that failed."""
        self.used -= count
        for layer in self.layers:
            layer.used = min(layer.used, self.used)

    def visible_from(self, slots: Sequence[int]) -> NDArray[np.bool_]:
        """bool[slots in use]: the union of the paths to these slots."""
        return np.logical_or.reduce(self._paths[np.asarray(slots, np.int64), : self.used], axis=0)

    def select(self, slots: NDArray[np.int64]) -> None:
        """Keep these slots, ascending, and number them anew from 0."""
        kept = torch.from_numpy(slots)
        for layer in self.layers:
            layer.select(kept)
        self.used = len(slots)
        self._paths[: self.used, : self.used] = self._paths[np.ix_(slots, slots)]
        self._depth[: self.used] = self._depth[slots]

    def _reserve(self) -> None:
        slots = len(self._depth)
        if self.used > slots:
            larger = max(2 * slots, self.used)
            paths, depth = np.zeros((larger, larger), np.bool_), np.zeros(larger, np.int64)
            paths[:slots, :slots], depth[:slots] = self._paths, self._depth
            self._paths, self._depth = paths, depth


def _empty(like: torch.Tensor, slots: int) -> torch.Tensor:
    return like.new_empty((*like.shape[:2], slots, like.shape[3]))


def _copied(source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    target[:, :, : source.shape[2]] = source
    return target
