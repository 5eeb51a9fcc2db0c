"""Processes of one training, which divide each batch and average their gradients: torchrun's, started from Python.

`launch` runs a function in N processes and sets the variables that torchrun sets (RANK, WORLD_SIZE, ...). `group` then
joins them: NCCL between GPUs, Gloo between CPUs.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import distributed
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
from torch.nn.parallel import DistributedDataParallel


def launch(function: Callable[..., Any], *arguments: Any, processes: int) -> Any:
    """Call a function in `processes` new processes on this machine; returns what the first of them returns.

    Function and arguments are pickled. Raises torch's ChildFailedError where a process fails; the others are stopped.
    """
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id="training",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        start_method="spawn",
    )
    return elastic_launch(config, function)(*arguments)[0]


@contextmanager
def group(device: str) -> Iterator[None]:
    """Join the processes that `launch` or torchrun started, if there are several."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or distributed.is_initialized():
        yield
        return
    distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    try:
        yield
    finally:
        distributed.destroy_process_group()


def rank() -> int:
    """The number of this process, from 0."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def size() -> int:
    """The number of processes."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def own_parts(accumulate: int) -> list[slice]:
    """The rows of a batch that this process computes, in `accumulate` parts; the last ones may have none."""
    return [slice(rank() + size() * part, None, size() * accumulate) for part in range(accumulate)]


def own_device(device: str) -> torch.device:
    """The device of this process: with several processes, each has a GPU of its own."""
    if device == "cuda" and size() > 1:
        return torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    return torch.device(device)


def averaging(model: torch.nn.Module, device: torch.device) -> torch.nn.Module:
    """The model; with several processes, wrapped so that backward passes average the gradients."""
    if size() == 1:
        return model
    return DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None)


def total(value: torch.Tensor) -> torch.Tensor:
    """The sum of a number over the processes, in place."""
    if size() > 1:
        distributed.all_reduce(value)
    return value


def wait() -> None:
    """Wait until all processes are here."""
    if size() > 1:
        distributed.barrier()
