"""The benchmark of our GPT beside GPT-2 on tiny models: the same size, steps that train, and a table."""

import pytest
import torch

from benchmarks import gpt as benchmark
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
