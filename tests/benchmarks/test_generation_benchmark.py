"""The benchmark of generation on tiny models: every kind generates the whole text."""

import pytest

from benchmarks import patches_generation as benchmark
from benchmarks.measure import Bench, Measurement


@pytest.mark.parametrize("kind", ["tokens", "bpe", "space"])
def test_tasks(kind, monkeypatch):
    monkeypatch.setattr(benchmark, "_verses", lambda: ["In the beginning was the word, and the word was good. "] * 20)
    cached, full = (benchmark.TASKS[name](kind, "tiny", "24") for name in ("cached", "full"))
    # In| the| beginning| was| the: with " beginning" as 9 symbols of at most 10, "in" being merged, and the markers.
    symbols = {"tokens": 5, "bpe": 3 + 5 + 9 + 5 + 5, "space": 24}[kind]
    assert cached.facts(cached.run(cached.whole)) == {"symbols": symbols}
    assert full.facts(full.run(full.whole)) == {"prefixes": 8}
    assert [len(prefix) for prefix in full.whole] == [1, 4, 7, 10, 13, 16, 19, 22]


def test_table(tmp_path, monkeypatch):
    seconds = {"cached": 0.5, "full": 0.8}

    def measure(_bench, task, kind, size, length):
        assert (size, length) == ("small", "512")
        return Measurement([seconds[task.partition(":")[2]]], [1.0], 0.0, 0, {"symbols": 100})

    monkeypatch.setattr(Bench, "measure", measure)
    lines = benchmark.table(Bench(tmp_path, {}, 3, None))
    # 100 symbols at 0.1 seconds a pass.
    assert lines[-1].endswith("| 0.977 | 19.5 | 20 | 100 |")
    assert len(lines) == 2 + 2 + 4
