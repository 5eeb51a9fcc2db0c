"""Where and how a network computes: device, number format, threads, deterministic algorithms.

Apart from the training of translation models, whose module loads `transformers`: that takes longer than training the
models of a small sample.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from tokenlab.core.errors import ParameterError


def check_device(device: torch.device, dtype: str) -> None:
    """Check that a device is there. Raises ParameterError where it is not, or does not support the number format."""
    if device.type == "cuda":
        if (device.index or 0) >= torch.cuda.device_count():
            raise ParameterError(f"device is '{device}', but PyTorch sees {torch.cuda.device_count()} GPUs; use cpu")
        if dtype == "bfloat16" and not torch.cuda.is_bf16_supported(including_emulation=False):
            raise ParameterError("dtype is 'bfloat16', but this GPU does not support it; use float32")


@contextmanager
def deterministic(device: torch.device, threads: int) -> Iterator[None]:
    """Set threads, random generators and algorithms, and restore them afterwards."""
    gpu = device.type == "cuda"
    before, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[device] if gpu else []):
        torch.set_num_threads(threads)
        if gpu:  # On the CPU, all operations used here are deterministic anyway, and this costs time.
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.set_num_threads(before)
            torch.use_deterministic_algorithms(strict)
