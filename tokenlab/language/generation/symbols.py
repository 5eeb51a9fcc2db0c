"""Continuations symbol by symbol: tokens, bytes, and bytes in learned chunks."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tokenlab.language.stored import LanguageModel


class SymbolRows:
    """Texts, a row each, that grow by one symbol at a time; see `generate.Rows`."""

    def __init__(self, model: LanguageModel, prompts: Sequence[bytes], length: int) -> None:
        network: Any = model.network
        coded = model.coder.code([prompt for prompt in prompts if prompt])
        pieces = iter(coded)
        texts = [next(pieces).ids.tolist() if prompt else [] for prompt in prompts]
        self._network = network
        self.logits, self._state = network.begin(texts, max(map(len, texts)) + length)
        # Tokens that spell nothing, such as the end of a text, are never drawn: pieces have none.
        spelled = torch.tensor([bool(spelling) for spelling in model.coder.spellings], device=self.logits.device)
        self._spelled = None if bool(spelled.all()) else spelled[None]

    def allowed(self) -> Tensor | None:
        """See `generate.Rows`."""
        return None if self._spelled is None else self._spelled.expand(len(self.logits), -1)

    def append(self, symbols: Sequence[int]) -> None:
        """See `generate.Rows`."""
        self.logits = self._network.step(torch.tensor(symbols, device=self.logits.device), self._state)

    def keep(self, rows: Sequence[int]) -> None:
        """See `generate.Rows`."""
        kept = torch.tensor(rows)
        self._state = self._state.select(kept)
        self.logits = self.logits[kept.to(self.logits.device)]
