"""Small stores of passages of generated text, and the simplest network: one distribution, whatever came before."""

import dataclasses
from pathlib import Path

import numpy as np
import torch

from tokenlab.language.passages import PassageBlock, Passages, cut_passages, open_passages, write_passages
from tokenlab.networks.interface import Loss, Network, Scores

WORDS = ("the", "cat", "saw", "a", "dog", "你好", "naïve", "on", "mats")


def documents(number: int, seed: int, words: int = 20) -> list[bytes]:
    """Sentences of random words."""
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(1, words + 1))).encode() for _ in range(number)]


def word_starts(data: bytes) -> np.ndarray:
    """Patches that begin with a space, and the first: int32[patches]."""
    found = np.frombuffer(data, np.uint8) == ord(" ")
    found[:1] = True
    return np.flatnonzero(found).astype(np.int32)


def store(folder: Path, texts: list[bytes], context: int, patcher: str | None = None) -> Passages:
    """A store of the texts, opened; its patchers are `words` and `fixed`."""
    passages = [passage for text in texts for passage in cut_passages(text, context)]
    starts = {
        "words": [word_starts(passage) for passage in passages],
        "fixed": [np.arange(0, len(passage), 3, dtype=np.int32) for passage in passages],
    }
    block = PassageBlock(
        [str(number) for number in range(len(passages))], passages, np.ones(len(passages), np.int32), starts
    )
    write_passages([block], folder, ["words", "fixed"])
    return open_passages(folder, patcher)


@dataclasses.dataclass(frozen=True)
class CountShape:
    """The shape of `CountNetwork`. extra: the weight of its further loss."""

    extra: float = 0.0


@dataclasses.dataclass(frozen=True)
class CountBatch:
    """Bytes end to end, int64[symbols]."""

    ids: torch.Tensor
    size: int
    symbols: int

    def to(self, device):
        """The same batch on a device."""
        return dataclasses.replace(self, ids=self.ids.to(device))


class CountNetwork(Network[CountBatch]):
    """Logits of the next byte that depend on nothing; at first all are equal. The further loss is the squared distance
    of another number, 0 at first, from 3, for each symbol."""

    def __init__(self, shape: CountShape = CountShape()) -> None:
        super().__init__()
        self.shape = shape
        self.logits = torch.nn.Parameter(torch.zeros(256))
        self.number = torch.nn.Parameter(torch.zeros(()))

    def collate(self, rows):
        """See `Network.collate`."""
        ids = np.concatenate([passage.ids for row in rows for passage in row]).astype(np.int64)
        return CountBatch(torch.from_numpy(ids), sum(passage.size for row in rows for passage in row), len(ids))

    def forward(self, batch):
        """See `Network.forward`."""
        nats = -self.logits.log_softmax(0)[batch.ids].sum()
        return Loss(nats, self.shape.extra * batch.symbols * (self.number - 3) ** 2)

    def symbol_scores(self, batch):
        """See `Network.symbol_scores`."""
        nats = -self.logits.detach().log_softmax(0)[batch.ids]
        return Scores(nats, batch.ids == self.logits.argmax())
