"""The benchmark of training on tiny models: the same text, the same number of operations, and a table."""

import pytest
import torch

from benchmarks import patches as benchmark
from benchmarks import patches_generation

TEXT = ["In the beginning was the word, and the word was good. "] * 20


@pytest.fixture(autouse=True)
def short_text(monkeypatch):
    for module in (benchmark, patches_generation):
        monkeypatch.setattr(module, "verses", lambda *_: TEXT)


@pytest.mark.parametrize("kind", benchmark._KINDS)
def test_a_step_changes_the_weights(kind, monkeypatch):
    made = []
    monkeypatch.setattr(benchmark, "build_network", lambda *given: made.append(build(*given)) or made[0])
    task = benchmark.TASKS["ours"](kind, "tiny", "64")
    before = {name: weight.detach().clone() for name, weight in made[0].named_parameters()}
    task.run(task.sample)
    facts = task.facts(task.run(task.whole))
    assert facts["bytes"] == 2 * 64 and facts["flops"] > 2 * 64 * 1e5
    changed = [not torch.equal(before[name], weight) for name, weight in made[0].named_parameters()]
    assert all(changed)


build = benchmark.build_network
