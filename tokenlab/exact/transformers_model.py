"""Causal language models of `transformers` as token models.

Two ways to evaluate contexts:

- `tree`: all contexts share one cache of keys and values, a slot a context (`TreeCache`); a pass evaluates new contexts
  of any branches, as one sequence of batch size 1, under a mask of ancestors (`Attention`). For models whose attention
  takes a mask and positions.
- `rows`: each pass evaluates whole contexts as rows, without a cache. For recurrent models, ALiBi, and attention of
  kinds that are not known. Exact, and slow.

Which one a model gets is measured at construction: both are compared with plain passes over single sequences.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoTokenizer, PreTrainedModel
from transformers.cache_utils import Cache, DynamicLayer

from tokenlab.core.devices import AutoDtype, all_devices
from tokenlab.core.errors import InputError
from tokenlab.core.options import check_choice
from tokenlab.exact.interface import ContextTooLong, ContextTree
from tokenlab.pretrained.loading import load_model

if TYPE_CHECKING:
    from tokenlab.exact.adapters.real import RealTokenizer


_TOLERANCE = 1e-4  # of the largest logit; float32 differs by 1e-6 to 1e-5 through different shapes of a pass
_COARSE_TOLERANCE = 0.05  # of 16-bit weights
_COMPACT_ABOVE = 64  # slots
_LOGITS = 1 << 28  # of one pass over rows: 1 GiB in float32
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
        if not self.start:
            raise InputError(
                f"{self.name}: no start token, so P(first token) is unknown; give it the BOS (or the EOS) after which "
                "it was trained to begin a text"
            )
        for what, id in [*(("start", token) for token in self.start), *([("end", end)] if end is not None else [])]:
            if not 0 <= id < self.size:
                raise InputError(f"{self.name}: {what} token {id} is not among its {self.size} ids; check the id")
        self.attention, self.why_rows = attention_of(model)
        positions = position_limit(model)
        self.limit = None if positions is None else positions - len(self.start)
        self.way: Way = "rows" if self.why_rows else "tree"
        _settle(self)

    def tree(self) -> ContextTree:
        """A new tree with nothing but its root."""
        return CachedTree(self) if self.way == "tree" else RowTree(self)

    @torch.inference_mode()
    def forward(self, ids: Sequence[Sequence[int]], **inputs: Any) -> torch.Tensor:
        """Logits [rows, tokens, ids] of one pass."""
        with _threads(self.threads):
            found: Any = self.model(input_ids=torch.tensor(ids, device=self.model.device), **inputs)
            logits: torch.Tensor = found.logits
            return logits

    def check_depth(self, depth: int) -> None:
        """Raise ContextTooLong for a context of so many tokens below the root."""
        if self.limit is not None and depth > self.limit:
            raise ContextTooLong(
                f"{self.name}: a context of {depth + len(self.start)} tokens, but it has positions for "
                f"{self.limit + len(self.start)}; shorten the text or begin it later"
            )


class CachedTree:
    """A context tree in one cache of keys and values."""

    def __init__(self, model: TransformersModel) -> None:
        self.contexts = self.passes = self.tokens = 0
        self._model = model
        self._slots = TreeCache(model.attention.layers)
        self._slot: dict[int, int] = {}  # of each node that is kept
        self._nodes = 1
        self._root: NDArray[np.float32] | None = None

    def root(self) -> NDArray[np.floating]:
        """[ids] logits of the first token."""
        if self._root is None:
            start = self._model.start
            self._root = self._evaluate([-1, *range(len(start) - 1)], list(start), logits_to_keep=1)[0]
            self._slot[0] = len(start) - 1
            self.contexts = 1
        return self._root

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> NDArray[np.floating]:
        """float32[nodes, ids] logits after each new node, by one pass; see ContextTree."""
        _check_nodes(parents, tokens, self._nodes, self._model.size)
        if not len(parents):
            return np.empty((0, self._model.size), np.float32)
        self.root()
        shift = self._slots.used - self._nodes  # from the number of a new node to its slot
        if forgotten := {parent for parent in parents if parent < self._nodes} - self._slot.keys():
            raise ValueError(f"node {min(forgotten)} was forgotten")
        slots = [parent + shift if parent >= self._nodes else self._slot[parent] for parent in parents]
        logits = self._evaluate(slots, list(tokens))
        new = range(self._nodes, self._nodes + len(parents))
        self._slot.update((node, node + shift) for node in new)
        self._nodes = new.stop
        self.contexts += len(new)
        return logits

    def keep(self, nodes: Sequence[int]) -> None:
        """Forget all nodes but these and their ancestors; compacts the cache when less than half of it is alive."""
        if self._root is None:
            return
        alive = self._slots.visible_from([*{self._slot[node] for node in nodes}, self._slot[0]])
        self._slot = {node: slot for node, slot in self._slot.items() if alive[slot]}
        if self._slots.used > max(_COMPACT_ABOVE, 2 * int(alive.sum())):
            self._slots.select(np.flatnonzero(alive))
            number = np.cumsum(alive) - 1
            self._slot = {node: int(number[slot]) for node, slot in self._slot.items()}

    def _evaluate(self, parents: list[int], tokens: list[int], **inputs: Any) -> NDArray[np.float32]:
        seen = torch.from_numpy(self._slots.append(parents))
        positions = torch.from_numpy(self._slots.positions)
        new = positions[-len(parents) :]
        try:
            self._model.check_depth(int(new.max()) + 1 - len(self._model.start))
            device, attention = self._model.model.device, self._model.attention
            near = seen if attention.window is None else new[:, None] - positions < attention.window
            logits = self._model.forward(
                [tokens],
                attention_mask=attention.mask(seen[None, None].to(device), near[None, None].to(device)),
                position_ids=new[None].to(device),
                past_key_values=self._slots.cache,
                use_cache=True,
                **inputs,
            )
        except BaseException:
            self._slots.drop_last(len(parents))
            raise
        self.passes += 1
        self.tokens += len(tokens)
        return logits[0].float().cpu().numpy()


class RowTree:
    """A context tree without a cache: a pass evaluates the longest new paths as rows, padded on the right.

    More than one pass where the logits of all positions would fill the memory.
    """

    def __init__(self, model: TransformersModel) -> None:
        self.contexts = self.passes = self.tokens = 0
        self._model = model
        self._paths: dict[int, tuple[int, ...]] = {0: model.start}
        self._nodes = 1
        self._root: NDArray[np.float32] | None = None

    def root(self) -> NDArray[np.floating]:
        """[ids] logits of the first token."""
        if self._root is None:
            self._root = self._evaluate([self._model.start])[0]
        return self._root

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> NDArray[np.floating]:
        """float32[nodes, ids] logits after each new node, by one pass; see ContextTree."""
        _check_nodes(parents, tokens, self._nodes, self._model.size)
        if not len(parents):
            return np.empty((0, self._model.size), np.float32)
        paths = dict(self._paths)
        for node, (parent, token) in enumerate(zip(parents, tokens, strict=True), self._nodes):
            paths[node] = (*paths[parent], token)
        new = [paths[node] for node in range(self._nodes, self._nodes + len(parents))]
        self._model.check_depth(max(map(len, new)) - len(self._model.start))
        logits = self._evaluate(new)
        self._paths, self._nodes = paths, self._nodes + len(parents)
        return logits

    def keep(self, nodes: Sequence[int]) -> None:
        """Forget all nodes but these and their ancestors."""
        kept = {self._paths[node][:length] for node in nodes for length in range(1, len(self._paths[node]) + 1)}
        self._paths = {node: path for node, path in self._paths.items() if not node or path in kept}

    def _evaluate(self, contexts: list[tuple[int, ...]]) -> NDArray[np.float32]:
        """Logits after each context. What follows in a row changes nothing in a causal model, so rows need no mask."""
        rows = _longest(contexts)
        places = [(next(i for i, row in enumerate(rows) if row[: len(c)] == c), len(c) - 1) for c in contexts]
        found = np.empty((len(contexts), self._model.size), np.float32)
        width = max(map(len, rows))
        step = max(1, _LOGITS // (width * self._model.size))
        for first in range(0, len(rows), step):
            chunk = rows[first : first + step]
            logits = self._model.forward([[*row, *[0] * (width - len(row))] for row in chunk], use_cache=False)
            self.passes += 1
            for i, (row, last) in enumerate(places):
                if first <= row < first + step:
                    found[i] = logits[row - first, last].float().cpu().numpy()
        self.tokens += sum(map(len, rows))
        self.contexts += len(contexts)
        return found


def load(
    name: str | Path,
    threads: int | None = None,
    device: str = "auto",
    dtype: str = "auto",
    *,
    ignore_normalizer: bool = False,
) -> "tuple[TransformersModel, RealTokenizer]":
    """A model and its tokenizer, by a folder or by a name on the hub.

    Args:
        device: `auto` (the first GPU, else the CPU), `cpu`, `cuda` or `cuda:1`.
        dtype: number format of model and cache, `float32` or `bfloat16`. `auto` is float32, also on GPUs: bfloat16
            moves a logit by about 0.01.
        ignore_normalizer: leave out a normaliser that makes several texts equal: texts must be normalised already.

    Raises:
        InputError, SourceError: as `load_model`, `read_tokenizer` and TransformersModel.
        ParameterError: a device that is not there; an unknown dtype.
    """
    place = all_devices(device)[0]
    check_choice("dtype", dtype, AutoDtype)
    loaded = load_model(name)
    real = _tokenizer(loaded.folder, ignore_normalizer)
    loaded.model.to(place, torch.bfloat16 if dtype == "bfloat16" else torch.float32)  # type: ignore[arg-type]
    end = real.eos if real.eos is not None else _configured_end(loaded.model)
    start = loaded.prefix or (() if real.bos is None else (real.bos,))
    return TransformersModel(loaded.model, start=start, end=end, threads=threads), real


def _tokenizer(folder: Path, ignore_normalizer: bool) -> "RealTokenizer":
    from tokenlab.exact.adapters.hugging_face import from_tokenizer
    from tokenlab.exact.adapters.reading import read_tokenizer

    if not (folder / "vocab.txt").is_file() or (folder / "tokenizer.json").is_file():
        return read_tokenizer(folder, ignore_normalizer=ignore_normalizer)
    tokenizer: Any = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    return from_tokenizer(
        tokenizer.backend_tokenizer,
        name=folder.name,
        bos=tokenizer.bos_token_id,
        eos=tokenizer.eos_token_id,
        ignore_normalizer=ignore_normalizer,
    )


def _configured_end(model: PreTrainedModel) -> int | None:
    """The id of EOS by the configuration of generation, or of the model; the first of several."""
    for config in (getattr(model, "generation_config", None), model.config.get_text_config()):
        found = getattr(config, "eos_token_id", None)
        if found is not None:
            return int(found[0] if isinstance(found, (list, tuple)) else found)
    return None


def _check_nodes(parents: Sequence[int], tokens: Sequence[int], nodes: int, size: int) -> None:
    if len(parents) != len(tokens):
        raise ValueError(f"{len(parents)} parents but {len(tokens)} tokens")
    for node, (parent, token) in enumerate(zip(parents, tokens, strict=True), nodes):
        if not 0 <= parent < node:
            raise ValueError(f"node {node}: its parent {parent} does not exist")
        if not 0 <= token < size:
            raise InputError(f"token {token} is not among the model's {size} ids; use the model's own tokenizer")


def _longest(contexts: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The contexts that begin no other."""
    rows: list[tuple[int, ...]] = []
    for context in sorted(set(contexts), reverse=True):  # what begins with a context comes right before it
        if not rows or rows[-1][: len(context)] != context:
            rows.append(context)
    return rows


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


_FIRST_SLOTS = 64


class SlotLayer(DynamicLayer):
    """One layer's keys and values [1, heads, slots, size] in buffers that double when they are full."""

    is_croppable = False

    def __init__(self) -> None:
        super().__init__()
        self.used = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Allocate buffers shaped as these states."""
        self.keys, self.values = (_buffer(states[:, :, :0], _FIRST_SLOTS) for states in (key_states, value_states))
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
            slots, room = slots.to(self.keys.device), max(2 * len(slots), _FIRST_SLOTS)
            self.keys = _buffer(self.keys.index_select(2, slots), room)
            self.values = _buffer(self.values.index_select(2, slots), room)
        self.used = len(slots)

    def get_seq_length(self) -> int:
        """Slots in use."""
        return self.used


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


def _buffer(states: torch.Tensor, slots: int) -> torch.Tensor:
    """A buffer of so many slots, the first of which hold some states."""
    buffer = states.new_empty((*states.shape[:2], slots, states.shape[3]))
    buffer[:, :, : states.shape[2]] = states
    return buffer
