"""Stage `train_lm`: a byte-level BPE tokenizer and a GPT-2 over its tokens, trained on the sentences of a corpus.

Every sentence begins after `<|endoftext|>` and ends with it, so the model knows where texts end. Held-out sentences
(`tasks.exact.held_out`) are used by neither; they measure the loss. An interrupted training resumes from its
checkpoint.
"""

import math
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from pydantic import Field
from transformers import GPT2LMHeadModel

from tasks.exact.held_out import HeldOut, held_out_texts, training_texts
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.stage import Parameters, Stage, run, write_json
from tasks.runtime.tables import write_losses
from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_folder
from tokenlab.entropy.packing import Sequences
from tokenlab.entropy.training import train
from tokenlab.networks.gpt import GptShape, build_gpt, save_gpt
from tokenlab.tokenizers.alphabet import START_ID, Alphabet, write_tokenizer
from tokenlab.tokenizers.bpe import train_byte_level
from tokenlab.training.options import TrainingOptions

END = "<|endoftext|>"
"""BOS and EOS; its id is START_ID."""


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
    write_losses(reports / "loss.csv", curve)
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


def train_tokenizer(texts: Iterable[str], vocabulary_size: int) -> Alphabet:
    """A tokenizer of `vocabulary_size` tokens: END, all bytes, and merges, as the training of a GPT takes it.

    Raises InputError where the texts give fewer merges.
    """
    tokenizer = train_byte_level(texts, vocabulary_size, [END])
    if (found := tokenizer.get_vocab_size()) < vocabulary_size:
        raise InputError(
            f"the corpus gives {found} tokens; lower vocabulary_size from {vocabulary_size} to at most that"
        )
    tokenizer.encode_special_tokens = True  # Otherwise END in a text would be one token instead of its characters.
    return Alphabet(tokenizer, np.arange(found) >= 0)


def encode_with_end(alphabet: Alphabet, texts: Iterable[str], context: int) -> Sequences:
    """The ids of texts, END before and after each, in sequences of at most `context` tokens.

    A longer text is cut into pieces; each piece begins with END, and only the last one ends with it.
    """
    ids: list[int] = []
    starts = [0]
    for encoding in alphabet.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False):
        with_end = [*encoding.ids, START_ID]
        for begin in range(0, len(with_end), context - 1):
            ids += [START_ID, *with_end[begin : begin + context - 1]]
            starts.append(len(ids))
    return Sequences(np.array(ids, np.int32), np.array(starts, np.int64))


def save_language_model(model: GPT2LMHeadModel, alphabet: Alphabet, folder: Path) -> None:
    """Write config.json, model.safetensors, tokenizer.json and tokenizer_config.json into an existing folder."""
    model.config.bos_token_id = model.config.eos_token_id = START_ID
    save_gpt(model, folder)
    write_tokenizer(alphabet.tokenizer, folder, {"bos_token": END, "eos_token": END, "split_special_tokens": True})


if __name__ == "__main__":
    run(train_model)
