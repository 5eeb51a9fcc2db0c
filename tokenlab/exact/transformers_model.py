"""Causal language models of `transformers` as token models.

Two ways to evaluate contexts:

- `tree`: all contexts share one cache of keys and values, a slot a context; a pass evaluates new contexts of any
  branches under a mask of ancestors. For models whose attention takes a mask and positions.
- `rows`: each pass evaluates whole contexts as rows, without a cache. For recurrent models, ALiBi, and attention of
  kinds that are not known. Exact, and slow.

Which one a model gets is measured at construction: both are compared with plain passes over single sequences.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoTokenizer, PreTrainedModel

from tokenlab.core.devices import AutoDtype
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.exact.interface import ContextTree
from tokenlab.exact.tree_cache import TreeCache, attention_of, position_limit
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
        """Raise InputError for a context of so many tokens below the root."""
        if self.limit is not None and depth > self.limit:
            raise InputError(
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
    place = _device(device)
    if dtype not in get_args(AutoDtype):
        raise ParameterError(f"dtype is {dtype!r}; use one of {', '.join(get_args(AutoDtype))}")
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


def _device(name: str) -> torch.device:
    gpus = torch.cuda.device_count()
    kind, _, number = name.partition(":")
    if name == "auto":
        kind = "cuda" if gpus else "cpu"
    if kind not in ("cpu", "cuda") or (number and (kind == "cpu" or not number.isdecimal())):
        raise ParameterError(f"device is {name!r}; use auto, cpu, cuda or cuda:NUMBER")
    if kind == "cuda" and int(number or 0) >= gpus:
        raise ParameterError(f"device is {name!r}, but PyTorch sees {gpus} GPUs; use cpu, or repair the driver")
    return torch.device(kind, int(number or 0)) if kind == "cuda" else torch.device(kind)


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
