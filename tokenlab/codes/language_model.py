"""Training of a language model over the tokens of a code; curves in bits per character.

An update has equally many whole texts in every code, so that all models see the same text in the same order, whatever
its length in tokens. The paper (appendix B.1.2 of Latom) cuts sequences of 128 tokens.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.networks.interface import CodedPassage, Loss
from tokenlab.networks.token_network import TokenBatch, TokenNetwork
from tokenlab.training import loop
from tokenlab.training.checkpoint import Configuration, Evaluation
from tokenlab.training.loop import Update
from tokenlab.training.options import TrainingOptions


def train_code_model(
    network: TokenNetwork,
    training: Sequence[CodedPassage],
    validation: Sequence[CodedPassage],
    characters: int,
    options: TrainingOptions,
    checkpoint: Path | None = None,
    name: str = "",
) -> list[Evaluation]:
    """Train a network in place, with a progress bar on standard error.

    Args:
        network: afterwards it has the weights of the best evaluation, is on the CPU and in evaluation mode.
        training: the tokens of texts to train on.
        validation: those to evaluate on.
        characters: of the validation texts, by which the bits of curves are divided.
        options: a batch is so many texts, in one process and one part.
        checkpoint: a file to resume from where it exists, and to save to from time to time and at the end; the caller
            removes it.
        name: shown by the progress bar.

    Returns:
        The evaluations, in the order of the steps, in bits per character; sizes count tokens.

    Raises:
        InputError: no text to train or evaluate on; a damaged checkpoint.
        ParameterError: several processes or parts of a batch; the loss is not a number; the device is not there.
    """
    for texts, purpose in ((training, "train on"), (validation, "evaluate on")):
        if not any(len(text.ids) for text in texts):
            raise InputError(f"no text to {purpose}; give some")
    if options.processes != 1 or options.accumulate != 1:
        raise ParameterError("processes and accumulate must be 1 for the language model of a code; change them")
    used, held_out = ([text for text in texts if len(text.ids)] for texts in (training, validation))
    learner = _Learner(network, used, held_out, characters, options)
    return loop.train(learner, options, checkpoint, name, keep_best=True)


@dataclass
class _Learner:
    """See `loop.Learner`."""

    network: TokenNetwork
    training: Sequence[CodedPassage]
    validation: Sequence[CodedPassage]
    characters: int
    options: TrainingOptions
    unit: Literal["nats", "bits"] = "bits"
    per: str = "token"
    betas: tuple[float, float] = (0.9, 0.999)

    def decays(self, name: str) -> bool:
        return "blocks." in name

    def configuration(self) -> Configuration:
        parts = {"training": self.training, "validation": self.validation}
        return {"shape": asdict(self.network.shape), **{name: _identity(texts) for name, texts in parts.items()}}

    def updates(self, skip: int) -> Iterator[Update[TokenBatch]]:
        size, texts = self.options.batch, len(self.training)

        @lru_cache(maxsize=2)
        def order(epoch: int) -> NDArray[np.int64]:
            return np.random.default_rng([self.options.seed, epoch]).permutation(texts)

        for step in count(skip):
            places = range(step * size, (step + 1) * size)
            batch = self.network.collate([[self.training[order(place // texts)[place % texts]]] for place in places])
            yield Update([batch], batch.symbols, batch.symbols)

    def loss(self, network: Any, part: TokenBatch, device: torch.device) -> Loss:
        part = part.to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=self.options.dtype == "bfloat16"):
            return network(part)

    def held_out(self, device: torch.device) -> tuple[float, float]:
        nats = 0.0
        for first in range(0, len(self.validation), self.options.batch):
            batch = self.network.collate([[text] for text in self.validation[first : first + self.options.batch]])
            with torch.autocast(device.type, torch.bfloat16, enabled=self.options.dtype == "bfloat16"):
                nats += float(self.network.symbol_nats(batch.to(device)).double().sum())
        return nats, self.characters


def _identity(texts: Sequence[CodedPassage]) -> str:
    found = hashlib.sha256()
    for text in texts:
        found.update(f"{len(text.ids)} ".encode() + text.ids.tobytes())
    return found.hexdigest()[: loop.HASH]
