"""A training in the middle: the weights, the optimizer's averages, and how far it has come, in one safetensors file.

One file that is renamed into place is always of one moment. What is no tensor is JSON in the file's header. There are
no states of random generators: every step draws from a generator seeded by the run's seed and its own number.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from tokenlab.errors import InputError
from tokenlab.files import atomic_file

_AVERAGES = ("exp_avg", "exp_avg_sq")


class Progress(NamedTuple):
    """How far a training has come."""

    step: int
    """Steps done."""
    nats: float
    """Training loss summed over the tokens since the last evaluation."""
    characters: int
    """Characters that these tokens begin."""
    curve: list[tuple[int, float, float]]
    """Evaluations so far: step, training and held-out loss in nats per character."""


def save_checkpoint(path: Path, model: torch.nn.Module, optimizer: torch.optim.AdamW, progress: Progress) -> None:
    """Write a checkpoint atomically."""
    tensors = {}
    for name, parameter in model.named_parameters():
        tensors[f"model.{name}"] = parameter.detach()
        for average in _AVERAGES:
            tensors[f"{average}.{name}"] = optimizer.state[parameter][average]
    with atomic_file(path) as temporary:
        save_file(tensors, temporary, metadata={"progress": json.dumps(progress)})


def load_checkpoint(path: Path, model: torch.nn.Module, optimizer: torch.optim.AdamW) -> Progress:
    """Set model and optimizer to what a checkpoint holds. Raises InputError where it is damaged or of another model."""
    try:
        with safe_open(path, framework="pt") as file:
            progress = Progress(*json.loads(file.metadata()["progress"]))
            with torch.no_grad():
                for name, parameter in model.named_parameters():
                    parameter.copy_(file.get_tensor(f"model.{name}"))
                    state: dict[str, Any] = {
                        average: file.get_tensor(f"{average}.{name}").to(parameter.device) for average in _AVERAGES
                    }
                    # float32 and on the device, as the fused AdamW keeps it.
                    state["step"] = torch.tensor(float(progress.step), device=parameter.device)
                    optimizer.state[parameter] = state
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path}: no checkpoint of this training ({reason}); remove it to begin anew") from None
    return progress._replace(curve=[(step, training, held_out) for step, training, held_out in progress.curve])
