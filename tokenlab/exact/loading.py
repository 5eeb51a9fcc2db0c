"""Token models and tokenizers from folders and from the Hugging Face hub."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenlab.core.devices import AutoDtype
from tokenlab.core.options import check_choice
from tokenlab.exact.adapters.hugging_face import from_tokenizer
from tokenlab.exact.adapters.reading import read_tokenizer
from tokenlab.exact.adapters.real import RealTokenizer
from tokenlab.exact.gpt2 import Gpt2, first_id, read_gpt2
from tokenlab.formats.tokenizer_file import read_tokenizer as read_file
from tokenlab.pretrained.token_offsets import check_embedded, tokens_before

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from tokenlab.exact.transformers_model import TransformersModel


def load(
    name: str | Path,
    threads: int | None = None,
    device: str = "auto",
    dtype: str = "auto",
    *,
    ignore_normalizer: bool = False,
) -> "tuple[Gpt2 | TransformersModel, RealTokenizer]":
    """A model and its tokenizer, by a folder or by a name on the hub.

    Args:
        threads: on the CPU; None leaves the library's setting.
        device: `auto`, or a device of PyTorch: `cpu`, `cuda` or `cuda:1`. With `auto`, a GPT-2 of at most 32 MiB in a
            folder is evaluated by NumPy on the CPU (`Gpt2`); any other model by PyTorch on the first GPU, else the CPU.
        dtype: number format of model and cache, `float32` or `bfloat16`. `auto` is float32, also on GPUs: bfloat16
            moves a logit by about 0.01.
        ignore_normalizer: leave out a normaliser that makes several texts equal: texts must be normalised already.

    Raises:
        InputError, SourceError: as `load_model`, `read_tokenizer`, Gpt2 and TransformersModel.
        ParameterError: a device that is not there; an unknown dtype.
    """
    check_choice("dtype", dtype, AutoDtype)
    small = _small(Path(name), threads, ignore_normalizer) if device == "auto" and dtype != "bfloat16" else None
    return small or _by_transformers(name, threads, device, dtype, ignore_normalizer)


def _small(folder: Path, threads: int | None, ignore: bool) -> tuple[Gpt2, RealTokenizer] | None:
    """A small GPT-2 and its tokenizer; None for other models, and where only `transformers` may know the BOS."""
    weights = read_gpt2(folder) if (folder / "tokenizer.json").is_file() else None
    if weights is None:
        return None
    file = read_file(folder)
    bos, eos = file.ends
    if bos is None and (folder / "tokenizer_config.json").is_file():  # The class that it names may have one.
        return None
    real = from_tokenizer(file.tokenizer, name=folder.name, bos=bos, eos=eos, ignore_normalizer=ignore)
    check_embedded(len(real.automaton.vocabulary.tokens), len(weights.tokens), folder)
    start = _start(real, tokens_before(file.tokenizer, bos, weights.bos))
    end = weights.eos if real.eos is None else real.eos
    return Gpt2(weights, start=start, end=end, threads=threads), real


def _by_transformers(
    name: str | Path, threads: int | None, device: str, dtype: str, ignore: bool
) -> "tuple[TransformersModel, RealTokenizer]":
    import torch

    from tokenlab.core.devices import all_devices
    from tokenlab.exact.transformers_model import TransformersModel
    from tokenlab.pretrained.loading import load_model

    place = all_devices(device)[0]
    loaded = load_model(name)
    real = _tokenizer(loaded.folder, ignore)
    loaded.model.to(place, torch.bfloat16 if dtype == "bfloat16" else torch.float32)  # type: ignore[arg-type]
    end = _configured_end(loaded.model) if real.eos is None else real.eos
    return TransformersModel(loaded.model, start=_start(real, loaded.prefix), end=end, threads=threads), real


def _start(real: RealTokenizer, prefix: tuple[int, ...]) -> tuple[int, ...]:
    return prefix or (() if real.bos is None else (real.bos,))


def _tokenizer(folder: Path, ignore_normalizer: bool) -> RealTokenizer:
    if not (folder / "vocab.txt").is_file() or (folder / "tokenizer.json").is_file():
        return read_tokenizer(folder, ignore_normalizer=ignore_normalizer)
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    return from_tokenizer(
        tokenizer.backend_tokenizer,
        name=folder.name,
        bos=tokenizer.bos_token_id,
        eos=tokenizer.eos_token_id,
        ignore_normalizer=ignore_normalizer,
    )


def _configured_end(model: "PreTrainedModel") -> int | None:
    """The id of EOS by the configuration of generation, or of the model; the first of several."""
    for config in (getattr(model, "generation_config", None), model.config.get_text_config()):
        found = getattr(config, "eos_token_id", None)
        if found is not None:
            return first_id(found)
    return None
