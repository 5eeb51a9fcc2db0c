"""Training of a translation model: AdamW, warm-up, label smoothing, gradient clipping, dropout, early stopping.

The result depends only on the model, the pairs and the options. An interrupted training that is started again resumes
from its checkpoint and ends with the same bytes, because no random generator carries state from step to step: the order
of the pairs depends on the seed and the epoch, dropout on the seed, the step and the process.

With several processes (`processes`) each takes every N-th pair of a batch, and gradients are averaged so that an update
is that of the whole batch, up to rounding.
"""

import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch.nn import functional
from tqdm import tqdm
from transformers import MarianMTModel

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.translation import processes
from tokenlab.translation.checkpoint import (
    Evaluation,
    Progress,
    Weights,
    load_checkpoint,
    save_checkpoint,
    trained,
)
from tokenlab.translation.options import TranslationTraining
from tokenlab.translation.pairs import IGNORED, Batch, Pairs, ordered_batches, shuffled_batches

_BETAS = (0.9, 0.98)  # Vaswani et al. (2017), section 5.3
_CHECKPOINT_SHARE = 0.01
"""Largest share of the training time spent on checkpoints."""


def learning_rate(options: TranslationTraining, step: int) -> float:
    """The learning rate of update `step` (from 0): linear up to the highest, then down by the schedule."""
    rise = options.warmup + 1
    if step < options.warmup:
        return options.learning_rate * (step + 1) / rise
    if options.schedule == "inverse_sqrt":
        return options.learning_rate * math.sqrt(rise / (step + 1))
    share = (step - options.warmup) / max(1, options.steps - options.warmup)
    return options.learning_rate * (1 + math.cos(math.pi * share)) / 2


def best_evaluation(curve: list[Evaluation]) -> Evaluation:
    """The evaluation with the lowest held-out loss, the first of equal ones."""
    return min(curve, key=lambda evaluation: evaluation.held_out)


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
            removes it. It must belong to a training with the same arguments.
        name: shown by the progress bar.

    Returns:
        The evaluations, in the order of the steps.

    Raises:
        InputError: no training or no held-out pair; a pair longer than a batch; a damaged checkpoint.
        ParameterError: the loss is not a number; the device is not there; another number of processes.
    """
    for what, pairs in (("train on", training), ("evaluate on", held_out)):
        if not len(pairs):
            raise InputError(f"there is no pair of sentences to {what}")
    if processes.size() != options.processes:
        raise ParameterError(f"processes is {options.processes}, but {processes.size()} are running; change either")
    device = processes.own_device(options.device)
    check_device(device, options.dtype)
    with deterministic(device, options.threads):
        torch.nn.Module.to(model, device)  # `to` of transformers has no type for a device alone.
        curve = _Run(model, options, device).train(training, held_out, checkpoint, name)
        torch.nn.Module.to(model, "cpu").eval()
    return curve


class _Run:
    """A training in progress."""

    def __init__(self, model: MarianMTModel, options: TranslationTraining, device: torch.device) -> None:
        self.model = model
        self.options = options
        self.device = device
        self.optimizer = _adamw(model, options)
        self.averaging = processes.averaging(model, device)

    def train(self, training: Pairs, held_out: Pairs, checkpoint: Path | None, name: str) -> list[Evaluation]:
        """Train from the checkpoint to the last step; returns all evaluations, earlier ones included."""
        options, model = self.options, self.model
        progress, best = Progress(0, 0.0, 0, []), Weights()
        if checkpoint is not None and checkpoint.exists():
            progress, best = load_checkpoint(checkpoint, model, self.optimizer)
        step, nats, tokens, curve = progress
        saved, cost = time.monotonic(), 0.0
        batches = shuffled_batches(training, options.batch, options.seed, skip=step)
        silent = None if processes.rank() == 0 else True
        with tqdm(total=options.steps, initial=step, unit="step", desc=name, file=sys.stderr, disable=silent) as bar:
            while not (over := self._over(step, curve)):
                batch = next(batches)
                nats += self._update(step, batch)
                tokens += batch.tokens
                step += 1
                bar.update()
                if step % options.evaluate_every == 0 or step == options.steps:
                    curve.append(Evaluation(step, _finite(nats / tokens, step), self._evaluate(held_out)))
                    nats, tokens = 0.0, 0
                    bar.set_postfix_str(f"{curve[-1].held_out:.3f} nats per token held out")
                    if best_evaluation(curve) is curve[-1]:
                        best = {name: parameter.detach().clone() for name, parameter in trained(model).items()}
                over = self._over(step, curve)
                if checkpoint is not None and (over or time.monotonic() - saved >= cost / _CHECKPOINT_SHARE):
                    began = time.monotonic()
                    if processes.rank() == 0:
                        save_checkpoint(checkpoint, model, self.optimizer, best, Progress(step, nats, tokens, curve))
                    saved = time.monotonic()
                    cost = saved - began
        processes.wait()
        with torch.no_grad():
            for name, parameter in trained(model).items():
                parameter.copy_(best[name])
        return curve

    def _over(self, step: int, curve: list[Evaluation]) -> bool:
        """Whether all updates are done, or the last evaluations brought no improvement."""
        patience = self.options.patience
        since = len(curve) - 1 - curve.index(best_evaluation(curve)) if curve else 0
        return step == self.options.steps or (patience is not None and since >= patience)

    def _update(self, step: int, batch: Batch) -> float:
        """One update; returns the loss summed over the tokens of the whole batch, in nats."""
        options = self.options
        seeds = [options.seed, step, processes.rank()]
        torch.manual_seed(int(np.random.SeedSequence(seeds).generate_state(1, np.uint64)[0]))
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(options, step)
        self.model.train()
        nats = self._nats(self.averaging, self._own_part(batch), options.label_smoothing)
        # The processes' gradients are averaged, and their losses must add up.
        (nats * (processes.size() / batch.tokens)).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), options.gradient_clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return processes.total(nats.detach().double()).item()

    def _own_part(self, batch: Batch) -> Batch:
        """The pairs of a batch that this process computes; where there is none, one pair without targets."""
        own = batch.rows(slice(processes.rank(), None, processes.size()))
        if len(own.source):
            return own
        one = batch.rows(slice(0, 1))
        return one._replace(target=np.full_like(one.target, IGNORED))

    def _evaluate(self, held_out: Pairs) -> float:
        """Nats per token of the held-out pairs."""
        self.model.eval()
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        batches = ordered_batches(held_out, self.options.batch)
        with torch.no_grad():
            for batch in islice(batches, processes.rank(), None, processes.size()):
                sums[0] += self._nats(self.model, batch, 0.0)
                sums[1] += batch.tokens
        nats, tokens = processes.total(sums).tolist()
        return nats / tokens

    def _nats(self, model: torch.nn.Module, batch: Batch, smoothing: float) -> torch.Tensor:
        """The loss of a batch, summed over its tokens, in nats."""
        source, decoder, target = (torch.from_numpy(part).to(self.device) for part in batch)
        padding = cast(int, self.model.config.pad_token_id)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.options.dtype == "bfloat16"):
            mask = source.ne(padding).long()
            found = model(input_ids=source, attention_mask=mask, decoder_input_ids=decoder, use_cache=False)
        logits = found.logits.float().flatten(0, 1)
        return functional.cross_entropy(
            logits, target.flatten(), ignore_index=IGNORED, reduction="sum", label_smoothing=smoothing
        )


def _adamw(model: MarianMTModel, options: TranslationTraining) -> torch.optim.AdamW:
    matrices: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, parameter in trained(model).items():
        (matrices if ".layers." in name and parameter.ndim == 2 else others).append(parameter)
    groups = [{"params": matrices, "weight_decay": options.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=options.learning_rate, betas=_BETAS, fused=True)


def _finite(nats: float, step: int) -> float:
    if not math.isfinite(nats):
        raise ParameterError(
            f"learning_rate: the loss is not a number at step {step}; lower the rate or warm up longer"
        )
    return nats


def check_device(device: torch.device, dtype: str) -> None:
    """Check that a device is there. Raises ParameterError where it is not, or does not support the number format."""
    if device.type == "cuda":
        if (device.index or 0) >= torch.cuda.device_count():
            raise ParameterError(f"device is '{device}', but PyTorch sees {torch.cuda.device_count()} GPUs; use cpu")
        if dtype == "bfloat16" and not torch.cuda.is_bf16_supported(including_emulation=False):
            raise ParameterError("dtype is 'bfloat16', but this GPU does not support it; use float32")


@contextmanager
def deterministic(device: torch.device, threads: int) -> Iterator[None]:
    """Set threads, random generators and algorithms, and restore them afterwards."""
    gpu = device.type == "cuda"
    before, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[device] if gpu else []):
        torch.set_num_threads(threads)
        if gpu:  # On the CPU, all operations used here are deterministic anyway, and this costs time.
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.set_num_threads(before)
            torch.use_deterministic_algorithms(strict)
