"""GPT-2 as `transformers` has it, of any size and with random weights, and its folder on disk."""

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel

from tokenlab.errors import ParameterError
from tokenlab.models.alphabet import START_ID, Alphabet, save_alphabet


@dataclass(frozen=True)
class GptShape:
    """The size of a GPT-2, as its papers count it.

    `context` is the longest sequence in tokens, the start token among them. `dropout` is the share of the embeddings
    and of each block's two outputs that is set to zero in training; attention weights are never dropped, as the fused
    attention of CPUs cannot. Raises ParameterError for a size that cannot be.
    """

    layers: int
    width: int
    heads: int
    context: int
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("layers", "width", "heads"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name}: {getattr(self, name)} must be at least 1")
        if self.width % self.heads:
            raise ParameterError(f"heads: {self.heads} do not divide a width of {self.width}")
        if self.context < 2:
            raise ParameterError(f"context: {self.context} must be at least 2, the start token and one more")
        if not 0 <= self.dropout < 1:
            raise ParameterError(f"dropout: {self.dropout} must be at least 0 and below 1")


def build_gpt(shape: GptShape, alphabet: Alphabet, seed: int) -> GPT2LMHeadModel:
    """A GPT-2 with random weights (GPT-2's own distribution), which the seed fixes; float32 on the CPU."""
    config = GPT2Config(
        vocab_size=alphabet.size,
        n_positions=shape.context,
        n_embd=shape.width,
        n_layer=shape.layers,
        n_head=shape.heads,
        activation_function="gelu_pytorch_tanh",  # GPT-2's formula ("gelu_new") in one kernel instead of eight
        embd_pdrop=shape.dropout,
        resid_pdrop=shape.dropout,
        attn_pdrop=0.0,
        bos_token_id=START_ID,
        eos_token_id=None,  # The end of a sentence is not predicted.
        architectures=[GPT2LMHeadModel.__name__],
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GPT2LMHeadModel(config)


def packed_logits(model: GPT2LMHeadModel, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Logits [rows, context, vocabulary] of rows (int64[rows, context]) that hold several sequences each, end to end.

    A sequence begins wherever `positions` do not go on by one, and sees itself alone.
    """
    # With a cache transformers would not look for sequences in the positions, and let all see each other.
    return model(input_ids=ids, position_ids=positions, use_cache=False).logits


def save_model(model: GPT2LMHeadModel, alphabet: Alphabet, folder: str | Path) -> None:
    """Write model and tokenizer into an existing folder, in the files that `transformers` loads: config.json,
    model.safetensors, tokenizer.json, tokenizer_config.json."""
    model.config.save_pretrained(folder)
    # Parameters leave out the output matrix, which is the embedding's.
    save_file(dict(model.named_parameters()), Path(folder) / "model.safetensors", metadata={"format": "pt"})
    save_alphabet(alphabet, Path(folder))
