"""The benchmark of training on tiny models: the same text, the same number of operations, and a table."""

import pytest
import torch

from benchmarks import patches as benchmark
from benchmarks import patches_generation
from benchmarks.measure import Bench, Measurement

TEXT = ["In the beginning was the word, and the word was good. "] * 20


@pytest.fixture(autouse=True)
def short_text(monkeypatch):
    monkeypatch.setattr(benchmark, "verses", lambda *_: TEXT)
    monkeypatch.setattr(patches_generation, "_verses", lambda: TEXT)


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


def test_table(tmp_path, monkeypatch):
    seconds = {"tokens": 2.0, "bpe": 1.0}

    def measure(_bench, task, kind, *given):
        assert (task, *given) == ("patches:ours", "small", "2048")
        return Measurement([seconds.get(kind, 4.0)], [1.0], 0.0, 5_000_000, {"flops": 100e9, "bytes": 4000})

    monkeypatch.setattr(Bench, "measure", measure)
    lines = benchmark.table(Bench(tmp_path, {}, 3, None))
    assert "| our GPT over tokens | 0.5 (0.5 to 0.5) | 2 | 50 | 100% | 5 |" in lines
    assert "| patches: bpe, S = 10 | 1 (1 to 1) | 4 | 100 | 200% | 5 |" in lines
    assert "| learned chunks | 0.25 (0.25 to 0.25) | 1 | 25 | 50% | 5 |" in lines
