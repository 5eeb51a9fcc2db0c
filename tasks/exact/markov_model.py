"""Stage `markov_model`: GPT-2s trained on tokens of random Markov chains (section 4 and appendix H.4 of the
tokenization-bias paper), one for each vocabulary and chain.

A training sequence is the beginning of the encoding of an endless text. The text is cut far behind the tokens that are
kept, because the last tokens of a text depend on what follows. An interrupted training resumes from its checkpoint.
"""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field
from transformers import GPT2LMHeadModel

from tasks.exact.vocabularies import ChainParameters, MarkovVocabulary, model_name, tokenizer_of
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.pool import pooled
from tasks.runtime.stage import Parameters, Stage, run, write_json
from tasks.runtime.tables import write_table
from tokenlab.core.files import atomic_folder
from tokenlab.entropy.packing import Sequences
from tokenlab.entropy.training import train
from tokenlab.networks.gpt import GptShape, build_gpt, save_gpt
from tokenlab.tokenizers.alphabet import START_ID, Alphabet, save_alphabet
from tokenlab.training.checkpoint import Evaluation
from tokenlab.training.options import TrainingOptions

_AFTER = 8
"""Further longest tokens of text behind the tokens that are kept."""


class MarkovModel(Parameters):
    """The models of a chain. texts, held_out: numbers of training and held-out sequences of `shape.context` tokens.
    The seed of `training` is replaced by that of the chain."""

    texts: int = Field(ge=1, le=10**8)
    held_out: int = Field(ge=1, le=10**6)
    shape: GptShape
    training: TrainingOptions


class Job(NamedTuple):
    """One model, before its training. longest: characters of the longest token."""

    name: str
    vocabulary: str
    seed: int
    longest: int
    alphabet: Alphabet
    model: GPT2LMHeadModel


def train_models(stage: Stage) -> None:
    """Write all models and their loss curves."""
    section = f"exact.markov.{stage.variant}"
    chain = stage.parameters(f"{section}.chain", ChainParameters)
    vocabularies = stage.parameters(f"{section}.vocabularies", dict[str, MarkovVocabulary])
    options = stage.parameters(f"{section}.model", MarkovModel)
    used = {
        "chain": chain.model_dump(),
        "vocabularies": {name: vocabulary.model_dump() for name, vocabulary in vocabularies.items()},
        "model": options.model_dump(),
    }
    checkpoints = checkpoint_folder(f"markov_model.{stage.variant}", used, [])

    def work(job: Job) -> list[Evaluation]:
        training, held_out = (
            training_sequences(job, chain, number, options.shape.context, part)
            for part, number in enumerate((options.texts, options.held_out), 1)
        )
        own = replace(options.training, seed=job.seed)
        return train(job.model, job.alphabet, training, held_out, own, checkpoints / f"{job.name}.safetensors")

    # Random weights come from a generator that all threads share, so they are drawn before the pool starts; without
    # dropout the training itself draws nothing.
    jobs = list(_jobs(chain, vocabularies, options.shape))
    curves = pooled(work, jobs, "training")
    with atomic_folder(stage.models("markov", stage.variant)) as folder:
        for job in jobs:
            (folder / job.name).mkdir()
            save_gpt(job.model, folder / job.name)
            save_alphabet(job.alphabet, folder / job.name)
    _write_reports(stage.reports("markov_models", stage.variant), jobs, curves)
    shutil.rmtree(checkpoints, ignore_errors=True)


def _jobs(chain: ChainParameters, vocabularies: Mapping[str, MarkovVocabulary], shape: GptShape) -> list[Job]:
    found = []
    for name, vocabulary in vocabularies.items():
        for seed in chain.seeds:
            longest = max(map(len, vocabulary.spelled(chain.alphabet)))
            alphabet = tokenizer_of(vocabulary, chain.alphabet)
            found.append(
                Job(model_name(name, seed), name, seed, longest, alphabet, build_gpt(shape, alphabet.size, seed))
            )
    return found


def training_sequences(job: Job, chain: ChainParameters, number: int, context: int, part: int) -> Sequences:
    """`number` random texts as sequences of exactly `context` tokens; `part` is a part of the seed."""
    length = (context - 1 + _AFTER) * job.longest
    texts = chain.chain(job.seed).sample(np.random.default_rng([job.seed, part]), length, number)
    encodings = job.alphabet.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    ids = np.full((number, context), START_ID, np.int32)
    ids[:, 1:] = [encoding.ids[: context - 1] for encoding in encodings]
    return Sequences(ids.reshape(-1), np.arange(number + 1, dtype=np.int64) * context)


def _write_reports(folder: Path, jobs: list[Job], curves: list[list[Evaluation]]) -> None:
    """The loss curves, and the last losses in nats per token."""
    rows = [
        {"vocabulary": job.vocabulary, "seed": job.seed, "step": one.step}
        | {"training": one.training, "held_out": one.held_out}
        for job, curve in zip(jobs, curves, strict=True)
        for one in curve
    ]
    write_table(folder / "loss.csv", rows)
    metrics = {
        job.name: {"held_out_nats_per_token": curve[-1].held_out, "parameters": job.model.num_parameters()}
        for job, curve in zip(jobs, curves, strict=True)
    }
    write_json(folder / "metrics.json", metrics)


if __name__ == "__main__":
    run(train_models)
