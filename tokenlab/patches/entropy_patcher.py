"""Patches that begin where the next byte is hard to predict (Pagnoni et al. 2024, section 2.3).

1. `text_entropies`: entropies of the next byte by a byte-level language model, for texts of any length. A text is read
   in windows of `context` bytes, each half a window after the one before; of all but the first, the latter half counts.
   So a byte of a long text is predicted from at least half a window, and its entropy depends on nothing but the bytes
   of its window before it.
2. `EntropyPatcher`. The entropy of a byte is computed in batches for whole texts and with a cache for streams; both
   round differently. Where that could decide, within `MARGIN` of the threshold, it is computed once more, alone and at
   full length. So streams and whole texts have the same patches.
3. `calibrated`: thresholds calibrated on a corpus to a stated mean patch length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.networks.interface import NO_STARTS, CodedPassage
from tokenlab.patches.by_bytes import RuleStream, entropy_starts
from tokenlab.patches.interface import CausalStream, Starts
from tokenlab.patches.options import EntropyOptions

if TYPE_CHECKING:
    from tokenlab.networks.token_network import TokenNetwork


BATCH = 1 << 15
"""Bytes that go through the network at once."""
MARGIN = 1e-4
"""Nats. Entropies of float32 networks of a few layers differ by about 1e-6 between batch, cache and lone window."""
_DEFAULT = EntropyOptions()


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
    rows = [[CodedPassage(np.frombuffer(part, np.uint8).astype(np.int32), NO_STARTS, len(part))] for part in parts]
    with torch.no_grad():
        batch = network.collate(rows).to(network.embedding.device)
        return entropy_of(network.logits(batch)).cpu().numpy()


class EntropyPatcher:
    """The patcher of an entropy model.

    Attributes:
        network: a causal Transformer over bytes, in float32.
        context: bytes of its windows; see `tokenlab.patches.entropy_patcher`.
    """

    causal = True

    def __init__(self, network: "TokenNetwork", context: int, options: EntropyOptions = _DEFAULT) -> None:
        """Raises InputError for a network over other symbols than bytes, ParameterError for a context below 2."""
        check_network(network, context)
        self.network, self.context, self.options = network.eval(), context, options

    def with_options(self, options: EntropyOptions) -> "EntropyPatcher":
        """The same model with another rule, threshold or cap."""
        return EntropyPatcher(self.network, self.context, options)

    def entropies(self, texts: Sequence[bytes]) -> list[NDArray[np.float32]]:
        """The entropy of each byte given those before it, in nats; one pass serves several options."""
        return text_entropies(self.network, texts, self.context)

    def starts(self, texts: Sequence[bytes], entropies: Sequence[NDArray[np.float32]] | None = None) -> list[Starts]:
        """The patches of each text.

        entropies: of these texts, where they are known already.
        """
        if entropies is None:
            entropies = self.entropies(texts)
        return [
            entropy_starts(self._settled(text, found), self.options)
            for text, found in zip(texts, entropies, strict=True)
        ]

    def stream(self) -> CausalStream:
        """A new stream."""
        return RuleStream(_EntropyRule(self), self.options.cap)

    def near(self, entropies: NDArray[np.float32]) -> NDArray[np.bool_]:
        """bool[bytes]: where rounding could decide whether a patch begins; never at the first byte."""
        near = np.zeros(len(entropies), bool)
        if self.options.rule != "monotone":
            near[1:] = np.abs(entropies[1:] - np.float32(self.options.threshold)) < MARGIN
        if self.options.rule != "threshold":
            near[1:] |= np.abs(np.diff(entropies) - np.float32(self.options.rise)) < 2 * MARGIN
        return near

    def exact(self, text: bytes, place: int) -> NDArray[np.float32]:
        """float32[2]: the entropies of the byte before `place` (not 0) and of that one, each alone."""
        starts = [window_of(place - 1, self.context), window_of(place, self.context)]
        windows = {
            start: lone_window(self.network, text[start : start + self.context], self.context) for start in starts
        }
        return np.array([windows[start][place - 1 + i - start] for i, start in enumerate(starts)], np.float32)

    def _settled(self, text: bytes, entropies: NDArray[np.float32]) -> NDArray[np.float32]:
        """The entropies with exact ones where rounding could decide."""
        places = np.flatnonzero(self.near(entropies)).tolist()
        if not places:
            return entropies
        # Bytes after a place do not count for it, so one window serves all its places.
        settled = entropies.copy()
        known: dict[int, NDArray[np.float32]] = {}
        for place in sorted({place for near in places for place in (near - 1, near)}):
            start = window_of(place, self.context)
            if start not in known:
                known = {start: lone_window(self.network, text[start : start + self.context], self.context)}
            settled[place] = known[start][place - start]
        return settled


class _EntropyRule:
    """The rule byte by byte, with a cache of the network's states."""

    def __init__(self, patcher: EntropyPatcher) -> None:
        self._patcher = patcher
        self._text = bytearray()
        self._entropies = np.zeros(2, np.float32)  # Of the byte before the next one, and of the next one.
        self._size = -1  # Bytes that the cache and the entropies have seen; -1: nothing, not even the start.
        self._begins = True

    def begins(self) -> bool:
        if self._size < len(self._text):
            while self._size < len(self._text):
                self._advance()
            self._begins = self._decided()
        return self._begins

    def see(self, byte: int) -> None:
        self._text.append(byte)

    def _advance(self) -> None:
        """See one more byte, or the start of the text."""
        network, context = self._patcher.network, self._patcher.context
        self._size += 1
        start = window_of(self._size, context)
        if start != window_of(self._size - 1, context) or not self._size:
            logits, self._cache = network.begin([list(self._text[start : self._size])], context)
        else:
            byte = torch.tensor([self._text[self._size - 1]], device=network.embedding.device)
            logits = network.step(byte, self._cache)
        self._entropies[0] = self._entropies[1]
        self._entropies[1] = entropy_of(logits)[0].item()

    def _decided(self) -> bool:
        patcher, pair = self._patcher, self._entropies
        if patcher.near(pair)[1]:
            pair = patcher.exact(bytes(self._text), len(self._text))
        return len(entropy_starts(pair, replace(patcher.options, cap=None))) == 2


def mean_length(entropies: Sequence[NDArray[np.float32]], options: EntropyOptions) -> float:
    """Bytes per patch over all texts."""
    patches = sum(len(entropy_starts(text, options)) for text in entropies)
    return sum(map(len, entropies)) / patches if patches else 0.0


def calibrated(
    entropies: Sequence[NDArray[np.float32]], options: EntropyOptions, target: float = 4.0, tolerance: float = 0.1
) -> EntropyOptions:
    """The options with the threshold (rule `monotone`: the rise) that brings the mean patch length nearest to `target`.

    Args:
        entropies: float32[bytes] of each text of the corpus, in nats.
        options: rule and cap, and for `both` the rise, which stays.
        target: bytes per patch.
        tolerance: how far from the target the mean may be.

    The threshold lies halfway between two neighbouring values that occur, so that rounding errors below half their
    distance change no patch. Raises ParameterError for a target below 1, InputError where the mean cannot come so near.
    """
    if not target >= 1:
        raise ParameterError(f"target is {target}; a patch has at least 1 byte")
    name = "rise" if options.rule == "monotone" else "threshold"
    compared = [np.diff(text) if options.rule == "monotone" else text[1:] for text in entropies]
    values = np.unique(np.concatenate([np.zeros(0, np.float32), *compared])).astype(np.float64)
    if not len(values):
        raise InputError("no text with two bytes or more; there is nothing to calibrate on")
    between = np.concatenate([values[:1] - 1, (values[:-1] + values[1:]) / 2, values[-1:] + 1])

    def at(place: int) -> EntropyOptions:
        value = float(np.float32(between[place]))
        return replace(options, rise=value) if options.rule == "monotone" else replace(options, threshold=value)

    # More patches with a lower threshold, also under a cap, since two patches in one need no more cuts than apart.
    low, high = 0, len(between) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if mean_length(entropies, at(middle)) < target else (low, middle)
    found = min((at(low), at(high)), key=lambda chosen: abs(mean_length(entropies, chosen) - target))
    mean = mean_length(entropies, found)
    if abs(mean - target) > tolerance:
        raise InputError(
            f"patches of {mean:.2f} bytes come nearest to {target:g}: no {name} comes within {tolerance:g}; "
            "use another target, a larger cap or more text"
        )
    return found
