"""Training of a language model on stored passages; curves in bits per byte, the bits of markers included.

All networks of a comparison read the same bytes in the same order: see `passages.shuffled_batches`.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from tokenlab.core.errors import ParameterError
from tokenlab.language.coding import identity
from tokenlab.language.evaluation import evaluate
from tokenlab.language.options import LanguageTraining
from tokenlab.language.passages import Passage, Passages, shuffled_batches
from tokenlab.language.stored import LanguageModel
from tokenlab.networks.interface import AnyNetwork, Batch, Loss
from tokenlab.training import loop, processes
from tokenlab.training.checkpoint import Configuration, Evaluation
from tokenlab.training.loop import Update

_CODED_BYTES = 1 << 18
"""Bytes of text that are coded at once: enough to hide what each call costs."""


def train(
    model: LanguageModel,
    training: Passages,
    held_out: Passages,
    options: LanguageTraining,
    checkpoint: Path | None = None,
    name: str = "",
) -> list[Evaluation]:
    """Train a network in place, with a progress bar on standard error.

    Args:
        model: its network is on the CPU afterwards, in every process, in evaluation mode.
        training: passages to train on, opened with the patcher of the model where it has one.
        held_out: passages to evaluate on, opened likewise.
        options: settings of the training. With several processes, call this in each of them, inside
            `processes.group`.
        checkpoint: a file to resume from where it exists, and to save to from time to time and at the end; the caller
            removes it.
        name: shown by the progress bar.

    Returns:
        The evaluations, in the order of the steps, in bits per byte.

    Raises:
        InputError: a damaged checkpoint, or one of another configuration; a passage longer than a row; a damaged file.
        ParameterError: the loss is not a number; the device is not there; another number of processes; a context
            other than the model's.
    """
    if options.context != model.context:
        raise ParameterError(f"context is {options.context}, but the model's is {model.context}; change either")
    learner = _Learner(model.network, model, training, held_out, options)
    return loop.train(learner, options, checkpoint, name)


@dataclass
class _Learner:
    """See `loop.Learner`."""

    network: AnyNetwork
    model: LanguageModel
    training: Passages
    validation: Passages
    options: LanguageTraining
    unit: Literal["nats", "bits"] = "bits"
    per: str = "byte"
    betas: tuple[float, float] = (0.9, 0.95)

    def decays(self, name: str) -> bool:
        return "blocks." in name

    def configuration(self) -> Configuration:
        shape = self.network.shape
        return {
            "network": type(shape).__name__,
            "shape": dataclasses.asdict(shape),
            "coder": identity(self.model.coder)[: loop.HASH],
            "patcher": self.training.patcher,
            "training passages": self.training.identity[: loop.HASH],
            "held-out passages": self.validation.identity[: loop.HASH],
        }

    def updates(self, skip: int) -> Iterator[Update[Batch]]:
        options, coder = self.options, self.model.coder
        batches = shuffled_batches(self.training, options.context, options.batch, options.seed, skip)
        at_once = max(1, _CODED_BYTES * processes.size() // (options.batch * options.context))
        for first in range(skip, options.steps, at_once):
            some = [*islice(batches, min(at_once, options.steps - first))]
            parts = [
                [rows for own in processes.own_parts(options.accumulate) if (rows := batch[own])] for batch in some
            ]
            passages = [passage for batch in parts for rows in batch for row in rows for passage in row]
            starts = None if self.training.patcher is None else [_starts(passage) for passage in passages]
            coded = iter(coder.code([passage.data for passage in passages], starts))
            for whole, batch in zip(some, parts, strict=True):
                size = sum(len(passage.data) for row in whole for passage in row)
                own = [self.network.collate([[*islice(coded, len(row))] for row in rows]) for rows in batch]
                yield Update(own, sum(part.symbols for part in own), size)

    def loss(self, network: Any, part: Batch, device: torch.device) -> Loss:
        part = part.to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=self.options.dtype == "bfloat16"):
            return network(part)

    def held_out(self, device: torch.device) -> tuple[float, float]:
        options = self.options
        found = evaluate(
            self.model,
            self.validation,
            batch_bytes=max(1, options.batch // (options.processes * options.accumulate)) * options.context,
            dtype=options.dtype,
            most_bytes=options.evaluate_bytes,
            share=(processes.rank(), processes.size()),
        )
        return found.nats, found.bytes


def _starts(passage: Passage) -> np.ndarray:
    assert passage.starts is not None
    return passage.starts
