"""The benchmark of our GPT beside GPT-2 on tiny models: the same size, steps that train, and a table."""

import pytest
import torch

from benchmarks import gpt as benchmark
from benchmarks.measure import Bench, Measurement
from tokenlab.metrics.flops import TRAINING, token_flops
from tokenlab.networks.options import SIZES


@pytest.fixture(autouse=True)
def small_product(monkeypatch):
    monkeypatch.setattr(benchmark, "_PRODUCT", 16)


def test_every_model_is_timed_in_every_round():
    task = benchmark.TASKS["steps"]("tiny", "32", "2", "ours", "plain")
    facts = task.facts(task.run(task.whole))
    assert [[*one] for one in facts["rounds"]] == [["product", "ours", "plain"]] * 2
    assert all(seconds > 0 for one in facts["rounds"] for seconds in one.values())
    assert facts["tokens"] == 2 * 32
    assert facts["flops"] == pytest.approx(2 * TRAINING * token_flops(SIZES["tiny"][0], 50_257, 32).total)


@pytest.mark.parametrize("kind", benchmark._NAMES)
def test_a_step_trains_a_model_of_the_same_size(kind, monkeypatch):
    made = []
    train = benchmark.training_step
    monkeypatch.setattr(benchmark, "training_step", lambda *given: made.append(given[0]) or train(*given))
    task = benchmark.TASKS["steps"]("tiny", "32", "1", kind)
    (network,) = made
    before = [weight.detach().clone() for weight in network.parameters()]
    task.run(task.whole)
    assert not any(map(torch.equal, before, network.parameters()))
    latent = SIZES["tiny"][0]
    # GPT-2 has positions and biases, which are no products.
    matrices = sum(weight.numel() for weight in network.parameters() if min(weight.shape) > 32)
    assert matrices == pytest.approx(50_257 * latent.width + latent.layers * 12 * latent.width**2, rel=0.01)
    dropout = {module.p for module in network.modules() if isinstance(module, torch.nn.Dropout)}
    assert dropout == {"ours": set(), "plain": {0.0}, "default": {0.1}}[kind]


def test_table(tmp_path, monkeypatch):
    def measure(_bench, task, size, context, rounds, *kinds, threads=1, runs):
        assert (task, size, context, runs) == ("gpt:steps", "small", "512", 1)
        assert (int(rounds) > 1) == (len(kinds) > 1)
        seconds = {"product": 1.0, "ours": 2.0, "plain": 3.0, "default": 5.0}
        found = [seconds, seconds | {"ours": 1.0}, seconds]
        return Measurement([1.0], [1.0], 0.0, 7_000_000, {"tokens": 1024, "flops": 4096.0, "rounds": found})

    monkeypatch.setattr(Bench, "measure", measure)
    lines = benchmark.table(Bench(tmp_path, {}, 3, None))
    assert "| our GPT | 1 | 512 | 2.05e-06 | 25% | 1.00 | 7 |" in lines
    assert "| `GPT2LMHeadModel` without dropout | 2 | 341 | 1.37e-06 | 17% | 1.50 | 7 |" in lines
    assert "| `GPT2LMHeadModel` as configured, dropout 0.1 | 2 | 205 | 8.19e-07 | 10% | 2.50 | 7 |" in lines
