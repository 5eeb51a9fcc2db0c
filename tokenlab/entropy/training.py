"""Training of GPT-2 over sentences: held-out losses in nats per character.

alphabet = learn_alphabet(texts, AlphabetOptions("character", min_count=2))
sentences = encode(alphabet, texts, context=128)
model = build_gpt(GptShape(layers=4, width=256, heads=4, context=128), alphabet.size, seed=0)
curve = train(model, alphabet, sentences, held_out, TrainingOptions(steps=1000, batch=16, learning_rate=2e-3))
save_gpt(model, "folder")  # beside `save_alphabet`: readable by transformers.AutoModelForCausalLM and AutoTokenizer
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import torch
from torch.nn import functional
from transformers import GPT2LMHeadModel

from tokenlab.core.errors import InputError
from tokenlab.entropy.packing import IGNORED, Batch, Sequences, ordered_batches, shuffled_batches
from tokenlab.networks.gpt import packed_logits
from tokenlab.networks.interface import Loss
from tokenlab.tokenizers.alphabet import Alphabet
from tokenlab.training import loop, processes
from tokenlab.training.checkpoint import Configuration, Evaluation
from tokenlab.training.loop import Update
from tokenlab.training.options import TrainingOptions


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
        options: settings of the training; a batch is so many rows of `context` tokens.
        checkpoint: a file to resume from where it exists, and to save to from time to time and at the end; the caller
            removes it. It must belong to a training with the same sentences.

    Returns:
        The evaluations, in the order of the steps, in nats per character. With tokens of characters, [UNK] counts as
        any other character.

    Raises:
        InputError: no training or no held-out text; a damaged checkpoint.
        ParameterError: the loss is not a number; the device is not there.
    """
    for what, sequences in (("train on", training), ("evaluate on", held_out)):
        if not len(sequences):
            raise InputError(f"there is no text to {what}")
    return loop.train(_Learner(model, alphabet, training, held_out, options), options, checkpoint)


@dataclass
class _Learner:
    """See `loop.Learner`."""

    network: GPT2LMHeadModel
    alphabet: Alphabet
    training: Sequences
    validation: Sequences
    options: TrainingOptions
    unit: Literal["nats", "bits"] = "nats"
    per: str = "character"
    betas: tuple[float, float] = (0.9, 0.95)

    def decays(self, name: str) -> bool:
        return name.startswith("transformer.h.")

    def configuration(self) -> Configuration:
        return {}

    def updates(self, skip: int) -> Iterator[Update[Batch]]:
        options = self.options
        for batch in shuffled_batches(self.training, self._context, options.batch, options.seed, skip):
            slices = processes.own_parts(options.accumulate)
            parts = [part for rows in slices if len((part := batch.rows(rows)).ids)]
            yield Update(parts, sum(part.tokens for part in parts), self._characters(batch))

    def loss(self, network: Any, part: Batch, device: torch.device) -> Loss:
        ids, positions, targets = (torch.from_numpy(numbers).to(device) for numbers in part)
        with torch.autocast(device.type, torch.bfloat16, enabled=self.options.dtype == "bfloat16"):
            logits = packed_logits(network, ids, positions)
        nats = functional.cross_entropy(
            logits.float().flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum"
        )
        return Loss(nats, nats.new_zeros(()))

    def held_out(self, device: torch.device) -> tuple[float, float]:
        nats, characters = 0.0, 0
        rows = max(1, self.options.batch // self.options.accumulate)
        batches = ordered_batches(self.validation, self._context, rows)
        for batch in islice(batches, processes.rank(), None, processes.size()):
            nats += self.loss(self.network, batch, device).nats.item()
            characters += self._characters(batch)
        return nats, characters

    @property
    def _context(self) -> int:
        return self.network.config.n_positions

    def _characters(self, batch: Batch) -> int:
        """Number of characters that begin in the targets."""
        return int(self.alphabet.begins_character[batch.targets[batch.targets != IGNORED]].sum())
