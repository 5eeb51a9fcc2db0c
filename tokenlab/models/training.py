"""Training of a causal language model: AdamW, linear warm-up and cosine decay, gradient clipping, dropout.

The result depends on the model, the texts and the options alone. An interrupted training that is started again goes on
from its checkpoint and ends with the same bytes, because nothing is drawn from a generator that has a past: the order
of the sentences follows from the seed and the epoch, dropout from the seed and the step.
"""

import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional
from tqdm import tqdm
from transformers import GPT2LMHeadModel

from tokenlab.errors import InputError, ParameterError
from tokenlab.models.alphabet import Alphabet
from tokenlab.models.checkpoint import Progress, load_checkpoint, save_checkpoint
from tokenlab.models.gpt import packed_logits
from tokenlab.models.packing import IGNORED, Batch, Sequences, ordered_batches, shuffled_batches

Dtype = Literal["float32", "bfloat16"]
"""What matrices are multiplied in. Weights, optimizer and losses are float32 in either case."""

_BETAS = (0.9, 0.95)
_CHECKPOINT_SHARE = 0.01
"""Of the time of a training that goes into checkpoints."""


@dataclass(frozen=True)
class TrainingOptions:
    """How a model is trained.

    steps: updates in all; batch: rows of `context` tokens in each.
    learning_rate: the highest, reached after `warmup` steps; it ends at `final_learning_rate`.
    weight_decay: decoupled (Loshchilov & Hutter 2019), of the blocks' matrices; not of embeddings, norms and biases.
    gradient_clip: the greatest norm of all gradients together.
    evaluate_every: steps between evaluations; one comes at the end in any case.
    threads: of PyTorch on the CPU; results differ between numbers of threads in the last digits.
    device: `cpu`, `cuda` or `cuda:N`.

    Raises ParameterError for values outside their range and devices that are not there.
    """

    steps: int
    batch: int
    learning_rate: float
    final_learning_rate: float = 0.0
    warmup: int = 0
    weight_decay: float = 0.1
    gradient_clip: float = 1.0
    evaluate_every: int = 100
    seed: int = 0
    threads: int = 1
    device: str = "cpu"
    dtype: Dtype = "float32"

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "evaluate_every", "threads"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name}: {getattr(self, name)} must be at least 1")
        for name in ("weight_decay", "final_learning_rate", "seed"):
            if not getattr(self, name) >= 0:
                raise ParameterError(f"{name}: {getattr(self, name)} must be at least 0")
        for name in ("learning_rate", "gradient_clip"):
            if not getattr(self, name) > 0:
                raise ParameterError(f"{name}: {getattr(self, name)} must be above 0")
        if not self.final_learning_rate <= self.learning_rate:
            raise ParameterError(f"final_learning_rate: {self.final_learning_rate} is above {self.learning_rate}")
        if not 0 <= self.warmup < self.steps:
            raise ParameterError(f"warmup: {self.warmup} must be from 0 to {self.steps - 1}, below the steps")
        if self.dtype not in get_args(Dtype):
            raise ParameterError(f"dtype: {self.dtype!r} is none of {', '.join(get_args(Dtype))}")
        _check_device(self.device, self.dtype)


class Evaluation(NamedTuple):
    """Losses in nats per character. At the level of characters, [UNK] counts as any other."""

    step: int
    training: float
    """Mean since the evaluation before, with dropout."""
    held_out: float


def learning_rate(options: TrainingOptions, step: int) -> float:
    """Of update number `step`, from 0: a line up to the highest, then half a cosine down to the final one, of the last
    update."""
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
    """Train a model in place; a bar on standard error shows how far it is.

    Args:
        model: as `build_gpt` made it. It comes back on the CPU.
        alphabet: of the sequences.
        training: sentences to learn.
        held_out: sentences to evaluate on.
        options: see there.
        checkpoint: a file to go on from where it exists, and to save to at times; the caller removes it. It must be of
            a training with the same arguments.

    Returns:
        The evaluations, in order of steps.

    Raises:
        InputError: no training or no held-out text; a damaged checkpoint.
        ParameterError: the loss is no longer a number.
    """
    for what, sequences in (("train on", training), ("evaluate on", held_out)):
        if not len(sequences):
            raise InputError(f"there is no text to {what}")
    with _deterministic(options):
        torch.nn.Module.to(model, options.device)  # transformers' own `to` has no type for a device alone
        run = _Run(model, alphabet, options)
        progress = Progress(0, 0.0, 0, [])
        if checkpoint is not None and checkpoint.exists():
            progress = load_checkpoint(checkpoint, model, run.optimizer)
        curve = run.train(training, held_out, progress, checkpoint)
        torch.nn.Module.to(model, "cpu").eval()
    return curve


class _Run:
    """What a step needs."""

    def __init__(self, model: GPT2LMHeadModel, alphabet: Alphabet, options: TrainingOptions) -> None:
        self.model = model
        self.options = options
        self.device = torch.device(options.device)
        self.optimizer = _adamw(model, options)
        self.begins_character = alphabet.begins_character

    def train(
        self, training: Sequences, held_out: Sequences, progress: Progress, checkpoint: Path | None
    ) -> list[Evaluation]:
        """The rest of the training, from `progress` on; its evaluations and the earlier ones."""
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
        """One update; the loss summed over the tokens of the batch, in nats."""
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
        """How many characters begin in the targets."""
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
        raise ParameterError(f"learning_rate: the loss is no number at step {step}; lower it, or warm up longer")
    return nats


def _check_device(device: str, dtype: str) -> None:
    try:
        kind = torch.device(device)
    except RuntimeError:
        kind = None
    if kind is None or kind.type not in ("cpu", "cuda"):
        raise ParameterError(f"device: {device!r} is none of cpu, cuda, cuda:N")
    if kind.type == "cuda":
        if (kind.index or 0) >= torch.cuda.device_count():
            raise ParameterError(f"device: {device!r}, but PyTorch sees {torch.cuda.device_count()} GPUs; use cpu")
        if dtype == "bfloat16" and not torch.cuda.is_bf16_supported(including_emulation=False):
            raise ParameterError("dtype: this GPU has no bfloat16; use float32")


@contextmanager
def _deterministic(options: TrainingOptions) -> Iterator[None]:
    """Threads, random generators and algorithms as the options say; all as it was afterwards."""
    gpu = torch.device(options.device).type == "cuda"
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[torch.device(options.device)] if gpu else []):
        torch.set_num_threads(options.threads)
        if gpu:  # On the CPU everything used here is deterministic, and this costs time.
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            torch.use_deterministic_algorithms(strict)
