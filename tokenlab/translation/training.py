"""Training of a translation model: label smoothing, dropout, early stopping; curves in nats per target token, the end
of a sentence included. The model keeps the weights of the best evaluation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch.nn import functional
from transformers import MarianMTModel

from tokenlab.core.errors import InputError
from tokenlab.networks.interface import Loss
from tokenlab.training import loop
from tokenlab.training.checkpoint import Configuration, Evaluation
from tokenlab.training.loop import Update
from tokenlab.translation.model import check_lengths
from tokenlab.translation.options import TranslationTraining
from tokenlab.translation.pairs import IGNORED, Batch, Pairs, held_out, updates


def train(
    model: MarianMTModel,
    training: Pairs,
    held_out: Pairs,
    options: TranslationTraining,
    checkpoint: Path | None = None,
    name: str = "",
) -> list[Evaluation]:
    """Train a model in place, with a progress bar on standard error.

    Args:
        model: made by `build_model` or read by `load_model`. Afterwards it has the weights of the best evaluation and
            is on the CPU, in every process.
        training: pairs to train on.
        held_out: pairs to evaluate on.
        options: settings of the training. With several processes, call this in each of them, inside
            `processes.group`.
        checkpoint: a file to resume from where it exists, and to save to from time to time and at the end; the caller
            removes it. It must belong to a training with the same pairs.
        name: shown by the progress bar.

    Returns:
        The evaluations, in the order of the steps, in nats per target token.

    Raises:
        InputError: no training or no held-out pair; a pair longer than a batch, a sentence longer than the model's
            positions; a damaged checkpoint.
        ParameterError: the loss is not a number; the device is not there; another number of processes.
    """
    for what, pairs in (("train on", training), ("evaluate on", held_out)):
        if not len(pairs):
            raise InputError(f"there is no pair of sentences to {what}")
        check_lengths(model, pairs.source, what)
        check_lengths(model, pairs.target, what)
    learner = _Learner(model, training, held_out, options)
    return loop.train(learner, options, checkpoint, name, keep_best=True, patience=options.patience)


@dataclass
class _Learner:
    """See `loop.Learner`."""

    network: MarianMTModel
    training: Pairs
    validation: Pairs
    options: TranslationTraining
    unit: Literal["nats", "bits"] = "nats"
    per: str = "token"
    betas: tuple[float, float] = (0.9, 0.98)  # Vaswani et al. (2017), section 5.3

    def decays(self, name: str) -> bool:
        return ".layers." in name

    def configuration(self) -> Configuration:
        return {}

    def updates(self, skip: int) -> Iterator[Update[Batch]]:
        return updates(self.training, self.options, skip)

    def loss(self, network: Any, part: Batch, device: torch.device) -> Loss:
        nats = self._nats(network, part, device, self.options.label_smoothing)
        return Loss(nats, nats.new_zeros(()))

    def held_out(self, device: torch.device) -> tuple[float, float]:
        return held_out(self.validation, self.options, lambda batch: self._nats(self.network, batch, device, 0.0))

    def _nats(self, network: Any, batch: Batch, device: torch.device, smoothing: float) -> torch.Tensor:
        """The loss of a batch, summed over its tokens, in nats."""
        source, decoder, target = (torch.from_numpy(part).to(device) for part in batch)
        padding = cast(int, self.network.config.pad_token_id)
        with torch.autocast(device.type, torch.bfloat16, enabled=self.options.dtype == "bfloat16"):
            mask = source.ne(padding).long()
            found = network(input_ids=source, attention_mask=mask, decoder_input_ids=decoder, use_cache=False)
        logits = found.logits.float().flatten(0, 1)
        return functional.cross_entropy(
            logits, target.flatten(), ignore_index=IGNORED, reduction="sum", label_smoothing=smoothing
        )
