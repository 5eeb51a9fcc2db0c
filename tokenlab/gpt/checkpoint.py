"""Checkpoints of a training: the weights, the optimizer's averages and the progress, in one safetensors file.

A single file, renamed into place, is always consistent. Everything but tensors is JSON in the file's header. States of
random generators are not needed: every step seeds its generator with the run's seed and the number of the step.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_file

_AVERAGES = ("exp_avg", "exp_avg_sq")


class Progress(NamedTuple):
    """Progress of a training."""

    step: int
    """Completed steps."""
    nats: float
    """Training loss summed over the tokens since the last evaluation."""
    characters: int
    """Number of characters that begin among these tokens."""
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
    """Load a checkpoint into model and optimizer. Raises InputError where it is damaged or of another model."""
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
        raise InputError(f"{path}: no checkpoint of this training ({reason}); remove it to start again") from None
    return progress._replace(curve=[(step, training, held_out) for step, training, held_out in progress.curve])
