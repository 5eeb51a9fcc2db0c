"""GPT-2 of `transformers` in any size, with random weights, and its folder on disk."""

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_least, option
from tokenlab.networks.products import use_openblas


@dataclass(frozen=True)
class GptShape:
    """The size of a GPT-2. Raises ParameterError for an impossible size.

    dropout: applied to the embeddings and to the two outputs of each block, but not to attention weights, since the
    fused attention of CPUs does not support it.
    """

    layers: int = option("number of blocks", metavar="N")
    width: int = option("size of the hidden states", metavar="N")
    heads: int = option("attention heads; they divide the width", metavar="N")
    context: int = option("longest sequence in tokens, the start token included", metavar="N")
    dropout: float = option("share of activations set to zero in training", 0.0, metavar="X")

    def __post_init__(self) -> None:
        for name in ("layers", "width", "heads"):
            check_least(name, getattr(self, name), 1)
        if self.width % self.heads:
            raise ParameterError(f"heads is {self.heads}; it must divide the width, {self.width}")
        if self.context < 2:
            raise ParameterError(f"context is {self.context}; it must be at least 2, the start token and one more")
        if not 0 <= self.dropout < 1:
            raise ParameterError(f"dropout is {self.dropout}; it must be at least 0 and below 1")


def build_gpt(shape: GptShape, vocabulary: int, seed: int, start: int = 0) -> GPT2LMHeadModel:
    """A GPT-2 with random weights of GPT-2's own distribution, determined by the seed; float32 on the CPU.

    Args:
        shape: its size.
        vocabulary: number of tokens.
        seed: of the weights.
        start: id of the token with which every sequence begins.
    """
    config = GPT2Config(
        vocab_size=vocabulary,
        n_positions=shape.context,
        n_embd=shape.width,
        n_layer=shape.layers,
        n_head=shape.heads,
        activation_function="gelu_pytorch_tanh",  # GPT-2's formula ("gelu_new") in one kernel instead of eight
        embd_pdrop=shape.dropout,
        resid_pdrop=shape.dropout,
        attn_pdrop=0.0,
        bos_token_id=start,
        eos_token_id=None,  # The end of a sentence is not predicted.
        architectures=[GPT2LMHeadModel.__name__],
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = GPT2LMHeadModel(config)
    use_openblas(model)
    return model


def packed_logits(model: GPT2LMHeadModel, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Logits [rows, context, vocabulary] of rows (int64[rows, context]) that hold several sequences each, end to end.

    A sequence begins wherever `positions` (int64[rows, context]) do not increase by one; attention stays inside it.
    """
    # With a cache, transformers does not derive sequences from the positions, and attention crosses them.
    return model(input_ids=ids, position_ids=positions, use_cache=False).logits


def save_gpt(model: GPT2LMHeadModel, folder: str | Path) -> None:
    """Write a model into an existing folder, in the format of `transformers`: config.json, model.safetensors."""
    model.config.save_pretrained(folder)
    # The parameters do not include the output matrix, which is tied to the embedding.
    save_file(dict(model.named_parameters()), Path(folder) / "model.safetensors", metadata={"format": "pt"})
