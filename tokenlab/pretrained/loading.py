"""Loading of causal language models and their tokenizers, from a folder or by name from the Hugging Face hub.

Weights are read only from safetensors, and code that comes with a model is never run. From the hub only configuration,
tokenizer and safetensors are fetched, so pickled weights are never downloaded. Three problems that `transformers`
ignores are errors here: weights missing from a checkpoint, a tokenizer with more tokens than the model, a model that is
not causal.
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

from tokenlab.core.errors import InputError, SourceError
from tokenlab.networks.products import use_openblas
from tokenlab.pretrained.token_offsets import TextEncoder, check_embedded, tokens_before

_SAFETENSORS = ("model.safetensors", "model.safetensors.index.json")
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
_VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model")
_TOKENIZER = ("tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "added_tokens.json", "spiece.model")
_FETCHED = ["config.json", "model*.safetensors", "model.safetensors.index.json", *_TOKENIZER]
_CAUSAL_TOLERANCE = 1e-3  # Rounding differs by at most 1e-5; attention to later tokens changes logits by more.


class LoadedModel(NamedTuple):
    """A model in float32 on the CPU."""

    folder: Path
    model: transformers.PreTrainedModel
    encoder: TextEncoder
    prefix: tuple[int, ...]
    """Special tokens before every text."""
    limit: int | None
    """Number of positions, None if unlimited."""
    has_plain_head: bool
    """Whether the logits are the output embeddings applied to the last hidden states, and nothing more."""

    def files(self) -> list[Path]:
        """The files that determine the model's output, sorted by name."""
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
        SourceError: the hub does not provide this name.
    """
    folder = _folder(name)
    _check_weights(folder)
    model = _model(folder)
    tokenizer, named = _tokenizer(folder)
    encoder = TextEncoder(tokenizer)
    embeddings: Any = model.get_input_embeddings()
    rows = embeddings.weight.shape[0]
    check_embedded(encoder.size, rows, folder)
    config = model.config.get_text_config()
    limit = getattr(config, "max_position_embeddings", None)
    has_plain_head = _probe(model, rows, limit, folder)
    prefix = tokens_before(tokenizer, named, getattr(config, "bos_token_id", None))
    return LoadedModel(folder, model, encoder, prefix, limit, has_plain_head)


def _folder(name: str | Path) -> Path:
    folder = Path(name)
    if folder.is_dir():
        return folder
    if folder.is_file():
        raise InputError(f"{name}: a file; name the folder of a model")
    if isinstance(name, Path) or folder.exists() or name.startswith((".", "/")) or name.count("/") > 1:
        raise InputError(f"{name}: no such folder; name one that holds a model, or a model on the Hugging Face hub")
    return fetch_model(name)


def fetch_model(name: str, revision: str | None = None) -> Path:
    """Fetch configuration, tokenizer and safetensors of a model on the hub, as far as they are not in its cache.

    Args:
        revision: a commit, branch, tag or pull request (`refs/pr/1`); default: the main branch.

    Returns:
        The folder in the cache of `huggingface_hub`.

    Raises:
        InputError: an invalid name; no safetensors among the files of the model.
        SourceError: the hub does not provide this name or revision.
    """
    try:
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=_FETCHED))
    except HFValidationError:
        raise InputError(f"{name}: no such folder, and not a valid name of a model; check it") from None
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SourceError(
            f"{name}: no such folder, and the Hugging Face hub does not provide it ({reason}); check the name and the "
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
    if model.config.model_type == "gpt2":  # Others may ask the name of their attention, or pass it more.
        use_openblas(model)
    return model.eval()


def _fuse_gelu(model: nn.Module) -> None:
    """Replace GPT-2's GELU of eight kernels by one: 0.58 -> 0.77 of the matrix rate on two cores of a Xeon."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, NewGELUActivation):
                setattr(module, name, GELUTanh())


def _tokenizer(folder: Path) -> tuple[Tokenizer, int | None]:
    """The tokenizer, and the id of its BOS token."""
    if not any((folder / file).is_file() for file in _VOCABULARIES):  # transformers would create an empty one.
        raise InputError(f"{folder}: no tokenizer ({', '.join(_VOCABULARIES)}); put the model's own beside it")
    bare = folder / "tokenizer.json"
    if bare.is_file() and not (folder / "tokenizer_config.json").is_file():
        with _quietly(folder):
            return Tokenizer.from_str(bare.read_text(encoding="utf-8")), None
    with _quietly(folder):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(
            f"{folder}: its tokenizer ({type(tokenizer).__name__}) gives no offsets of tokens; provide a tokenizer.json"
        )
    return tokenizer.backend_tokenizer, tokenizer.bos_token_id


@torch.inference_mode()
def _probe(model: transformers.PreTrainedModel, vocabulary: int, limit: int | None, folder: Path) -> bool:
    """Check that the model is causal. Returns whether head and body reproduce its logits to the last bit.

    Two rows that differ only in their last token must agree before it. A scale or cap of the logits (Cohere, Granite,
    Gemma 2) changes the bits for any weights.
    """
    rows = torch.arange(min(8, limit or 8)).remainder(max(1, vocabulary - 1)).repeat(2, 1)
    rows[1, -1] = vocabulary - 1
    logits = model(input_ids=rows, use_cache=False).logits
    if not torch.allclose(logits[0, :-1], logits[1, :-1], rtol=_CAUSAL_TOLERANCE, atol=_CAUSAL_TOLERANCE):
        raise InputError(f"{folder}: {type(model).__name__} attends to later positions; name a causal language model")
    head: Any = model.get_output_embeddings()
    if head is None or model.base_model is model:
        return False
    hidden = getattr(model.base_model(input_ids=rows, use_cache=False), "last_hidden_state", None)
    return hidden is not None and torch.equal(head(hidden), logits)


@contextmanager
def _quietly(folder: Path) -> Iterator[None]:
    """Turn any error of `transformers`, `tokenizers` and `safetensors` into one line, and hide their progress bars."""
    level, has_bars = transformers.logging.get_verbosity(), transformers.logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity(logging.ERROR)
    transformers.logging.disable_progress_bar()
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # Bad files make these libraries raise almost anything; `tokenizers` raises Exception.
        reason = (str(error).strip() or type(error).__name__).partition("\n")[0]
        raise InputError(
            f"{folder}: no causal language model can be loaded ({reason}); fetch or save it again"
        ) from error
    finally:
        transformers.logging.set_verbosity(level)
        if has_bars:
            transformers.logging.enable_progress_bar()
