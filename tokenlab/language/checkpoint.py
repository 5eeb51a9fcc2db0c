"""Checkpoints of a training: the weights, the optimizer's averages, the progress and the configuration, in one file.

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

_AVERAGES = ("exp_avg", "exp_avg_sq")

Configuration = dict[str, object]
"""All that determines a training, by names for messages; values that JSON has."""


class Evaluation(NamedTuple):
    """Losses in bits per byte of the text; the bits of markers count, they have no byte."""

    step: int
    bytes: int
    """Bytes trained on so far."""
    training: float
    """Mean since the previous evaluation."""
    held_out: float
    extra: float
    """What the network adds to its loss, as weighted, such as the ratio loss of learned chunks: mean per symbol since
    the previous evaluation, in nats. 0 for most networks."""


class Progress(NamedTuple):
    """Progress of a training; `losses` and `recent_bytes` are sums since the last evaluation."""

    step: int
    """Completed steps."""
    bytes: int
    """Bytes trained on so far."""
    losses: list[float]
    """Nats, extra loss (in nats, a sum over symbols), and symbols."""
    recent_bytes: int
    curve: list[Evaluation]
    """Evaluations so far."""


BEGINNING = Progress(0, 0, [0.0, 0.0, 0.0], 0, [])


def save_checkpoint(
    path: Path,
    network: torch.nn.Module,
    optimizer: torch.optim.AdamW,
    configuration: Configuration,
    progress: Progress,
) -> None:
    """Write a checkpoint atomically."""
    tensors = {}
    for name, parameter in network.named_parameters():
        tensors[f"model.{name}"] = parameter.detach()
        for average in _AVERAGES:
            # A parameter that had no gradient yet has no averages: they are 0.
            state = optimizer.state[parameter]
            tensors[f"{average}.{name}"] = state[average] if state else torch.zeros_like(parameter)
    metadata = {"progress": json.dumps(progress), "configuration": json.dumps(configuration)}
    with atomic_file(path) as temporary:
        save_file(tensors, temporary, metadata=metadata)


def load_checkpoint(
    path: Path, network: torch.nn.Module, optimizer: torch.optim.AdamW, configuration: Configuration
) -> Progress:
    """Load a checkpoint into network and optimizer; returns the progress.

    Raises InputError where it is damaged, or of another configuration.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata()
            _check(path, json.loads(metadata["configuration"]), configuration)
            progress = Progress(*json.loads(metadata["progress"]))
            progress = progress._replace(curve=[Evaluation(*row) for row in progress.curve])
            with torch.no_grad():
                for name, parameter in network.named_parameters():
                    parameter.copy_(file.get_tensor(f"model.{name}"))
                    state = {
                        average: file.get_tensor(f"{average}.{name}").to(parameter.device) for average in _AVERAGES
                    }
                    # float32 and on the device, as the fused AdamW keeps it.
                    step = torch.tensor(float(progress.step), device=parameter.device)
                    optimizer.state[parameter] = {**state, "step": step}
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path}: no checkpoint of this training ({reason}); remove it to start again") from None
    return progress


def _check(path: Path, found: Configuration, wanted: Configuration) -> None:
    wanted = json.loads(json.dumps(wanted))
    for name in {**wanted, **found}:  # in the order of their meaning
        there, here = found.get(name), wanted.get(name)
        if there != here:
            raise InputError(
                f"{path}: a checkpoint of another configuration ({name} is {there} there, {here} here); remove it to "
                "start again"
            )
