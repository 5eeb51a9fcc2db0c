"""Devices: which names are known, and what computing on one sets and restores."""

from contextlib import nullcontext

import pytest
import torch

from tokenlab.core.devices import all_devices, check_device, check_device_name, computing
from tokenlab.core.errors import ParameterError


@pytest.mark.parametrize("name", ["auto", "tpu", "cpu:0", "cuda:", "cuda:x", "cuda:-1", ""])
def test_names_of_no_device(name):
    with pytest.raises(ParameterError, match=f"device is {name!r}"):
        check_device_name(name)


def test_all_gpus_or_the_cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert all_devices("auto") == all_devices("cpu") == [torch.device("cpu")]
    with pytest.raises(ParameterError, match=r"'cuda', .* 0 GPUs"):
        all_devices("cuda")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert all_devices("auto") == all_devices("cuda") == [torch.device("cuda:0"), torch.device("cuda:1")]
    assert all_devices(["cuda:1", "cpu"]) == [torch.device("cuda:1"), torch.device("cpu")]
    with pytest.raises(ParameterError, match=r"'cuda:2', .* 2 GPUs"):
        all_devices("cuda:2")
    with pytest.raises(ParameterError, match="device is 'tpu'; use auto"):
        all_devices("tpu")


def test_a_gpu_without_bfloat16(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: False)
    check_device(torch.device("cuda"), "float32")
    with pytest.raises(ParameterError, match="this GPU does not"):
        check_device(torch.device("cuda"), "bfloat16")


@pytest.mark.parametrize(
    ("device", "asked", "strict"), [("cpu", True, False), ("cuda", True, True), ("cuda", False, False)]
)
def test_algorithms_and_threads_are_set_and_restored(monkeypatch, device, asked, strict):
    monkeypatch.setattr(torch.random, "fork_rng", lambda devices: nullcontext())
    threads = torch.get_num_threads()
    with computing(torch.device(device), threads + 1, asked):
        assert torch.are_deterministic_algorithms_enabled() == strict and torch.get_num_threads() == threads + 1
    assert not torch.are_deterministic_algorithms_enabled() and torch.get_num_threads() == threads
