"""Next-token entropies of texts by a causal language model.

H_t = -sum_x p(x | x_<t) ln p(x | x_<t), in nats, float32, from one teacher-forced pass (Entropy-driven
pre-tokenization, equation 1). H_t is the uncertainty about the token at position t:

- H_0 is predicted from the special tokens before every text ([CLS], BOS); it is NaN where there are none.
- The value of a token is assigned to the character at which the token begins; other characters of the token, and
  characters that the tokenizer drops, have no value. In bytes it is assigned to the token's first byte. A byte-level
  model gives a value to every byte; a character then has the value of its first byte.
- A text longer than the context is read in overlapping windows; see `windows`.

Windows of similar length go through the model together, padded on the right. A causal model does not attend to the
padding, so no mask is needed. The output embeddings and the softmax are applied to a few positions at a time, always in
float32, so the logits of a whole batch are never in memory. With `bfloat16` the layers below run under autocast.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from tokenlab.core.batches import in_batches
from tokenlab.core.devices import AutoDtype, all_devices
from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice
from tokenlab.entropy.options import ScoringOptions, Unit
from tokenlab.entropy.windows import Window, plan_batches, plan_windows
from tokenlab.pretrained.loading import LoadedModel, load_model
from tokenlab.pretrained.token_offsets import TextTokens

_LARGEST_CONTEXT = 1024  # By default: a longer context costs more and hardly improves predictions.
_BATCH_TOKENS = {"cpu": 1024, "cuda": 1 << 14}  # On CPU 32 MB of activations a layer at width 1,024; more is slower.
_LOGITS = {"cpu": 1 << 23, "cuda": 1 << 27}  # numbers in a chunk of logits
_OWN_LOGITS = 1 << 28  # numbers in a batch of logits of a model without a plain head
_BATCHES_PER_BLOCK = 16

DEFAULT = ScoringOptions()


class Scorer:
    """A language model on its devices. Made by `load_scorer`."""

    def __init__(self, loaded: LoadedModel, devices: Sequence[torch.device], dtype: torch.dtype) -> None:
        self.loaded = loaded
        self.devices = tuple(devices)
        self.dtype = dtype
        self._free: SimpleQueue[_Replica] = SimpleQueue()
        for number, device in enumerate(devices):
            model: Any = copy.deepcopy(loaded.model) if number else loaded.model
            self._free.put(_Replica(model.to(device), device, dtype, loaded.has_plain_head))

    def window(self, options: ScoringOptions = DEFAULT) -> tuple[int, int]:
        """Context and stride in tokens, resolved from these options.

        Raises ParameterError where the context exceeds the model's, or is too short for text or for the stride.
        """
        limit, prefix = self.loaded.limit, len(self.loaded.prefix)
        context = options.context or min(limit or _LARGEST_CONTEXT, _LARGEST_CONTEXT)
        if limit is not None and context > limit:
            raise ParameterError(f"context is {context}, but the model has {limit} positions; use at most those")
        stride = options.stride or max(1, min(context // 2, context - prefix))
        next(plan_windows(0, 2, prefix, context, stride))
        return context, stride

    def block_characters(self, options: ScoringOptions = DEFAULT) -> int:
        """Number of characters to pass to `score` at once: enough for batches of similar length on every device."""
        return _BATCHES_PER_BLOCK * self._batch_tokens(options) * len(self.devices)

    def score(self, texts: Sequence[str], options: ScoringOptions = DEFAULT) -> list[NDArray[np.float32]]:
        """The entropies of each text, float32[characters] or float32[bytes], in nats, NaN where there is none.

        Values depend on the other texts of a batch only by rounding (1e-5).

        Raises:
            InputError: a lone surrogate, or a character that the tokenizer rejects.
            ParameterError: as `window`.
        """
        context, stride = self.window(options)
        prefix = len(self.loaded.prefix)
        tokens = self.loaded.encoder.encode(texts)
        windows = [w for text, t in enumerate(tokens) for w in plan_windows(text, len(t.ids), prefix, context, stride)]
        batches = list(plan_batches(windows, prefix, self._batch_tokens(options)))
        values = [np.full(len(text.ids), np.nan, np.float32) for text in tokens]
        for batch, entropies in zip(batches, self._scored(tokens, batches), strict=True):
            place = 0
            for window in batch:
                given = window.end + 1 - window.target
                values[window.text][window.target : window.end + 1] = entropies[place : place + given]
                place += given
        return [_placed(text, value, options.unit) for text, value in zip(tokens, values, strict=True)]

    def score_stream(
        self, texts: Iterable[str], options: ScoringOptions = DEFAULT
    ) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Each text with its entropies, in order, as `score`; holds one block of texts in memory."""
        for block in in_batches(texts, self.block_characters(options), size=lambda text: len(text) + 1):
            yield from zip(block, self.score(block, options), strict=True)

    def _batch_tokens(self, options: ScoringOptions) -> int:
        wanted = options.batch_tokens or _BATCH_TOKENS[self.devices[0].type]
        if self.loaded.has_plain_head:
            return wanted
        return max(1, min(wanted, _OWN_LOGITS // self.loaded.encoder.size))

    def _scored(
        self, tokens: Sequence[TextTokens], batches: Sequence[Sequence[Window]]
    ) -> Iterator[NDArray[np.float32]]:
        """The values of each batch, window after window. A batch goes to the first free device."""
        prefix = np.array(self.loaded.prefix, np.int64)

        def run(batch: Sequence[Window]) -> Tensor:
            ids, rows, columns = _padded(tokens, batch, prefix)
            replica = self._free.get()
            try:
                return replica.entropies(ids, rows, columns)
            except torch.OutOfMemoryError:
                raise ParameterError(
                    f"batch_tokens of {ids.numel()} need more memory than the GPU has; use fewer"
                ) from None
            finally:
                self._free.put(replica)

        if len(self.devices) == 1:
            results = list(map(run, batches))  # On a GPU, all batches are queued before the first result is awaited.
        else:
            with ThreadPoolExecutor(len(self.devices)) as pool:
                results = list(pool.map(run, batches))
        return (result.cpu().numpy() for result in results)


class _Replica:
    """The model on one device."""

    def __init__(self, model: PreTrainedModel, device: torch.device, dtype: torch.dtype, has_plain_head: bool) -> None:
        self._model, self._device, self._dtype, self._has_plain_head = model, device, dtype, has_plain_head

    @torch.inference_mode()
    def entropies(self, ids: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """The entropies at positions (rows, columns) of ids, int64[batch, length]; float32[positions]."""
        ids, rows, columns = (tensor.to(self._device, non_blocking=True) for tensor in (ids, rows, columns))
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._dtype is torch.bfloat16):
            if not self._has_plain_head:
                logits = self._model(input_ids=ids, use_cache=False).logits[rows, columns]
                return torch.cat([_entropy(chunk.float()) for chunk in logits.split(self._positions(logits.shape[1]))])
            states = self._model.base_model(input_ids=ids, use_cache=False).last_hidden_state[rows, columns]
        head: Any = self._model.get_output_embeddings()
        chunks = states.split(self._positions(head.weight.shape[0]))
        return torch.cat([_entropy(head(chunk.float())) for chunk in chunks])

    def _positions(self, vocabulary: int) -> int:
        return max(1, _LOGITS[self._device.type] // vocabulary)


def load_scorer(
    name: str | Path,
    device: str | Sequence[str] = "auto",
    dtype: AutoDtype = "auto",
) -> Scorer:
    """Load a model to score texts with.

    Args:
        name: a local folder or a name on the Hugging Face hub; see `load_model`.
        device: `auto` (every visible GPU, else the CPU), `cpu`, `cuda` (every visible GPU), `cuda:1`, or several; each
            gets a copy of the model.
        dtype: of the layers: `float32`, `bfloat16`, or `auto`: bfloat16 on GPUs that support it. Weights stay float32.

    Raises:
        InputError, SourceError: as `load_model`.
        ParameterError: a device that is not there; an unknown dtype.
    """
    devices = all_devices(device)
    check_choice("dtype", dtype, AutoDtype)
    if dtype == "auto":
        has_bfloat16 = devices[0].type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        dtype = "bfloat16" if has_bfloat16 else "float32"
    return Scorer(load_model(name), devices, getattr(torch, dtype))


def _padded(
    tokens: Sequence[TextTokens], batch: Sequence[Window], prefix: NDArray[np.int64]
) -> tuple[Tensor, Tensor, Tensor]:
    """Ids of a batch, int64[windows, length], and the rows and columns whose outputs predict the targets."""
    length = len(prefix) + max(window.end - window.first for window in batch)
    ids = np.empty((len(batch), length), np.int64)
    rows, columns = [], []
    for row, window in enumerate(batch):
        inputs = np.concatenate((prefix, tokens[window.text].ids[window.first : window.end]))
        ids[row, : len(inputs)] = inputs
        ids[row, len(inputs) :] = inputs[0]  # Any token will do; with [PAD], transformers would warn of a missing mask.
        first = len(prefix) + window.target - window.first - 1
        rows.append(np.full(len(inputs) - first, row))
        columns.append(np.arange(first, len(inputs)))
    return torch.from_numpy(ids), torch.from_numpy(np.concatenate(rows)), torch.from_numpy(np.concatenate(columns))


def _entropy(logits: Tensor) -> Tensor:
    """Entropy in nats of softmax(logits), float32[positions] from float32[positions, vocabulary], which is overwritten.

    With z = logits minus their maximum, H = ln sum e^z - sum z e^z / sum e^z; no large numbers are subtracted.
    """
    logits.sub_(logits.amax(-1, keepdim=True)).clamp_(min=-200.0)  # e^-200 is 0 in float32.
    weights = logits.exp()
    total = weights.sum(-1)
    return total.log() - weights.mul_(logits).sum(-1) / total


def _placed(text: TextTokens, values: NDArray[np.float32], unit: Unit) -> NDArray[np.float32]:
    in_bytes = np.full(text.character[-1], np.nan, np.float32)
    has_place = text.start >= 0
    in_bytes[text.start[has_place]] = values[has_place]
    return in_bytes if unit == "bytes" else in_bytes[text.character[:-1]]
