"""Networks made and stored: config.json (the shape) and model.safetensors in a folder, no pickles."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import atomic_file, write_text
from tokenlab.networks.interface import AnyNetwork
from tokenlab.networks.options import (
    DEFAULT,
    ChunkShape,
    Computation,
    HashShape,
    PatchShape,
    Shape,
    StackShape,
    TokenShape,
)
from tokenlab.networks.patch_network import PatchNetwork
from tokenlab.networks.token_network import TokenNetwork

_KINDS: dict[str, type[Any]] = {"tokens": TokenShape, "patches": PatchShape, "chunks": ChunkShape}
_PARTS = {"stack": StackShape, "latent": StackShape, "local": StackShape, "hash": HashShape}


def build_network(
    shape: Shape, seed: int, computation: Computation = DEFAULT, device: torch.device | str = "cpu"
) -> AnyNetwork:
    """A network with random weights that the seed determines; float32.

    With device "meta" it has sizes but no weights: enough to count parameters.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        with torch.device("meta" if str(device) == "meta" else "cpu"):
            network: AnyNetwork
            if isinstance(shape, TokenShape):
                network = TokenNetwork(shape, computation)
            elif isinstance(shape, PatchShape):
                network = PatchNetwork(shape, computation)
            else:
                from tokenlab.networks.chunk_network import ChunkNetwork

                network = ChunkNetwork(shape, computation)
    return network.to(device)


def save_network(network: AnyNetwork, folder: str | Path) -> None:
    """Write a network into an existing folder: config.json and model.safetensors. Equal networks give equal bytes."""
    write_text(Path(folder) / "config.json", json.dumps(_shape_document(network.shape), indent=2) + "\n")
    weights = {name: weight.detach().cpu().contiguous() for name, weight in network.named_parameters()}
    with atomic_file(Path(folder) / "model.safetensors") as path:
        save_file(weights, path, metadata={"format": "pt"})


def read_network(folder: str | Path, computation: Computation = DEFAULT) -> AnyNetwork:
    """Read a network that `save_network` wrote, on the CPU, for evaluation.

    Raises InputError where there is none, a damaged one, or weights of another shape.
    """
    folder = Path(folder)
    try:
        network = build_network(_read_shape(folder / "config.json"), 0, computation, "meta")
        weights = {}
        with safe_open(folder / "model.safetensors", framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 (not a mapping)
                weights[name] = file.get_tensor(name)
        network.load_state_dict(weights, assign=True)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{folder}: no network that can be read ({reason}); train it again") from None
    return network.requires_grad_(True).eval()


def _shape_document(shape: Shape) -> dict[str, Any]:
    kind = next(name for name, made in _KINDS.items() if isinstance(shape, made))
    return {"network": kind, **dataclasses.asdict(shape)}


def _read_shape(path: Path) -> Shape:
    document = json.loads(path.read_text(encoding="utf-8"))
    kind = document.pop("network", None)
    if kind not in _KINDS:
        raise ValueError(f"config.json: the network is {kind!r}, not one of {', '.join(_KINDS)}")
    try:
        for name in document.keys() & _PARTS.keys():
            if document[name] is not None:
                document[name] = _PARTS[name](**document[name])
        return _KINDS[kind](**document)
    except ParameterError as error:
        raise ValueError(f"config.json: {error}") from None
