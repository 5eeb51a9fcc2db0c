"""What the configuration of a model says about its attention: layers, windows, positions, the kind of mask."""

from typing import Any, NamedTuple

import torch
from transformers import PreTrainedModel

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
