"""Evaluation of language models: nats of passages of text, and bits per byte of a store of passages.

Passages of similar lengths are computed together, one in each row. The nats of the marker, where a model has one,
count; it has no byte. Losses are float32, their sums float64.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tokenlab.core.devices import Dtype
from tokenlab.language.coding import Offsets
from tokenlab.language.passages import Passages
from tokenlab.language.stored import LanguageModel
from tokenlab.networks.interface import AnyNetwork, CodedPassage

_BATCH_BYTES = 1 << 16


class Scores(NamedTuple):
    """Sums over passages."""

    passages: int
    bytes: int
    symbols: int
    """Symbols that were predicted, markers included."""
    patches: int
    """0 for networks without given patches."""
    nats: float

    @property
    def bits_per_byte(self) -> float:
        """Bits per byte of the text in UTF-8."""
        return self.nats / math.log(2) / self.bytes


def passage_nats(
    model: LanguageModel,
    texts: Sequence[bytes],
    starts: Sequence[Offsets] | None = None,
    *,
    batch_bytes: int = _BATCH_BYTES,
    dtype: Dtype = "float32",
) -> NDArray[np.float64]:
    """The nats of each text, as a passage of its own.

    Args:
        model: computes where its parameters are.
        texts: of at most the model's context; longer ones are computed, too, in positions it was not trained on.
        starts: the patches of each text, which the coder otherwise finds.
        batch_bytes: bytes that are computed at once, padding included.
        dtype: number format of matrix products.

    Returns: float64[texts]. Raises InputError for a text that has no code.
    """
    coded = model.coder.code(texts, starts)
    nats = np.zeros(len(texts), np.float64)
    for numbers in _batches(coded, batch_bytes):
        nats[numbers] = _nats(model.network, [coded[number] for number in numbers], dtype)
    return nats


def evaluate(
    model: LanguageModel,
    passages: Passages,
    *,
    batch_bytes: int = _BATCH_BYTES,
    dtype: Dtype = "float32",
    most_bytes: int | None = None,
    share: tuple[int, int] = (0, 1),
) -> Scores:
    """The scores of stored passages.

    Args:
        model, batch_bytes, dtype: as in `passage_nats`.
        passages: opened with the patcher whose stored patches are used, or without a patcher, so that the coder finds
            the patches.
        most_bytes: passages are taken in their order until they have this many bytes; by default all.
        share: number of this process, and how many there are: the scores are those of its part of the passages.

    Raises InputError for a damaged file or a passage that has no code.
    """
    sums = np.zeros(4, np.int64)
    nats = 0.0
    left = math.inf if most_bytes is None else most_bytes
    for block in passages.blocks():
        sizes = np.array([*map(len, block.data)])
        taken = int(np.searchsorted(np.cumsum(sizes), left)) + 1
        left -= int(sizes.sum())
        starts = None if passages.patcher is None else block.starts[passages.patcher][:taken]
        coded = model.coder.code(block.data[:taken], starts)
        for number, numbers in enumerate(_batches(coded, batch_bytes)):
            if number % share[1] == share[0]:
                some = [coded[number] for number in numbers]
                nats += float(_nats(model.network, some, dtype).sum())
                sums += (len(some), *(sum(part) for part in zip(*map(_sizes, some), strict=True)))
        if left <= 0:
            break
    count, size, symbols, patches = sums.tolist()
    return Scores(count, size, symbols, patches, nats)


def _sizes(passage: CodedPassage) -> tuple[int, int, int]:
    return passage.size, len(passage.ids), len(passage.starts)


def _batches(coded: Sequence[CodedPassage], batch_bytes: int) -> Iterator[list[int]]:
    return similar_batches([len(passage.ids) for passage in coded], [passage.size for passage in coded], batch_bytes)


def similar_batches(lengths: Sequence[int], sizes: Sequence[int], batch_bytes: int) -> Iterator[list[int]]:
    """Numbers of texts of similar `lengths`, the longest first; texts of length 0 are left out. A batch has at most
    `batch_bytes` by the `sizes`, padding included, unless it is one text."""
    order = np.argsort(-np.asarray(lengths), kind="stable")
    some: list[int] = []
    longest = 0
    for number in order.tolist():
        if not lengths[number]:
            break
        if some and (len(some) + 1) * max(longest, sizes[number]) > batch_bytes:
            yield some
            some, longest = [], 0
        some.append(number)
        longest = max(longest, sizes[number])
    if some:
        yield some


def _nats(network: AnyNetwork, passages: Sequence[CodedPassage], dtype: Dtype) -> NDArray[np.float64]:
    """The nats of each passage."""
    device = next(network.parameters()).device
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=dtype == "bfloat16"):
        found = network.symbol_nats(network.collate([[passage] for passage in passages]).to(device))
    passage_of = np.repeat(np.arange(len(passages)), [len(passage.ids) for passage in passages])
    return np.bincount(passage_of, found.double().cpu().numpy(), len(passages)).astype(np.float64)
