"""Stage `train_lm`: a byte-level BPE tokenizer and a GPT-2 over its tokens, trained on the sentences of a corpus.

Every sentence begins after `<|endoftext|>` and ends with it, so the model knows where texts end. Held-out sentences
(`tasks.exact.held_out`) are used by neither; they measure the loss. An interrupted training resumes from its
checkpoint.
"""

import math
import shutil

import polars as pl
from pydantic import Field

from tasks.exact.byte_level import encode_with_end, save_language_model, train_tokenizer
from tasks.exact.held_out import HeldOut, held_out_texts, training_texts
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.stage import Parameters, Stage, run, write_json
from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_file, atomic_folder
from tokenlab.entropy.training import train
from tokenlab.networks.gpt import GptShape, build_gpt
from tokenlab.training.checkpoint import Evaluation
from tokenlab.training.options import TrainingOptions


class LanguageModel(Parameters):
    """One model: its corpus, the number of tokens, its size and its training."""

    corpus: str
    vocabulary_size: int = Field(ge=257, le=1 << 20)
    shape: GptShape
    training: TrainingOptions


def train_model(stage: Stage) -> None:
    """Write tokenizer and model, the loss curve and metrics."""
    parameters = stage.parameters(f"exact.models.{stage.variant}", LanguageModel)
    held_out = stage.parameters("exact.held_out", HeldOut)
    corpus = stage.data("corpora", parameters.corpus)
    texts, held_out_sentences = list(training_texts(corpus, held_out)), held_out_texts(corpus, held_out)
    if not held_out_sentences:
        raise InputError(f"{parameters.corpus}: no sentence is held out; raise exact.held_out.share")

    alphabet = train_tokenizer(texts, parameters.vocabulary_size)
    training, validation = (
        encode_with_end(alphabet, some, parameters.shape.context) for some in (texts, held_out_sentences)
    )
    model = build_gpt(parameters.shape, alphabet.size, parameters.training.seed)
    used = {"model": parameters.model_dump(), "held_out": held_out.model_dump()}
    checkpoints = checkpoint_folder(f"train_lm.{stage.variant}", used, [corpus])
    curve = train(model, alphabet, training, validation, parameters.training, checkpoints / "checkpoint.safetensors")

    with atomic_folder(stage.models("language_models", stage.variant)) as folder:
        save_language_model(model, alphabet, folder)
    reports = stage.reports("language_models", stage.variant)
    with atomic_file(reports / "loss.csv") as path:
        losses = pl.DataFrame(curve, schema=Evaluation._fields, orient="row")
        losses.select("step", "training", "held_out").write_csv(path)
    tokens = len(training.ids) - len(training)
    held_out_tokens = len(validation.ids) - len(validation)
    nats = curve[-1].held_out * held_out_tokens
    metrics = {
        "held_out_nats_per_token": curve[-1].held_out,
        "held_out_bits_per_character": nats / math.log(2) / sum(map(len, held_out_sentences)),
        "held_out_sentences": len(held_out_sentences),
        "parameters": model.num_parameters(),
        "vocabulary": alphabet.size,
        "training_tokens": tokens,
        "epochs": round(parameters.training.steps * parameters.training.batch * parameters.shape.context / tokens, 2),
    }
    write_json(reports / "metrics.json", metrics)
    shutil.rmtree(checkpoints, ignore_errors=True)


if __name__ == "__main__":
    run(train_model)
