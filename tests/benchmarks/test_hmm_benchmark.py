"""The benchmark of the HMM: its peers compute the same, so that their times may stand side by side."""

import numpy as np
import pytest

from benchmarks import hmm as benchmark
from benchmarks.measure import Measurement, agree


@pytest.fixture(autouse=True)
def without_the_mirror(monkeypatch):
    monkeypatch.delenv("TOKENLAB_MIRROR", raising=False)


def test_a_text_is_its_verses():
    text = benchmark.sequences("en", 500)
    assert text.offsets[0] == 0 and text.offsets[-1] == text.codes.size
    assert 500 <= text.codes.size < 700
    assert np.unique(text.codes).tolist() == list(range(text.C))


@pytest.mark.parametrize(("text", "N", "K"), [("en", "2", "8"), ("zh", "3", "4")])
def test_peers_compute_the_same(text, N, K):
    measured = []
    for name in ("tokenlab", "scaling", "log"):
        task = benchmark.TASKS[name](text, N, K, "1500")
        measured.append(Measurement([1.0], [1.0], 0.0, 0, task.facts(task.run(task.whole))))
    agree(*measured)
    assert measured[0].facts["log_likelihood"] < -1000


def test_training_tells_its_size():
    task = benchmark.TASKS["train"]("ja", "2", "3", "300")
    facts = task.facts(task.run(task.whole))
    assert facts["characters"] == task.whole.codes.size
    assert facts["C"] == task.whole.C
