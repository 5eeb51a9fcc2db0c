"""Patchers by name, written into folders and read again.

A folder has patcher.json (kind, options), and what the kind needs: tokenizer.json, or the network of a model.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import write_text
from tokenlab.patches.by_bytes import CharacterPatcher, FixedPatcher, SpacePatcher
from tokenlab.patches.interface import Patcher
from tokenlab.patches.options import EntropyOptions, FixedOptions, PatcherKind, SpaceOptions

PATCHERS: tuple[PatcherKind, ...] = get_args(PatcherKind)
"""Names of the kinds."""
_FILE, _TOKENIZER, _NETWORK = "patcher.json", "tokenizer.json", "network"
_FORMAT = "tokenlab patcher 1"


def save_patcher(patcher: Patcher, folder: str | Path) -> None:
    """Write a patcher into an existing folder; equal patchers give equal bytes."""
    folder = Path(folder)
    document: dict[str, Any]
    if isinstance(patcher, SpacePatcher):
        document = {"kind": "space", "options": asdict(patcher.options)}
    elif isinstance(patcher, FixedPatcher):
        document = {"kind": "fixed", "options": asdict(patcher.options)}
    elif isinstance(patcher, CharacterPatcher):
        document = {"kind": "character"}
    else:
        document = _saved(patcher, folder)
    write_text(folder / _FILE, json.dumps({"format": _FORMAT, **document}, indent=2) + "\n")


def is_patcher(folder: str | Path) -> bool:
    """Whether a folder is one of `save_patcher`."""
    return (Path(folder) / _FILE).is_file()


def read_patcher(folder: str | Path) -> Patcher:
    """Read what `save_patcher` wrote; networks are on the CPU.

    Raises InputError for another or a damaged folder.
    """
    folder = Path(folder)
    path = folder / _FILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != _FORMAT:
            raise ValueError(f"its format is not {_FORMAT!r}")
        return _read(folder, document)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; {folder} is no folder of a patcher") from None
    except (ParameterError, OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: damaged ({' '.join(str(error).split())[:200]}); save the patcher again") from None


def _saved(patcher: Patcher, folder: Path) -> dict[str, Any]:
    """Write the files of a patcher that needs some; returns its document."""
    from tokenlab.patches.bpe import BpePatcher

    if isinstance(patcher, BpePatcher):
        write_text(folder / _TOKENIZER, patcher.tokenizer.to_str(pretty=True))
        return {"kind": "bpe", "name": Path(patcher.name).name}  # Without folders of this machine.
    from tokenlab.networks.stored import save_network
    from tokenlab.patches.entropy_patcher import EntropyPatcher
    from tokenlab.patches.learned import LearnedPatcher

    if not isinstance(patcher, EntropyPatcher | LearnedPatcher):
        raise ParameterError(f"patcher is a {type(patcher).__name__}; known are {', '.join(PATCHERS)}")
    (folder / _NETWORK).mkdir(exist_ok=True)
    save_network(patcher.network, folder / _NETWORK)
    if isinstance(patcher, EntropyPatcher):
        return {"kind": "entropy", "context": patcher.context, "options": asdict(patcher.options)}
    return {"kind": "learned", "context": patcher.context}


def _read(folder: Path, document: dict[str, Any]) -> Patcher:
    kind = document["kind"]
    if kind == "space":
        return SpacePatcher(SpaceOptions(**document["options"]))
    if kind == "fixed":
        return FixedPatcher(FixedOptions(**document["options"]))
    if kind == "character":
        return CharacterPatcher()
    if kind == "bpe":
        from tokenlab.patches.bpe import read_bpe_patcher

        return read_bpe_patcher(folder / _TOKENIZER, document["name"])
    if kind not in ("entropy", "learned"):
        raise ValueError(f"the kind {kind!r} is none of {', '.join(PATCHERS)}")
    from tokenlab.networks.stored import read_network
    from tokenlab.patches.entropy_patcher import EntropyPatcher
    from tokenlab.patches.learned import LearnedPatcher

    network: Any = read_network(folder / _NETWORK)
    if kind == "learned":
        return LearnedPatcher(network, document["context"])
    return EntropyPatcher(network, document["context"], EntropyOptions(**document["options"]))
