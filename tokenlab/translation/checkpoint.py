"""Checkpoints of a training: the weights, the optimizer's averages, the best weights and the progress, in one file.

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


class Evaluation(NamedTuple):
    """Losses in nats per target token, the end of a sentence included."""

    step: int
    training: float
    """Mean since the previous evaluation, with dropout and label smoothing."""
    held_out: float


class Progress(NamedTuple):
    """Progress of a training."""

    step: int
    """Completed steps."""
    nats: float
    """Training loss summed over the tokens since the last evaluation."""
    tokens: int
    """Number of these tokens."""
    curve: list[Evaluation]
    """Evaluations so far."""


Weights = dict[str, torch.Tensor]
"""The trained parameters of a model by their names."""


def trained(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """The parameters that are trained: all but the sinusoidal positions."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def save_checkpoint(
    path: Path, model: torch.nn.Module, optimizer: torch.optim.AdamW, best: Weights, progress: Progress
) -> None:
    """Write a checkpoint atomically. best: the weights of the best evaluation, empty before the first."""
    tensors = {f"best.{name}": tensor for name, tensor in best.items()}
    for name, parameter in trained(model).items():
        tensors[f"model.{name}"] = parameter.detach()
        for average in _AVERAGES:
            tensors[f"{average}.{name}"] = optimizer.state[parameter][average]
    with atomic_file(path) as temporary:
        save_file(tensors, temporary, metadata={"progress": json.dumps(progress)})


def load_checkpoint(path: Path, model: torch.nn.Module, optimizer: torch.optim.AdamW) -> tuple[Progress, Weights]:
    """Load a checkpoint into model and optimizer; returns the progress and the best weights.

    Raises InputError where it is damaged or of another model.
    """
    parameters = trained(model)
    try:
        with safe_open(path, framework="pt") as file:
            step, nats, tokens, curve = json.loads(file.metadata()["progress"])
            with torch.no_grad():
                for name, parameter in parameters.items():
                    parameter.copy_(file.get_tensor(f"model.{name}"))
                    state = {
                        average: file.get_tensor(f"{average}.{name}").to(parameter.device) for average in _AVERAGES
                    }
                    # float32 and on the device, as the fused AdamW keeps it.
                    optimizer.state[parameter] = {**state, "step": torch.tensor(float(step), device=parameter.device)}
            names = parameters if curve else ()
            best = {name: file.get_tensor(f"best.{name}").to(parameters[name].device) for name in names}
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path}: no checkpoint of this training ({reason}); remove it to start again") from None
    return Progress(step, nats, tokens, [Evaluation(*row) for row in curve]), best
