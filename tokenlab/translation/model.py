"""The encoder-decoder Transformer of Vaswani et al. (2017) in any size: Marian's in `transformers`.

Post-norm blocks with ReLU, sinusoidal positions, and one embedding matrix for source, target and output. `grow_model`
adds rows to that matrix, so that a model can be fine-tuned on a code with more tokens.
"""

import copy
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from tokenlab.core.errors import InputError
from tokenlab.networks.products import use_openblas
from tokenlab.translation.options import TranslationShape
from tokenlab.translation.pairs import Sentences

MEAN = -1
"""Instead of the row to copy: the mean of all rows."""

_EMBEDDING = "model.shared.weight"


def build_model(shape: TranslationShape, vocabulary: int, padding: int, end: int, seed: int) -> MarianMTModel:
    """A model with random weights of Marian's own distribution, determined by the seed; float32 on the CPU.

    Args:
        shape: its size.
        vocabulary: number of tokens of source and target together.
        padding: id of the token that fills up rows, and from which the decoder starts.
        end: id of the token that ends each sentence.
        seed: of the weights.
    """
    config = MarianConfig(
        vocab_size=vocabulary,
        decoder_vocab_size=vocabulary,
        max_position_embeddings=shape.positions,
        encoder_layers=shape.layers,
        decoder_layers=shape.layers,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        encoder_ffn_dim=shape.feed_forward,
        decoder_ffn_dim=shape.feed_forward,
        d_model=shape.width,
        activation_function="relu",
        dropout=shape.dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        scale_embedding=True,
        init_std=shape.width**-0.5,  # With Marian's 0.02 small models learn nothing for long.
        pad_token_id=padding,
        bos_token_id=None,
        eos_token_id=end,
        decoder_start_token_id=padding,
        forced_eos_token_id=None,
        architectures=[MarianMTModel.__name__],
    )
    return _random(config, seed)


def grow_model(model: MarianMTModel, copies: Sequence[int]) -> MarianMTModel:
    """The model with a token more for each of `copies`: the number of the old row that its embedding copies, or MEAN
    for the mean of all old rows (the two initialisations of appendix A.1 of the bit-level paper)."""
    config = copy.deepcopy(model.config)
    config.vocab_size += len(copies)
    config.decoder_vocab_size = config.vocab_size
    grown = _random(config, 0)
    old = dict(model.named_parameters())
    with torch.no_grad():
        for name, parameter in grown.named_parameters():
            if name == _EMBEDDING:
                rows = old[name]
                new = [rows.mean(dim=0) if row == MEAN else rows[row] for row in copies]
                parameter.copy_(torch.cat([rows, *(row[None] for row in new)]))
            else:
                parameter.copy_(old[name])
    return grown


def check_lengths(model: MarianMTModel, some: Sentences, what: str) -> None:
    """Raise InputError for a sentence longer than the model's positions. what: is done with the sentences."""
    longest, positions = int(some.lengths.max(initial=0)), model.config.max_position_embeddings
    if longest > positions:
        raise InputError(
            f"a sentence to {what} has {longest} tokens, but positions is {positions}; raise positions, or leave out "
            "long sentences"
        )


def save_model(model: MarianMTModel, folder: str | Path) -> None:
    """Write a model into an existing folder, in the format of `transformers`: config.json, generation_config.json,
    model.safetensors. Equal models give equal bytes."""
    model.config.save_pretrained(folder)
    GenerationConfig.from_model_config(model.config).save_pretrained(folder)
    # The parameters do not include the output matrix, which is tied to the embedding.
    save_file(dict(model.named_parameters()), Path(folder) / "model.safetensors", metadata={"format": "pt"})


def load_model(folder: str | Path) -> MarianMTModel:
    """Read a model that `save_model` wrote. Raises InputError where there is none, or a damaged one."""
    try:
        model = _random(MarianConfig.from_json_file(Path(folder) / "config.json"), 0)
        with safe_open(Path(folder) / "model.safetensors", framework="pt") as file, torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(file.get_tensor(name))
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{folder}: no translation model ({reason}); train it again") from None
    return model.eval()


def _random(config: MarianConfig, seed: int) -> MarianMTModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = MarianMTModel(config)
    use_openblas(model)
    return model
