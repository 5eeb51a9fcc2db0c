"""Number formats and devices of networks, and the settings of PyTorch under which they compute.

Imports torch where it is needed, so that options can be declared and checked without it.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from tokenlab.core.errors import ParameterError

if TYPE_CHECKING:
    import torch

Dtype = Literal["float32", "bfloat16"]
"""Number format of matrix products. Weights, optimizer and losses are always float32."""

AutoDtype = Literal["auto", "float32", "bfloat16"]
"""The same, or what suits the device; on command lines only."""


def check_device_name(device: str, others: str = "") -> None:
    """Check the form of the name of a device. Raises ParameterError for any other; `others` are further names for the
    message, which the caller knows."""
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise ParameterError(f"device is {device!r}; use {others}cpu, cuda or cuda:N")


def check_device(device: "torch.device", dtype: Dtype) -> None:
    """Check that a device is there. Raises ParameterError where it is not, or does not support the number format."""
    import torch

    if device.type == "cuda":
        gpus = torch.cuda.device_count()
        if (device.index or 0) >= gpus:
            raise ParameterError(f"device is '{device}', but PyTorch sees {gpus} GPUs; use cpu, or repair the driver")
        if dtype == "bfloat16" and not torch.cuda.is_bf16_supported(including_emulation=False):
            raise ParameterError("dtype is 'bfloat16', but this GPU does not support it; use float32")


def all_devices(device: str | Sequence[str]) -> "list[torch.device]":
    """The devices of a name or several: `auto` (every visible GPU, else the CPU), `cpu`, `cuda` (every visible GPU) or
    `cuda:N`.

    Raises ParameterError for another name, for none, and for a device that is not there.
    """
    import torch

    gpus = torch.cuda.device_count()
    if device == "auto":
        device = "cuda" if gpus else "cpu"
    devices: list[torch.device] = []
    for name in [device] if isinstance(device, str) else device:
        check_device_name(name, "auto, ")
        check_device(torch.device(name), "float32")
        devices += [torch.device("cuda", i) for i in range(gpus)] if name == "cuda" else [torch.device(name)]
    if not devices:
        raise ParameterError("device is empty; use auto, cpu, cuda or cuda:N")
    return devices


@contextmanager
def computing(device: "torch.device", threads: int, deterministic: bool = True) -> Iterator[None]:
    """Set threads, random generators and algorithms of PyTorch, and restore them afterwards.

    Args:
        device: of the computation.
        threads: on the CPU.
        deterministic: whether a GPU takes deterministic algorithms alone. On the CPU all operations used here are
            deterministic anyway, and asking for it costs time.
    """
    import torch

    gpu = device.type == "cuda"
    before, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[device] if gpu else []):
        torch.set_num_threads(threads)
        if gpu and deterministic:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.set_num_threads(before)
            torch.use_deterministic_algorithms(strict)
