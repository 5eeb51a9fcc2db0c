"""The HMM against hmmlearn: the same likelihoods, parameters and posteriors."""

import sys

import numpy as np
import pytest

from tokenlab.codes.latom.hmm import expected_counts, train
from tokenlab.codes.latom.hmm_model import PeriodicHmm, draw_hmm, maximise
from tokenlab.codes.latom.hmm_reference import posterior_means, repeated, train_hmmlearn
from tokenlab.core.errors import ParameterError

TOLERANCE = {"rtol": 1e-9, "atol": 1e-11}


@pytest.fixture(scope="module")
def sequences():
    rng = np.random.default_rng(2)
    lengths = [*rng.integers(0, 25, 20), 300, 1]
    return rng.integers(0, 11, sum(lengths)).astype(np.int32), np.cumsum([0, *lengths], dtype=np.int64)


@pytest.mark.parametrize("end_state", [False, True])
@pytest.mark.parametrize(("N", "K"), [(1, 4), (2, 3), (2, 9), (3, 3), (5, 2)])
def test_training_is_hmmlearns(sequences, N, K, end_state):
    options = {"iterations": 3, "seed": 4, "end_state": end_state}
    ours = train(*sequences, 11, N, K, **options)
    theirs = train(*sequences, 11, N, K, backend="hmmlearn", **options)
    np.testing.assert_allclose(ours.log_likelihoods, theirs.log_likelihoods, rtol=1e-12)
    np.testing.assert_allclose(ours.posteriors, theirs.posteriors, **TOLERANCE)
    for our, their in zip(ours.hmm, theirs.hmm, strict=True):
        assert (our is None) == (their is None)
        if our is not None:
            np.testing.assert_allclose(our, their, **TOLERANCE)


@pytest.mark.parametrize("end_state", [False, True])
def test_log_space_gives_the_same(sequences, end_state):
    hmm = draw_hmm(3, 3, 11, 6, end_state)
    counts = expected_counts(hmm, *sequences)
    likelihood, posteriors = posterior_means(hmm, *repeated(hmm, *sequences), "log")
    assert counts.log_likelihood == pytest.approx(likelihood, rel=1e-12)
    np.testing.assert_allclose(counts.posteriors, posteriors, **TOLERANCE)
    trained, trace, _ = train_hmmlearn(hmm, *sequences, 1, lambda *_: None, "log")
    np.testing.assert_allclose(trained.transitions, maximise(hmm, counts).transitions, **TOLERANCE)
    assert trace[0] == pytest.approx(likelihood, rel=1e-12)


def test_a_state_that_is_never_met_keeps_its_emissions():
    hmm = PeriodicHmm(np.array([1.0, 0]), np.array([[[1, 0], [0.5, 0.5]]]), np.array([[[0.2, 0.8], [0.6, 0.4]]]))
    text = np.array([0, 1, 0], np.int32), np.array([0, 3], np.int64)
    theirs, _, _ = train_hmmlearn(hmm, *text, 2, lambda *_: None)
    assert theirs.emissions[0, 1].tolist() == [0.6, 0.4]
    np.testing.assert_allclose(theirs.emissions, maximise(hmm, expected_counts(hmm, *text)).emissions, **TOLERANCE)


def test_hmmlearn_may_be_absent(sequences, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenlab.codes.latom.hmm_reference", None)
    monkeypatch.delitem(sys.modules, "tokenlab.codes.latom.hmm_reference")
    monkeypatch.setitem(sys.modules, "hmmlearn.hmm", None)
    with pytest.raises(ParameterError, match=r"hmmlearn.*tokenlab\[reference\]"):
        train(*sequences, 11, 2, 4, backend="hmmlearn")
