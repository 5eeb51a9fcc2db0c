"""Training of a causal language model: AdamW, linear warm-up and cosine decay, gradient clipping, dropout.

The result depends only on the model, the texts and the options. An interrupted training that is started again resumes
from its checkpoint and ends with the same bytes, because no random generator carries state from step to step: the order
of the sentences depends on the seed and the epoch, dropout on the seed and the step.
"""

import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional
from tqdm import tqdm
from transformers import GPT2LMHeadModel

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.options import check_choice, check_least, option
from tokenlab.gpt.alphabet import Alphabet
from tokenlab.gpt.checkpoint import Progress, load_checkpoint, save_checkpoint
from tokenlab.gpt.model import packed_logits
from tokenlab.gpt.packing import IGNORED, Batch, Sequences, ordered_batches, shuffled_batches

Dtype = Literal["float32", "bfloat16"]
"""Number format of matrix products. Weights, optimizer and losses are always float32."""

_BETAS = (0.9, 0.95)
_CHECKPOINT_SHARE = 0.01
"""Largest share of the training time spent on checkpoints."""


@dataclass(frozen=True)
class TrainingOptions:
    """Settings of a training. Raises ParameterError for values out of range and devices that are not there.

    weight_decay: decoupled (Loshchilov & Hutter 2019), of the blocks' matrices; not of embeddings, norms and biases.
    threads: results differ between numbers of threads in the last digits.
    """

    steps: int = option("updates", metavar="N")
    batch: int = option("rows of `context` tokens in each update", metavar="N")
    learning_rate: float = option("the highest learning rate, reached after the warm-up", metavar="X")
    final_learning_rate: float = option("learning rate of the last update", 0.0, metavar="X")
    warmup: int = option("updates during which the learning rate rises", 0, metavar="N")
    weight_decay: float = option("decoupled weight decay of the blocks' matrices", 0.1, metavar="X")
    gradient_clip: float = option("greatest norm of all gradients together", 1.0, metavar="X")
    evaluate_every: int = option("updates between evaluations; the last update is always evaluated", 100, metavar="N")
    seed: int = option("seed of the weights, the order of the sentences and dropout", 0, metavar="N")
    threads: int = option("threads of PyTorch on the CPU", 1, metavar="N")
    device: str = option("device of the training", "cpu", metavar="cpu|cuda|cuda:N")
    dtype: Dtype = option("number format of matrix products", "float32")

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "evaluate_every", "threads"):
            check_least(name, getattr(self, name), 1)
        for name in ("weight_decay", "final_learning_rate", "seed"):
            check_least(name, getattr(self, name), 0)
        for name in ("learning_rate", "gradient_clip"):
            if not getattr(self, name) > 0:
                raise ParameterError(f"{name} is {getattr(self, name)}; it must be above 0")
        if not self.final_learning_rate <= self.learning_rate:
            raise ParameterError(
                f"final_learning_rate is {self.final_learning_rate}; it must be at most the learning rate, "
                f"{self.learning_rate}"
            )
        if not 0 <= self.warmup < self.steps:
            raise ParameterError(f"warmup is {self.warmup}; it must be from 0 to {self.steps - 1}, below the steps")
        check_choice("dtype", self.dtype, Dtype)
        _check_device(self.device, self.dtype)


class Evaluation(NamedTuple):
    """Losses in nats per character. With tokens of characters, [UNK] counts as any other character."""

    step: int
    training: float
    """Mean since the previous evaluation, with dropout."""
    held_out: float


def learning_rate(options: TrainingOptions, step: int) -> float:
    """The learning rate of update `step` (from 0): linear up to the highest, then half a cosine down to the final one,
    which the last update has."""
    high, low = options.learning_rate, options.final_learning_rate
    if step < options.warmup:
        return high * (step + 1) / (options.warmup + 1)
    share = (step - options.warmup) / max(1, options.steps - 1 - options.warmup)
    return low + (high - low) * (1 + math.cos(math.pi * share)) / 2


def train(
    model: GPT2LMHeadModel,
    alphabet: Alphabet,
    training: Sequences,
    held_out: Sequences,
    options: TrainingOptions,
    checkpoint: Path | None = None,
) -> list[Evaluation]:
    """Train a model in place, with a progress bar on standard error.

    Args:
        model: made by `build_gpt`. It is on the CPU afterwards.
        alphabet: the alphabet of the sequences.
        training: sentences to train on.
        held_out: sentences to evaluate on.
        options: settings of the training.
        checkpoint: a file to resume from where it exists, and to save to from time to time; the caller removes it. It
            must belong to a training with the same arguments.

    Returns:
        The evaluations, in the order of the steps.

    Raises:
        InputError: no training or no held-out text; a damaged checkpoint.
        ParameterError: the loss is not a number.
    """
    for what, sequences in (("train on", training), ("evaluate on", held_out)):
        if not len(sequences):
            raise InputError(f"there is no text to {what}")
    with _deterministic(options):
        torch.nn.Module.to(model, options.device)  # `to` of transformers has no type for a device alone.
        run = _Run(model, alphabet, options)
        progress = Progress(0, 0.0, 0, [])
        if checkpoint is not None and checkpoint.exists():
            progress = load_checkpoint(checkpoint, model, run.optimizer)
        curve = run.train(training, held_out, progress, checkpoint)
        torch.nn.Module.to(model, "cpu").eval()
    return curve


class _Run:
    """A training in progress."""

    def __init__(self, model: GPT2LMHeadModel, alphabet: Alphabet, options: TrainingOptions) -> None:
        self.model = model
        self.options = options
        self.device = torch.device(options.device)
        self.optimizer = _adamw(model, options)
        self.begins_character = alphabet.begins_character

    def train(
        self, training: Sequences, held_out: Sequences, progress: Progress, checkpoint: Path | None
    ) -> list[Evaluation]:
        """Train from `progress` to the last step; returns all evaluations, earlier ones included."""
        options = self.options
        step, curve = progress.step, [Evaluation(*row) for row in progress.curve]
        nats = torch.tensor(progress.nats, dtype=torch.float64, device=self.device)
        characters = progress.characters
        saved, cost = time.monotonic(), 0.0
        batches = shuffled_batches(training, self.model.config.n_positions, options.batch, options.seed, skip=step)
        with tqdm(total=options.steps, initial=step, unit="step", file=sys.stderr, disable=None) as bar:
            while step < options.steps:
                batch = next(batches)
                nats += self._update(step, batch)
                characters += self._characters(batch)
                step += 1
                bar.update()
                if step % options.evaluate_every == 0 or step == options.steps:
                    mean = _finite(nats.item() / max(1, characters), step)
                    curve.append(Evaluation(step, mean, self._evaluate(held_out)))
                    bar.set_postfix_str(f"{mean:.3f} nats per character, {curve[-1].held_out:.3f} held out")
                    nats, characters = torch.zeros_like(nats), 0
                if checkpoint is not None and time.monotonic() - saved >= cost / _CHECKPOINT_SHARE:
                    began = time.monotonic()
                    now = Progress(step, nats.item(), characters, [*curve])
                    save_checkpoint(checkpoint, self.model, self.optimizer, now)
                    saved = time.monotonic()
                    cost = saved - began
        return curve

    def _update(self, step: int, batch: Batch) -> torch.Tensor:
        """One update; returns the loss summed over the tokens of the batch, in nats."""
        options = self.options
        torch.manual_seed(int(np.random.SeedSequence([options.seed, step]).generate_state(1, np.uint64)[0]))
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(options, step)
        self.model.train()
        nats = self._nats(batch)
        (nats / int((batch.targets != IGNORED).sum())).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), options.gradient_clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return nats.detach()

    def _evaluate(self, held_out: Sequences) -> float:
        """Nats per character of the held-out text."""
        self.model.eval()
        nats, characters = 0.0, 0
        with torch.no_grad():
            for batch in ordered_batches(held_out, self.model.config.n_positions, self.options.batch):
                nats += self._nats(batch).item()
                characters += self._characters(batch)
        return nats / max(1, characters)

    def _nats(self, batch: Batch) -> torch.Tensor:
        """The loss of a batch, summed over its tokens, in nats."""
        ids, positions, targets = (torch.from_numpy(part).to(self.device) for part in batch)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.options.dtype == "bfloat16"):
            logits = packed_logits(self.model, ids, positions)
        return functional.cross_entropy(
            logits.float().flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum"
        )

    def _characters(self, batch: Batch) -> int:
        """Number of characters that begin in the targets."""
        predicted: NDArray[np.int64] = batch.targets[batch.targets != IGNORED]
        return int(self.begins_character[predicted].sum())


def _adamw(model: GPT2LMHeadModel, options: TrainingOptions) -> torch.optim.AdamW:
    matrices: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, parameter in model.named_parameters():
        inside = name.startswith("transformer.h.") and parameter.ndim == 2
        (matrices if inside else others).append(parameter)
    groups = [{"params": matrices, "weight_decay": options.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=options.learning_rate, betas=_BETAS, fused=True)


def _finite(nats: float, step: int) -> float:
    if not math.isfinite(nats):
        raise ParameterError(
            f"learning_rate: the loss is not a number at step {step}; lower the rate or warm up longer"
        )
    return nats


def _check_device(device: str, dtype: str) -> None:
    try:
        kind = torch.device(device)
    except RuntimeError:
        kind = None
    if kind is None or kind.type not in ("cpu", "cuda"):
        raise ParameterError(f"device is {device!r}; use cpu, cuda or cuda:N")
    if kind.type == "cuda":
        if (kind.index or 0) >= torch.cuda.device_count():
            raise ParameterError(f"device is {device!r}, but PyTorch sees {torch.cuda.device_count()} GPUs; use cpu")
        if dtype == "bfloat16" and not torch.cuda.is_bf16_supported(including_emulation=False):
            raise ParameterError("dtype is 'bfloat16', but this GPU does not support it; use float32")


@contextmanager
def _deterministic(options: TrainingOptions) -> Iterator[None]:
    """Set threads, random generators and algorithms by the options, and restore them afterwards."""
    gpu = torch.device(options.device).type == "cuda"
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[torch.device(options.device)] if gpu else []):
        torch.set_num_threads(options.threads)
        if gpu:  # On the CPU, all operations used here are deterministic anyway, and this costs time.
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            torch.use_deterministic_algorithms(strict)
