"""Tests that set PyTorch's number of threads leave it as they found it, and small batches are shared by threads."""

from collections.abc import Iterator

import pytest
import torch

from tokenlab.networks import operations


@pytest.fixture(autouse=True)
def threads_as_before(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(operations, "_ROWS", 64)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
