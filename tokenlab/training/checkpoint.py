"""Checkpoints of a training: the weights, the optimizer's state, the best weights, the progress and the configuration.

A single safetensors file, renamed into place, is always consistent. Everything but tensors is JSON in its header.
States of random generators are not needed: every step seeds its generator with the run's seed and its own number.
"""

import json
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_file

_STATE = ("exp_avg", "exp_avg_sq", "step")
"""What AdamW keeps of a parameter that had a gradient."""

Configuration = dict[str, object]
"""All that determines a training, by names for messages; values that JSON has."""

Weights = dict[str, torch.Tensor]
"""The trained parameters of a network by their names."""


class Evaluation(NamedTuple):
    """Losses after an update, in the unit of the network's family: bits per byte, nats per character or token."""

    step: int
    size: int
    """Bytes, characters or tokens trained on so far."""
    training: float
    """Mean since the previous evaluation, as it is minimised: with dropout and label smoothing."""
    held_out: float
    extra: float
    """What the network adds to its loss, as weighted, such as the ratio loss of learned chunks: mean per symbol since
    the previous evaluation, in nats. 0 for most networks."""


class Progress(NamedTuple):
    """Progress of a training; `losses` and `recent` are sums since the last evaluation."""

    step: int
    """Completed steps."""
    losses: list[float]
    """Nats, extra loss (in nats, a sum over symbols), and symbols."""
    recent: int
    """Bytes, characters or tokens."""
    size: int
    """The same since the beginning."""
    curve: list[Evaluation]
    """Evaluations so far."""


BEGINNING = Progress(0, [0.0, 0.0, 0.0], 0, 0, [])


def trained(network: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """The parameters that are trained, by their names: not those, such as sinusoidal positions, that stay."""
    return {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}


def save_checkpoint(
    path: Path,
    network: torch.nn.Module,
    optimizer: torch.optim.AdamW,
    best: Weights,
    configuration: Configuration,
    progress: Progress,
) -> None:
    """Write a checkpoint atomically. best: the weights of the best evaluation, where they are kept; otherwise empty."""
    tensors = {f"best.{name}": tensor for name, tensor in best.items()}
    for name, parameter in trained(network).items():
        tensors[f"model.{name}"] = parameter.detach()
        tensors |= {f"{kind}.{name}": tensor for kind, tensor in optimizer.state[parameter].items()}
    metadata = {"progress": json.dumps(progress), "configuration": json.dumps(configuration)}
    with atomic_file(path) as temporary:
        save_file(tensors, temporary, metadata=metadata)


def load_checkpoint(
    path: Path, network: torch.nn.Module, optimizer: torch.optim.AdamW, configuration: Configuration
) -> tuple[Progress, Weights]:
    """Load a checkpoint into network and optimizer; returns the progress and the best weights.

    Raises InputError where it is damaged, or of another configuration.
    """
    best: Weights = {}
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata()
            _check(path, json.loads(metadata["configuration"]), configuration)
            progress = Progress(*json.loads(metadata["progress"]))
            progress = progress._replace(curve=[Evaluation(*row) for row in progress.curve])
            names = set(file.keys())
            with torch.no_grad():
                for name, parameter in trained(network).items():
                    parameter.copy_(file.get_tensor(f"model.{name}"))
                    if f"best.{name}" in names:
                        best[name] = file.get_tensor(f"best.{name}").to(parameter.device)
                    if f"step.{name}" in names:  # Otherwise it had no gradient yet.
                        state = {kind: file.get_tensor(f"{kind}.{name}").to(parameter.device) for kind in _STATE}
                        optimizer.state[parameter] = state
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path}: no checkpoint of this training ({reason}); remove it to start again") from None
    return progress, best


def _check(path: Path, found: Configuration, wanted: Configuration) -> None:
    wanted = json.loads(json.dumps(wanted))
    for name in {**wanted, **found}:  # in the order of their meaning
        there, here = found.get(name), wanted.get(name)
        if there != here:
            raise InputError(
                f"{path}: a checkpoint of another configuration ({name} is {there} there, {here} here); remove it to "
                "start again"
            )
