"""The training of every network: AdamW, warm-up and decay of the learning rate, gradient clipping, early stopping.

The result depends only on the network, its data and the options. An interrupted training that is started again resumes
from its checkpoint and ends with the same bytes, because no random generator carries state from step to step: the order
of the data depends on the seed and the epoch, dropout and whatever else a network draws on the seed, the step and the
process.

With several processes (torchrun, or `processes.launch`) each computes a share of every batch, and gradients are
averaged so that an update is that of the whole batch, up to rounding. With `accumulate` a process computes its share in
parts, one after the other. Losses that networks add (`Loss.extra`) are of each part.
"""

import dataclasses
import hashlib
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from tokenlab.core.devices import check_device, computing
from tokenlab.core.errors import ParameterError
from tokenlab.networks.interface import Loss
from tokenlab.training import processes
from tokenlab.training.checkpoint import (
    BEGINNING,
    Configuration,
    Evaluation,
    Progress,
    Weights,
    load_checkpoint,
    save_checkpoint,
    trained,
)
from tokenlab.training.options import TrainingOptions

_CHECKPOINT_SHARE = 0.01
"""Largest share of the training time spent on checkpoints."""
HASH = 16
"""Digits of hashes in configurations: enough to tell trainings apart, few enough for messages."""

Item = TypeVar("Item")
Part = TypeVar("Part")


class Update(NamedTuple, Generic[Part]):
    """The batch of an update: what this process computes of it, and the size of the whole."""

    parts: Sequence[Part]
    """At least one, and at most `accumulate`."""
    symbols: int
    """Symbols that are predicted in these parts; the loss of an update is divided by those of all processes."""
    size: int
    """Bytes, characters or tokens of the whole batch, in which curves count."""


class Learner(Protocol[Part]):
    """A network, its data and its loss."""

    unit: Literal["nats", "bits"]
    """Of the losses in curves."""
    per: str
    """What sizes count: byte, character or token."""
    betas: tuple[float, float]
    """Of AdamW."""

    @property
    def network(self) -> torch.nn.Module:
        """What is trained, on the CPU at first."""
        ...

    def decays(self, name: str) -> bool:
        """Whether the weight of this name, if it is a matrix, decays."""
        ...

    def configuration(self) -> Configuration:
        """What determines the training besides the options and the first weights."""
        ...

    def updates(self, skip: int) -> Iterator[Update[Part]]:
        """The batches without end, in an order that the seed determines; the first `skip` are not read."""
        ...

    def loss(self, network: Any, part: Part, device: torch.device) -> Loss:
        """The losses of a part, summed over its symbols; `network` is that of the learner, wrapped for training."""
        ...

    def held_out(self, device: torch.device) -> tuple[float, float]:
        """The nats and the size of this process's share of the held-out data."""
        ...


def train(
    learner: Learner[Any],
    options: TrainingOptions,
    checkpoint: Path | None = None,
    name: str = "",
    *,
    keep_best: bool = False,
    patience: int | None = None,
) -> list[Evaluation]:
    """Train a network in place, with a progress bar on standard error.

    Args:
        learner: its network is on the CPU afterwards, in every process, in evaluation mode.
        options: settings of the training. With several processes, call this in each of them, inside
            `processes.group`.
        checkpoint: a file to resume from where it exists, and to save to from time to time and at the end; the caller
            removes it.
        name: shown by the progress bar.
        keep_best: the network has the weights of the best evaluation afterwards, not the last ones.
        patience: evaluations without improvement that end the training; None: all updates are done.

    Returns:
        The evaluations, in the order of the steps.

    Raises:
        InputError: a damaged checkpoint, or one of another configuration; what the learner raises.
        ParameterError: the loss is not a number; the device is not there; another number of processes.
    """
    if processes.size() != options.processes:
        raise ParameterError(f"processes is {options.processes}, but {processes.size()} are running; change either")
    device = processes.own_device(options.device)
    check_device(device, options.dtype)
    with computing(device, options.threads, options.deterministic):
        run = _Run(learner, options, device)
        curve = run.train(checkpoint, name, keep_best, patience)
        learner.network.to("cpu").eval()
    return curve


def best_evaluation(curve: Sequence[Evaluation]) -> Evaluation:
    """The evaluation with the lowest held-out loss, the first of equal ones."""
    return min(curve, key=lambda evaluation: evaluation.held_out)


class _Run:
    """A training in progress."""

    def __init__(self, learner: Learner[Any], options: TrainingOptions, device: torch.device) -> None:
        self.learner = learner
        self.options = options
        self.device = device
        self.configuration = _configuration(learner, options)
        self.network = learner.network.to(device).train()
        self.parameters = [*trained(self.network).values()]
        if options.checkpoint_activations:
            _checkpoint_activations(self.network)
        self.optimizer = _adamw(learner, options)
        self.averaged = processes.averaging(self.network, device)
        self.wrapped: Callable[..., Any] = self.averaged
        if options.compile:  # With dynamic sizes at once: no two batches have equal ones.
            self.wrapped = torch.compile(self.averaged, dynamic=True)

    def train(self, checkpoint: Path | None, name: str, keep_best: bool, patience: int | None) -> list[Evaluation]:
        """Train from the checkpoint to the last step; returns all evaluations, earlier ones included."""
        options, network = self.options, self.network
        progress, best = BEGINNING, Weights()
        if checkpoint is not None and checkpoint.exists():
            progress, best = load_checkpoint(checkpoint, network, self.optimizer, self.configuration)
        step, size, recent, curve = progress.step, progress.size, progress.recent, [*progress.curve]
        # nats, extra loss, symbols
        losses = torch.tensor(progress.losses, dtype=torch.float64, device=self.device)
        began, at_first = time.monotonic(), size
        saved, cost = began, 0.0
        updates = self.learner.updates(skip=step)
        if self.device.type == "cuda":
            updates = _ahead(updates)
        silent = None if processes.rank() == 0 else True

        def over() -> bool:
            return step == options.steps or _stopped(curve, patience)

        with tqdm(total=options.steps, initial=step, unit="step", desc=name, file=sys.stderr, disable=silent) as bar:
            while not over():
                update = next(updates)
                losses += self._update(step, update)
                size, recent, step = size + update.size, recent + update.size, step + 1
                bar.update()
                if step % options.evaluate_every == 0 or step == options.steps:
                    curve.append(self._evaluation(step, size, recent, losses))
                    losses, recent = torch.zeros_like(losses), 0
                    speed = (size - at_first) / 1000 / (time.monotonic() - began)
                    bar.set_postfix_str(self._described(curve[-1], speed))
                    if keep_best and best_evaluation(curve) is curve[-1]:
                        best = {name: parameter.detach().clone() for name, parameter in trained(network).items()}
                if checkpoint is not None and (over() or time.monotonic() - saved >= cost / _CHECKPOINT_SHARE):
                    started = time.monotonic()
                    if processes.rank() == 0:
                        now = Progress(step, losses.tolist(), recent, size, curve)
                        save_checkpoint(checkpoint, network, self.optimizer, best, self.configuration, now)
                    saved = time.monotonic()
                    cost = saved - started
        processes.wait()
        with torch.no_grad():
            for name, weights in best.items():
                trained(network)[name].copy_(weights)
        return curve

    def _update(self, step: int, update: Update[Any]) -> Tensor:
        """One update; returns nats, extra loss and symbols of the whole batch, float64[3]."""
        seeds = [self.options.seed, step, processes.rank()]
        seed = int(np.random.SeedSequence(seeds).generate_state(1, np.uint64)[0])
        if self.device.type == "cuda":
            torch.cuda.manual_seed(seed)
        torch.default_generator.manual_seed(seed)  # torch.manual_seed looks for every kind of device.
        for group in self.optimizer.param_groups:
            group["lr"] = self.options.learning_rate_at(step)
        symbols = processes.total(torch.tensor(update.symbols, dtype=torch.float64, device=self.device))
        # The processes' gradients are averaged, and their losses must add up.
        share = (processes.size() / symbols).float()
        own = torch.zeros(2, dtype=torch.float64, device=self.device)
        for number, part in enumerate(update.parts, 1):
            with nullcontext() if number == len(update.parts) else self._alone():
                loss = self.learner.loss(self.wrapped, part, self.device)
                ((loss.nats + loss.extra) * share).backward()
            own += torch.stack((loss.nats.detach().double(), loss.extra.detach().double()))
        torch.nn.utils.clip_grad_norm_(self.parameters, self.options.gradient_clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return torch.cat((processes.total(own), symbols[None]))

    def _alone(self) -> Any:
        """Backward passes inside add to the gradients of this process alone; those of all are averaged once, after the
        last part."""
        return self.averaged.no_sync() if isinstance(self.averaged, DistributedDataParallel) else nullcontext()

    def _evaluation(self, step: int, size: int, recent: int, losses: Tensor) -> Evaluation:
        """The mean losses since the last evaluation, and the held-out loss."""
        one = math.log(2) if self.learner.unit == "bits" else 1.0
        nats, extra, symbols = losses.tolist()
        mean = _finite(nats / one / max(1, recent), step)
        self.network.eval()
        with torch.no_grad():
            found = self.learner.held_out(self.device)
        self.network.train()
        held_out, held_out_size = processes.total(torch.tensor(found, dtype=torch.float64, device=self.device)).tolist()
        return Evaluation(step, size, mean, held_out / one / max(1, held_out_size), extra / symbols)

    def _described(self, evaluation: Evaluation, speed: float) -> str:
        unit, per = self.learner.unit, self.learner.per
        return f"{evaluation.held_out:.3f} {unit} per {per} held out, {speed:.0f} thousand {per}s/s"


def _stopped(curve: Sequence[Evaluation], patience: int | None) -> bool:
    """Whether the last evaluations brought no improvement."""
    if patience is None or not curve:
        return False
    return len(curve) - 1 - curve.index(best_evaluation(curve)) >= patience


def _ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, each prepared by another thread while the one before is in use."""
    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(next, items, None)
        while (item := following.result()) is not None:
            following = thread.submit(next, items, None)
            yield item


def _adamw(learner: Learner[Any], options: TrainingOptions) -> torch.optim.AdamW:
    matrices: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, parameter in trained(learner.network).items():
        (matrices if learner.decays(name) and parameter.ndim == 2 else others).append(parameter)
    groups = [{"params": matrices, "weight_decay": options.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=options.learning_rate, betas=learner.betas, fused=True)


def _checkpoint_activations(network: Any) -> None:
    """Let blocks compute their activations again in the backward pass.

    Models of `transformers` have a method for it; ours say how they compute in `computation` of their parts
    (`tokenlab.networks.options.Computation`). Raises ParameterError for a network with neither.
    """
    if hasattr(network, "activation_checkpointing_enable"):
        network.activation_checkpointing_enable({"use_reentrant": False})
        return
    parts: list[Any] = [part for part in network.modules() if hasattr(part, "computation")]
    if not any(hasattr(part.computation, "checkpoint_activations") for part in parts):
        raise ParameterError(
            f"checkpoint_activations is True, but {type(network).__name__} keeps all activations; leave it out"
        )
    for part in parts:
        part.computation = dataclasses.replace(part.computation, checkpoint_activations=True)


def _configuration(learner: Learner[Any], options: TrainingOptions) -> Configuration:
    weights = hashlib.sha256()
    for name, parameter in learner.network.named_parameters():
        weights.update(name.encode())
        weights.update(parameter.detach().cpu().contiguous().numpy().data)
    return {
        **dataclasses.asdict(options),
        **learner.configuration(),
        "first weights": weights.hexdigest()[:HASH],
    }


def _finite(loss: float, step: int) -> float:
    if not math.isfinite(loss):
        raise ParameterError(
            f"learning_rate: the loss is not a number at step {step}; lower the rate or warm up longer"
        )
    return loss
