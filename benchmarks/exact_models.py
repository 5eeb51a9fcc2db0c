"""Randomly initialised GPT-2s with tokenizers, and the text, for the benchmark of exact character probabilities.

With TOKENLAB_MIRROR set the tokenizer is GPT-2's; without it, or for the small model, one trained on the text.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.models.gpt2.configuration_gpt2 import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2LMHeadModel

from tokenlab.tokenizers.bpe import train_byte_level

END = "<|endoftext|>"
_GPT2 = "gpt2"
TINY = {"n_layer": 2, "n_embd": 32, "n_head": 2}
SMALL = {"n_layer": 4, "n_embd": 192, "n_head": 4}
_SPREAD = 20.0  # of the smaller models' output embeddings: predictions far from uniform
_POSITIONS = 1024


def save(folder: Path, texts: Iterable[str], *, small: bool, size: int = 300, shape: Mapping[str, int] = TINY) -> str:
    """Save GPT-2 small (12 layers, 768 wide), or one of another shape with `size` tokens. Returns the name of the
    tokenizer."""
    mirror = os.environ.get("TOKENLAB_MIRROR")
    real = mirror is not None and not small
    if mirror is not None and real:
        folder_of_gpt2 = Path(mirror) / _GPT2
        bpe = models.BPE.from_file(str(folder_of_gpt2 / "encoder.json"), str(folder_of_gpt2 / "vocab.bpe"))
        tokenizer = Tokenizer(bpe)
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.add_special_tokens([END])
    else:
        tokenizer = train_byte_level(texts, size if small else 8000, [END])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=END, eos_token=END)
    fast.save_pretrained(folder)
    end = int(fast.eos_token_id)
    ids = {"vocab_size": tokenizer.get_vocab_size(), "bos_token_id": end, "eos_token_id": end}
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_positions=_POSITIONS, **ids, **(shape if small else {})))
    if small:
        with torch.no_grad():
            model.transformer.wte.weight *= _SPREAD
    model.save_pretrained(folder)
    return "GPT-2's" if real else f"trained on the text, {tokenizer.get_vocab_size():,} entries"
