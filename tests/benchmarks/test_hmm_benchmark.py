"""The benchmark of the HMM: its peers compute the same, so that their times may stand side by side."""

import pytest

from benchmarks import hmm as benchmark
from benchmarks.measure import Measurement, agree


@pytest.fixture(autouse=True)
def without_the_mirror(monkeypatch):
    monkeypatch.delenv("TOKENLAB_MIRROR", raising=False)


@pytest.mark.parametrize(("text", "N", "K"), [("en", "2", "8"), ("zh", "3", "4")])
def test_peers_compute_the_same(text, N, K):
    measured = []
    for name in ("tokenlab", "scaling", "log"):
        task = benchmark.TASKS[name](text, N, K, "1500")
        measured.append(Measurement([1.0], [1.0], 0.0, 0, task.facts(task.run(task.whole))))
    agree(*measured)
    assert measured[0].facts["log_likelihood"] < -1000
