"""Entropies of the next byte by a byte-level language model, for texts of any length.

A text is read in windows of `context` bytes, each half a window after the one before; of all but the first, the latter
half counts. So a byte of a long text is predicted from at least half a window, and its entropy depends on nothing but
the bytes of its window before it.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.networks.interface import CodedPassage

if TYPE_CHECKING:
    from tokenlab.networks.token_network import TokenNetwork

BATCH = 1 << 15
"""Bytes that go through the network at once."""
_NO_STARTS = np.zeros(0, np.int32)


class Window(NamedTuple):
    """A window of a text, and the bytes whose entropies are taken from it."""

    start: int
    first: int
    end: int


def windows(size: int, context: int) -> Iterator[Window]:
    """The windows of a text of `size` bytes. Their bytes from `first` to `end` are the text, each once."""
    start, first = 0, 0
    while first < size:
        end = min(start + context, size)
        yield Window(start, first, end)
        start, first = start + context // 2, end


def window_of(place: int, context: int) -> int:
    """The start of the window from which the entropy of the byte at `place` is taken."""
    stride = context // 2
    return 0 if place < context else (1 + (place - context) // stride) * stride


def text_entropies(network: "TokenNetwork", texts: Sequence[bytes], context: int) -> list[NDArray[np.float32]]:
    """The entropy of each byte given the bytes before it, in nats; float32[bytes] of each text.

    Args:
        network: over 256 symbols, the bytes.
        context: bytes of a window, at least 2: those of the pieces on which the network was trained.

    Raises InputError for a network over other symbols, ParameterError for a context below 2.
    """
    check_network(network, context)
    found = [np.empty(len(text), np.float32) for text in texts]
    batch: list[tuple[int, Window]] = []
    size = 0
    for number, text in enumerate(texts):
        for window in windows(len(text), context):
            batch.append((number, window))
            size += window.end - window.start
            if size >= BATCH:
                _fill(network, texts, batch, found)
                batch, size = [], 0
    if batch:
        _fill(network, texts, batch, found)
    return found


def lone_window(network: "TokenNetwork", data: bytes, context: int) -> NDArray[np.float32]:
    """float32[context]: the entropies of a window of at most `context` bytes, computed alone and at full length.

    That of a byte is always the same number for the same bytes before it; those of `text_entropies` depend on the
    batch, by rounding. Only the first one beyond the window's bytes has a meaning: that of the byte to come.
    """
    return _entropies(network, [data.ljust(context, b"\0")])


def check_network(network: Any, context: int) -> None:
    """Raise InputError where the network is not one over bytes, ParameterError for a context below 2."""
    if getattr(network.shape, "vocabulary", None) != 256:
        raise InputError("the entropy model is no Transformer over bytes; train one with 256 symbols")
    if context < 2:
        raise ParameterError(f"context is {context}; a window has at least 2 bytes")


def entropy_of(logits: torch.Tensor) -> torch.Tensor:
    """float32[rows]: entropies in nats of the distributions with these logits, float32[rows, symbols]."""
    log_probabilities = torch.log_softmax(logits.float(), dim=-1)
    return -(log_probabilities.exp() * log_probabilities).sum(dim=-1)


def _fill(
    network: "TokenNetwork", texts: Sequence[bytes], batch: list[tuple[int, Window]], found: list[NDArray[np.float32]]
) -> None:
    entropies = _entropies(network, [texts[number][window.start : window.end] for number, window in batch])
    at = 0
    for number, (start, first, end) in batch:
        found[number][first:end] = entropies[at + first - start : at + end - start]
        at += end - start


def _entropies(network: "TokenNetwork", parts: Sequence[bytes]) -> NDArray[np.float32]:
    """Of the bytes of all parts, end to end."""
    rows = [[CodedPassage(np.frombuffer(part, np.uint8).astype(np.int32), _NO_STARTS, len(part))] for part in parts]
    with torch.no_grad():
        batch = network.collate(rows).to(network.embedding.device)
        return entropy_of(network.logits(batch)).cpu().numpy()
