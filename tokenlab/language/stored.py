"""A language model as a folder: config.json and model.safetensors of its network, language.json, and its coder."""

import json
from pathlib import Path
from typing import NamedTuple

from tokenlab.core.errors import InputError
from tokenlab.core.files import write_text
from tokenlab.language.coding import Coder, read_coder
from tokenlab.networks.interface import AnyNetwork
from tokenlab.networks.options import Computation
from tokenlab.networks.stored import read_network, save_network

_FILE = "language.json"
_CODER = "coder"
_DEFAULT = Computation()


class LanguageModel(NamedTuple):
    """A network and the code of the text that it reads."""

    network: AnyNetwork
    coder: Coder
    context: int
    """Bytes of the longest passages that it was trained on."""


def save_language_model(model: LanguageModel, folder: Path) -> None:
    """Write a language model into an existing folder."""
    save_network(model.network, folder)
    (folder / _CODER).mkdir()
    model.coder.save(folder / _CODER)
    write_text(folder / _FILE, json.dumps({"context": model.context}) + "\n")


def read_language_model(folder: str | Path, computation: Computation = _DEFAULT) -> LanguageModel:
    """A language model that was saved; its network is on the CPU, in evaluation mode.

    Raises InputError where there is none, or it is damaged.
    """
    folder = Path(folder)
    path = folder / _FILE
    try:
        context = json.loads(path.read_text(encoding="utf-8"))["context"]
        if not isinstance(context, int):
            raise ValueError("the context is no number")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; {folder} is no folder of a language model") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: damaged ({' '.join(str(error).split())}); save the model again") from None
    network = read_network(folder, computation)
    network.eval()
    return LanguageModel(network, read_coder(folder / _CODER), context)
