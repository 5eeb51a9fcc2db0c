"""Causal language models and their tokenizers, from a folder or by name from the Hugging Face hub.

Weights are read from safetensors alone, and no code that comes with a model is run. From the hub only configuration,
tokenizer and safetensors are fetched, so pickled weights never arrive. What `transformers` would pass over in silence
is an error here: weights that a checkpoint lacks, a tokenizer with more tokens than the model, a model that is not
causal.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from tokenizers import Tokenizer
from torch import nn
from transformers.activations import GELUTanh, NewGELUActivation

from tokenlab.entropy.tokens import TextEncoder
from tokenlab.errors import InputError, SourceError

_SAFETENSORS = ("model.safetensors", "model.safetensors.index.json")
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
_VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model")
_TOKENIZER = ("tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "added_tokens.json", "spiece.model")
_FETCHED = ["config.json", "model*.safetensors", "model.safetensors.index.json", *_TOKENIZER]
_CAUSAL_TOLERANCE = 1e-3  # Rounding differs by 1e-5 at most; what a model sees ahead of it changes by more.


class LoadedModel(NamedTuple):
    """A model in float32 on the CPU. prefix: the tokens that stand before every text. limit: positions that it has, or
    None. has_plain_head: its logits are the output embeddings applied to its last hidden states and nothing more."""

    folder: Path
    model: transformers.PreTrainedModel
    encoder: TextEncoder
    prefix: tuple[int, ...]
    limit: int | None
    has_plain_head: bool

    def files(self) -> list[Path]:
        """The files that decide what the model computes, in the order of their names."""
        found = {path for pattern in _FETCHED for path in self.folder.glob(pattern) if path.is_file()}
        return sorted(found)


def load_model(name: str | Path) -> LoadedModel:
    """Load a causal language model and its tokenizer.

    Args:
        name: a folder with config.json, safetensors and a tokenizer (what `save_pretrained` writes, or a bare
            tokenizer.json), or a name on the hub.

    Raises:
        InputError: no such folder or no model in it, pickled weights only, weights that do not fit the configuration, a
            tokenizer that does not fit the model, a model that is not causal.
        SourceError: a name that the hub does not give.
    """
    folder = _folder(name)
    _check_weights(folder)
    model = _model(folder)
    tokenizer, named = _tokenizer(folder)
    encoder = TextEncoder(tokenizer)
    embeddings: Any = model.get_input_embeddings()
    rows = embeddings.weight.shape[0]
    if encoder.size > rows:
        raise InputError(
            f"{folder}: the tokenizer has {encoder.size} tokens but the model embeds {rows}; give the model its own "
            "tokenizer"
        )
    config = model.config.get_text_config()
    limit = getattr(config, "max_position_embeddings", None)
    has_plain_head = _probe(model, rows, limit, folder)
    return LoadedModel(folder, model, encoder, _prefix(tokenizer, named, config), limit, has_plain_head)


def _folder(name: str | Path) -> Path:
    folder = Path(name)
    if folder.is_dir():
        return folder
    if isinstance(name, Path) or folder.exists() or name.startswith((".", "/")) or name.count("/") > 1:
        raise InputError(f"{name}: no such folder; name one that holds a model, or a model on the Hugging Face hub")
    return fetch_model(name)


def fetch_model(name: str, revision: str | None = None) -> Path:
    """Fetch configuration, tokenizer and safetensors of a model on the hub; what is in its cache is not fetched again.

    Args:
        revision: a commit, branch, tag or pull request (`refs/pr/1`); default: the main branch.

    Returns:
        The folder in the cache of `huggingface_hub`.

    Raises:
        InputError: no name that a model can have; no safetensors among its files.
        SourceError: a name or revision that the hub does not give.
    """
    try:
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=_FETCHED))
    except HFValidationError:
        raise InputError(f"{name}: no such folder, and no name that a model can have; check it") from None
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SourceError(
            f"{name}: no such folder, and the Hugging Face hub does not give it ({reason}); check the name and the "
            "network"
        ) from error
    _check_weights(folder)
    return folder


def _check_weights(folder: Path) -> None:
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: no model (no config.json in it); name a folder that `save_pretrained` wrote")
    if any((folder / file).is_file() for file in _SAFETENSORS):
        return
    pickled = sorted(path.name for pattern in _PICKLED for path in folder.glob(pattern))
    if pickled:
        raise InputError(
            f"{folder}: its weights are pickled ({pickled[0]}), and to read those can run code; convert them to "
            "safetensors where you trust them"
        )
    raise InputError(f"{folder}: no weights (no model.safetensors in it); fetch or save the model again")


def _model(folder: Path) -> transformers.PreTrainedModel:
    loaded: Any
    with _quietly(folder):
        loaded = transformers.AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=torch.float32,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
    model, facts = loaded
    if missing := sorted(facts["missing_keys"]):
        raise InputError(
            f"{folder}: the weights lack {missing[0]} and {len(missing) - 1} more that config.json asks for; save the "
            "model again"
        )
    _fuse_gelu(model)
    return model.eval()


def _fuse_gelu(model: nn.Module) -> None:
    """One kernel for the GELU that GPT-2 writes as eight: 0.58 -> 0.77 of the matrix rate on two cores of a Xeon."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, NewGELUActivation):
                setattr(module, name, GELUTanh())


def _tokenizer(folder: Path) -> tuple[Tokenizer, int | None]:
    """The tokenizer, and the token with which it says that texts begin."""
    if not any((folder / file).is_file() for file in _VOCABULARIES):  # transformers would make an empty one up.
        raise InputError(f"{folder}: no tokenizer ({', '.join(_VOCABULARIES)}); put the model's own beside it")
    bare = folder / "tokenizer.json"
    if bare.is_file() and not (folder / "tokenizer_config.json").is_file():
        with _quietly(folder):
            return Tokenizer.from_str(bare.read_text(encoding="utf-8")), None
    with _quietly(folder):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(
            f"{folder}: its tokenizer ({type(tokenizer).__name__}) cannot say where in a text its tokens stand; give "
            "the model a tokenizer.json"
        )
    return tokenizer.backend_tokenizer, tokenizer.bos_token_id


def _prefix(tokenizer: Tokenizer, named: int | None, config: transformers.PretrainedConfig) -> tuple[int, ...]:
    """What stands before every text: the special tokens that the tokenizer itself puts there, or its BOS, or the BOS of
    the model's configuration where the tokenizer has it as a special token, or nothing."""
    word = next(iter(tokenizer.get_vocab(with_added_tokens=False)), "")
    encoding = tokenizer.encode(word)
    before = 0
    while before < len(encoding) and encoding.special_tokens_mask[before]:
        before += 1
    if 0 < before < len(encoding):
        return tuple(encoding.ids[:before])
    if named is None and (configured := getattr(config, "bos_token_id", None)) is not None:
        added = tokenizer.get_added_tokens_decoder()
        named = configured if configured in added and added[configured].special else None
    return () if named is None else (named,)


@torch.inference_mode()
def _probe(model: transformers.PreTrainedModel, vocabulary: int, limit: int | None, folder: Path) -> bool:
    """Check that the model is causal; whether head and body make its logits to the last bit.

    Two rows that differ in their last token alone must agree before it. A scale or cap of the logits (Cohere, Granite,
    Gemma 2) shows in the bits whatever the weights are.
    """
    rows = torch.arange(min(8, limit or 8)).remainder(max(1, vocabulary - 1)).repeat(2, 1)
    rows[1, -1] = vocabulary - 1
    logits = model(input_ids=rows, use_cache=False).logits
    if not torch.allclose(logits[0, :-1], logits[1, :-1], rtol=_CAUSAL_TOLERANCE, atol=_CAUSAL_TOLERANCE):
        raise InputError(f"{folder}: {type(model).__name__} sees what follows a position; name a causal language model")
    head: Any = model.get_output_embeddings()
    if head is None or model.base_model is model:
        return False
    hidden = getattr(model.base_model(input_ids=rows, use_cache=False), "last_hidden_state", None)
    return hidden is not None and torch.equal(head(hidden), logits)


@contextmanager
def _quietly(folder: Path) -> Iterator[None]:
    """Say in one line what `transformers`, `tokenizers` and `safetensors` say in many, and show none of their bars."""
    level, has_bars = transformers.logging.get_verbosity(), transformers.logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity(logging.ERROR)
    transformers.logging.disable_progress_bar()
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # Bad files make these libraries raise almost anything; `tokenizers` just Exception.
        reason = (str(error).strip() or type(error).__name__).partition("\n")[0]
        raise InputError(
            f"{folder}: holds no causal language model that can be loaded ({reason}); fetch or save it again"
        ) from error
    finally:
        transformers.logging.set_verbosity(level)
        if has_bars:
            transformers.logging.enable_progress_bar()
