"""Exact bits per byte of a model over tokens: the sum over all encodings of a text, beside its one encoding; see
`tokenlab.exact`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tokenlab.exact.adapters.reading import read_tokenizer
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.interface import ContextTree
from tokenlab.exact.scoring import TextScore, score_texts, total
from tokenlab.exact.trees import RowTree
from tokenlab.networks.interface import NO_STARTS, CodedPassage
from tokenlab.networks.token_network import TokenNetwork


class NetworkModel:
    """A network as `tokenlab.exact.interface.TokenModel`: its contexts are computed as rows, without a cache."""

    name = "network"
    end: int | None = None
    limit: int | None = None

    def __init__(self, network: TokenNetwork) -> None:
        self.network = network
        self.size = network.shape.vocabulary
        self.start = (self.size,)  # the row of the embedding that begins a text

    def tree(self) -> ContextTree:
        """A new tree with nothing but its root."""
        return RowTree(self)

    @torch.inference_mode()
    def forward(self, ids: Sequence[Sequence[int]], **_: Any) -> torch.Tensor:
        """float32[rows, symbols, ids]: the logits after each symbol of rows of equal length, the start first."""
        rows = [[CodedPassage(np.array([*row[1:], 0], np.int32), NO_STARTS, len(row))] for row in ids]
        logits = self.network.logits(self.network.collate(rows))
        return logits.view(len(ids), -1, self.size)


def exact_score(network: TokenNetwork, tokenizer: Path, texts: Iterable[str]) -> TextScore:
    """The information of texts in nats: exact, and of their encodings alone (`naive`).

    Args:
        tokenizer: the folder or file of the tokens.

    Raises UnsupportedTokenizer where encodings cannot be summed over, InputError for a text that has none.
    """
    model = CharacterModel(NetworkModel(network), read_tokenizer(tokenizer).automaton)
    return total(score_texts(model, texts))
