"""Patches that begin where the next byte is hard to predict (Pagnoni et al. 2024, section 2.3).

The entropy of a byte is computed in batches for whole texts and with a cache for streams; both round differently. Where
that could decide, within `MARGIN` of the threshold, it is computed once more, alone and at full length. So streams and
whole texts have the same patches.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from tokenlab.patches.by_bytes import RuleStream
from tokenlab.patches.entropies import check_network, entropy_of, lone_window, text_entropies, window_of
from tokenlab.patches.interface import CausalStream, Starts
from tokenlab.patches.options import EntropyOptions
from tokenlab.patches.rules import entropy_starts

if TYPE_CHECKING:
    from tokenlab.networks.token_network import TokenNetwork

MARGIN = 1e-4
"""Nats. Entropies of float32 networks of a few layers differ by about 1e-6 between batch, cache and lone window."""
_DEFAULT = EntropyOptions()


class EntropyPatcher:
    """The patcher of an entropy model.

    Attributes:
        network: a causal Transformer over bytes, in float32.
        context: bytes of its windows; see `tokenlab.patches.entropies`.
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
