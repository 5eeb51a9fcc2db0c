"""Byte-level BPE as GPT-2's, trained on a corpus: its regular expression, its bytes, and `<|endoftext|>`, which begins
and ends every text. The tokenizer is saved as `transformers` reads it.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2LMHeadModel

from tokenlab.core.errors import InputError
from tokenlab.entropy.packing import Sequences
from tokenlab.networks.gpt import save_gpt
from tokenlab.tokenizers.alphabet import START_ID, Alphabet

END = "<|endoftext|>"
"""BOS and EOS; its id is START_ID."""

_BYTES = 256


def train_tokenizer(texts: Iterable[str], vocabulary_size: int) -> Alphabet:
    """A tokenizer of `vocabulary_size` tokens: END, all bytes, and merges, as the training of a GPT takes it.

    Raises InputError where the texts give fewer merges.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
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
    alphabet.tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END,
        "eos_token": END,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,
    }
    text = json.dumps(config, indent=2, sort_keys=True) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
