"""Tests that set PyTorch's number of threads leave it as they found it."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
