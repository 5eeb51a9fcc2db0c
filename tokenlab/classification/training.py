"""Training of a classifier, and its predictions; curves in nats per text.

The model keeps the weights of the evaluation with the lowest loss on the validation texts. The paper keeps those with
the best score; the loss changes more smoothly than F1 on a small validation set.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tokenlab.classification.networks import Classifier
from tokenlab.classification.options import ClassifierTraining
from tokenlab.core.devices import check_device, computing
from tokenlab.core.errors import InputError
from tokenlab.networks.interface import Loss
from tokenlab.training import loop
from tokenlab.training.checkpoint import Configuration, Evaluation
from tokenlab.training.loop import Update
from tokenlab.translation.pairs import IGNORED, Batch, Pairs, held_out, ordered_batches, updates


def train_classifier(
    model: Classifier,
    training: Pairs,
    validation: Pairs,
    options: ClassifierTraining,
    checkpoint: Path | None = None,
    name: str = "",
) -> list[Evaluation]:
    """Train a classifier in place, with a progress bar on standard error.

    Args:
        model: made by `build_classifier`. Afterwards it has the weights of the best evaluation and is on the CPU.
        training: texts to train on, made by `encode_labelled`.
        validation: texts to evaluate on.
        options: settings of the training. With several processes, call this in each of them, inside
            `processes.group`.
        checkpoint: a file to resume from where it exists, and to save to from time to time and at the end; the caller
            removes it. It must belong to a training with the same texts.
        name: shown by the progress bar.

    Returns:
        The evaluations, in the order of the steps, in nats per text.

    Raises:
        InputError: no text to train or evaluate on; a text longer than a batch or the model's positions; a damaged
            checkpoint.
        ParameterError: the loss is not a number; the device is not there; another number of processes.
    """
    _check(model, training, options, "train on")
    _check(model, validation, options, "evaluate on")
    learner = _Learner(model, training, validation, options)
    return loop.train(learner, options, checkpoint, name, keep_best=True, patience=options.patience)


def predict(model: Classifier, texts: Pairs, options: ClassifierTraining) -> NDArray[np.int64]:
    """int64[texts]: the most probable class of each text (of equals, the first). The model stays on the device of the
    options.

    Raises InputError for no text and for too long a one, ParameterError where the device is not there.
    """
    _check(model, texts, options, "classify")
    device = torch.device(options.device)
    check_device(device, options.dtype)
    model.to(device).eval()
    with computing(device, options.threads), torch.inference_mode():
        batches = ordered_batches(texts, options.batch)
        found = [_logits(model, batch, device, options).argmax(1).cpu().numpy() for batch in batches]
    predicted = np.empty(len(texts), np.int64)
    predicted[np.argsort(texts.source.lengths, kind="stable")] = np.concatenate(found)
    return predicted


@dataclass
class _Learner:
    """See `loop.Learner`."""

    network: Classifier
    training: Pairs
    validation: Pairs
    options: ClassifierTraining
    unit: Literal["nats", "bits"] = "nats"
    per: str = "text"
    betas: tuple[float, float] = (0.9, 0.999)

    def decays(self, name: str) -> bool:
        return ".layers." in name

    def configuration(self) -> Configuration:
        return asdict(self.network.shape)

    def updates(self, skip: int) -> Iterator[Update[Batch]]:
        return updates(self.training, self.options, skip)

    def loss(self, network: Any, part: Batch, device: torch.device) -> Loss:
        nats = self._nats(network, part, device)
        return Loss(nats, nats.new_zeros(()))

    def held_out(self, device: torch.device) -> tuple[float, float]:
        return held_out(self.validation, self.options, lambda batch: self._nats(self.network, batch, device))

    def _nats(self, network: Any, batch: Batch, device: torch.device) -> Tensor:
        """The loss of a batch, summed over its texts, in nats."""
        labels = torch.from_numpy(batch.target[:, 0]).to(device)
        logits = _logits(network, batch, device, self.options)
        return functional.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")


def _logits(network: Any, batch: Batch, device: torch.device, options: ClassifierTraining) -> Tensor:
    with torch.autocast(device.type, torch.bfloat16, enabled=options.dtype == "bfloat16"):
        return network(torch.from_numpy(batch.source).to(device)).float()


def _check(model: Classifier, texts: Pairs, options: ClassifierTraining, what: str) -> None:
    if not len(texts):
        raise InputError(f"there is no text to {what}")
    longest, positions = int(texts.source.lengths.max()), model.shape.positions
    if longest >= options.batch:
        raise InputError(f"a text to {what} has {longest} tokens, a batch {options.batch}; raise batch above that")
    if model.shape.kind == "transformer" and longest > positions:
        raise InputError(f"a text to {what} has {longest} tokens, but positions is {positions}; raise positions")
