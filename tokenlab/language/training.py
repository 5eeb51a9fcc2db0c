"""Training of a language model: AdamW, linear warm-up and cosine decay, gradient clipping; curves in bits per byte.

The result depends only on the network, the pieces and the options. An interrupted training that is started again
resumes from its checkpoint and ends with the same bytes, because no random generator carries state from step to step:
the order of the pieces depends on the seed and the epoch, whatever a network draws on the seed, the step and the
process.

With several processes (torchrun, or `tokenlab.translation.processes.launch`) each takes every N-th row of a
batch, and gradients are averaged so that an update is that of the whole batch, up to rounding. Losses that networks add
(`Loss.extra`) are of each process's rows.
"""

import dataclasses
import hashlib
import math
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from tqdm import tqdm

from tokenlab.core.errors import ParameterError
from tokenlab.language.checkpoint import (
    BEGINNING,
    Configuration,
    Evaluation,
    Progress,
    load_checkpoint,
    save_checkpoint,
)
from tokenlab.language.coding import identity
from tokenlab.language.computing import check_device, deterministic
from tokenlab.language.evaluation import evaluate
from tokenlab.language.options import LanguageTraining
from tokenlab.language.pieces import Pieces, TextPiece, shuffled_batches
from tokenlab.language.stored import LanguageModel
from tokenlab.networks.interface import Batch
from tokenlab.translation import processes

_BETAS = (0.9, 0.95)
_CHECKPOINT_SHARE = 0.01
"""Largest share of the training time spent on checkpoints."""
_CODED_BYTES = 1 << 18
"""Bytes of text that are coded at once: enough to hide what each call costs."""
_HASH = 16
"""Digits of hashes in configurations: enough to tell trainings apart, few enough for messages."""

Item = TypeVar("Item")


def learning_rate(options: LanguageTraining, step: int) -> float:
    """The learning rate of update `step` (from 0): linear up to the highest, then half a cosine down to the final one,
    which the last update has."""
    high, low = options.learning_rate, options.final_learning_rate
    if step < options.warmup:
        return high * (step + 1) / (options.warmup + 1)
    share = (step - options.warmup) / max(1, options.steps - 1 - options.warmup)
    return low + (high - low) * (1 + math.cos(math.pi * share)) / 2


def train(
    model: LanguageModel,
    training: Pieces,
    held_out: Pieces,
    options: LanguageTraining,
    checkpoint: Path | None = None,
    name: str = "",
) -> list[Evaluation]:
    """Train a network in place, with a progress bar on standard error.

    Args:
        model: its network is on the CPU afterwards, in every process, in evaluation mode.
        training: pieces to train on, opened with the patcher of the model where it has one.
        held_out: pieces to evaluate on, opened likewise.
        options: settings of the training. With several processes, call this in each of them, inside
            `processes.group`.
        checkpoint: a file to resume from where it exists, and to save to from time to time and at the end; the caller
            removes it.
        name: shown by the progress bar.

    Returns:
        The evaluations, in the order of the steps.

    Raises:
        InputError: a damaged checkpoint, or one of another configuration; a piece longer than a row; a damaged file.
        ParameterError: the loss is not a number; the device is not there; another number of processes; a context
            other than the model's.
    """
    if processes.size() != options.processes:
        raise ParameterError(f"processes is {options.processes}, but {processes.size()} are running; change either")
    if options.context != model.context:
        raise ParameterError(f"context is {options.context}, but the model's is {model.context}; change either")
    device = processes.own_device(options.device)
    check_device(device, options.dtype)
    configuration = _configuration(model, training, held_out, options)
    with deterministic(device, options.threads):
        model.network.to(device)
        curve = _Run(model, options, device, configuration).train(training, held_out, checkpoint, name)
        model.network.to("cpu").eval()
    return curve


class _Run:
    """A training in progress."""

    def __init__(
        self, model: LanguageModel, options: LanguageTraining, device: torch.device, configuration: Configuration
    ) -> None:
        self.model = model
        self.options = options
        self.device = device
        self.configuration = configuration
        self.optimizer = _adamw(model.network, options)
        self.trained = processes.averaging(model.network, device)
        if options.compile:  # With dynamic sizes at once: no two batches have equal ones.
            self.trained = torch.compile(self.trained, dynamic=True)  # type: ignore[assignment]

    def train(self, training: Pieces, held_out: Pieces, checkpoint: Path | None, name: str) -> list[Evaluation]:
        """Train from the checkpoint to the last step; returns all evaluations, earlier ones included."""
        options, network = self.options, self.model.network
        progress = BEGINNING
        if checkpoint is not None and checkpoint.exists():
            progress = load_checkpoint(checkpoint, network, self.optimizer, self.configuration)
        step, seen, recent, curve = progress.step, progress.bytes, progress.recent_bytes, [*progress.curve]
        # nats, extra loss, symbols
        losses = torch.tensor(progress.losses, dtype=torch.float64, device=self.device)
        began, at_first = time.monotonic(), seen
        saved, cost = began, 0.0
        batches = self._batches(training, skip=step)
        if self.device.type == "cuda":
            batches = _ahead(batches)
        silent = None if processes.rank() == 0 else True
        with tqdm(total=options.steps, initial=step, unit="step", desc=name, file=sys.stderr, disable=silent) as bar:
            while step < options.steps:
                size, batch = next(batches)
                losses += self._update(step, batch.to(self.device))
                seen, recent, step = seen + size, recent + size, step + 1
                bar.update()
                if step % options.evaluate_every == 0 or step == options.steps:
                    nats, extra, symbols = losses.tolist()
                    mean = _finite(nats / math.log(2) / recent, step)
                    curve.append(Evaluation(step, seen, mean, self._evaluate(held_out), extra / symbols))
                    losses, recent = torch.zeros_like(losses), 0
                    speed = (seen - at_first) / 1000 / (time.monotonic() - began)
                    bar.set_postfix_str(f"{curve[-1].held_out:.3f} bits per byte held out, {speed:.0f} kB/s")
                over = step == options.steps
                if checkpoint is not None and (over or time.monotonic() - saved >= cost / _CHECKPOINT_SHARE):
                    started = time.monotonic()
                    if processes.rank() == 0:
                        now = Progress(step, seen, losses.tolist(), recent, curve)
                        save_checkpoint(checkpoint, network, self.optimizer, self.configuration, now)
                    saved = time.monotonic()
                    cost = saved - started
        processes.wait()
        return curve

    def _batches(self, training: Pieces, skip: int) -> Iterator[tuple[int, Batch]]:
        """The bytes of each batch, and the rows of it that this process computes."""
        options, coder = self.options, self.model.coder
        batches = shuffled_batches(training, options.context, options.batch, options.seed, skip)
        at_once = max(1, _CODED_BYTES * processes.size() // (options.batch * options.context))
        for first in range(skip, options.steps, at_once):
            some = [*islice(batches, min(at_once, options.steps - first))]
            own = [rows[processes.rank() :: processes.size()] for rows in some]
            pieces = [piece for rows in own for row in rows for piece in row]
            starts = None if training.patcher is None else [_starts(piece) for piece in pieces]
            coded = iter(coder.code([piece.data for piece in pieces], starts))
            for whole, rows in zip(some, own, strict=True):
                size = sum(len(piece.data) for row in whole for piece in row)
                yield size, self.model.network.collate([[*islice(coded, len(row))] for row in rows])

    def _update(self, step: int, batch: Batch) -> torch.Tensor:
        """One update; returns nats, extra loss and symbols of the whole batch, float64[3]."""
        options = self.options
        seeds = [options.seed, step, processes.rank()]
        torch.manual_seed(int(np.random.SeedSequence(seeds).generate_state(1, np.uint64)[0]))
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(options, step)
        self.model.network.train()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=options.dtype == "bfloat16"):
            loss = self.trained(batch)
        symbols = processes.total(torch.tensor(batch.symbols, dtype=torch.float64, device=self.device))
        # The processes' gradients are averaged, and their losses must add up.
        ((loss.nats + loss.extra) * (processes.size() / symbols).float()).backward()
        torch.nn.utils.clip_grad_norm_(self.model.network.parameters(), options.gradient_clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        own = torch.stack((loss.nats.detach().double(), loss.extra.detach().double()))
        return torch.cat((processes.total(own), symbols[None]))

    def _evaluate(self, held_out: Pieces) -> float:
        """Bits per byte of the held-out pieces."""
        options = self.options
        self.model.network.eval()
        found = evaluate(
            self.model,
            held_out,
            batch_bytes=max(1, options.batch // options.processes) * options.context,
            dtype=options.dtype,
            most_bytes=options.evaluate_bytes,
            share=(processes.rank(), processes.size()),
        )
        sums = torch.tensor([found.nats, found.bytes], dtype=torch.float64, device=self.device)
        nats, size = processes.total(sums).tolist()
        return nats / math.log(2) / size


def _starts(piece: TextPiece) -> np.ndarray:
    assert piece.starts is not None
    return piece.starts


def _ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, each prepared by another thread while the one before is in use."""
    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(next, items, None)
        while (item := following.result()) is not None:
            following = thread.submit(next, items, None)
            yield item


def _adamw(network: torch.nn.Module, options: LanguageTraining) -> torch.optim.AdamW:
    matrices: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, parameter in network.named_parameters():
        (matrices if "blocks." in name and parameter.ndim == 2 else others).append(parameter)
    groups = [{"params": matrices, "weight_decay": options.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=options.learning_rate, betas=_BETAS, fused=True)


def _configuration(
    model: LanguageModel, training: Pieces, held_out: Pieces, options: LanguageTraining
) -> Configuration:
    shape = model.network.shape
    weights = hashlib.sha256()
    for name, parameter in model.network.named_parameters():
        weights.update(name.encode())
        weights.update(parameter.detach().cpu().contiguous().numpy().data)
    return {
        **dataclasses.asdict(options),
        "network": type(shape).__name__,
        "shape": dataclasses.asdict(shape),
        "coder": identity(model.coder)[:_HASH],
        "patcher": training.patcher,
        "training pieces": training.identity[:_HASH],
        "held-out pieces": held_out.identity[:_HASH],
        "first weights": weights.hexdigest()[:_HASH],
    }


def _finite(bits: float, step: int) -> float:
    if not math.isfinite(bits):
        raise ParameterError(
            f"learning_rate: the loss is not a number at step {step}; lower the rate or warm up longer"
        )
    return bits
