"""The two engines of the HMM: they agree, on sequences of any length; EM never falls; threads change no byte."""

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from tokenlab.codes.latom import hmm_batched
from tokenlab.codes.latom.hmm import _faster_engine, expected_counts, train
from tokenlab.codes.latom.hmm_kernels import BLOCK
from tokenlab.codes.latom.hmm_model import draw_hmm, maximise

ENGINES = ["folded", "batched"]


def random_sequences(lengths, C, seed=0):
    """Random codes of sequences with these lengths, and their offsets."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, C, sum(lengths)).astype(np.int32), np.cumsum([0, *lengths], dtype=np.int64)


def assert_same(one, other, tolerance=1e-10):
    for left, right in zip(one, other, strict=True):
        assert (left is None) == (right is None)
        if left is not None:
            np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance)


def assert_rows_sum_to_one(hmm):
    transitions = hmm.transitions.sum(axis=-1)
    if hmm.end is not None:
        transitions[-1] += hmm.end
    for sums in (hmm.start.sum(), transitions, hmm.emissions.sum(axis=-1)):
        np.testing.assert_allclose(sums, 1, rtol=1e-12)


@settings(deadline=None, max_examples=60)
@given(
    N=st.integers(1, 5),
    K=st.integers(1, 18),
    C=st.integers(1, 9),
    end_state=st.booleans(),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_engines_agree_and_likelihood_never_falls(N, K, C, end_state, seed, data):
    lengths = data.draw(st.lists(st.integers(0, 12), min_size=1, max_size=8).filter(any))
    codes = data.draw(arrays.arrays(np.int32, sum(lengths), elements=st.integers(0, C - 1)))
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    hmm, before = draw_hmm(N, K, C, seed, end_state), -np.inf
    for _ in range(4):
        counts = expected_counts(hmm, codes, offsets, engine="folded")
        assert_same(counts, expected_counts(hmm, codes, offsets, engine="batched"))
        assert counts.log_likelihood >= before - 1e-9
        assert counts.emissions.sum() == pytest.approx(N * codes.size)
        assert counts.transitions.sum() == pytest.approx(N * codes.size - np.count_nonzero(lengths))
        hmm, before = maximise(hmm, counts), counts.log_likelihood
        assert_rows_sum_to_one(hmm)


@pytest.mark.parametrize("length", [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + 2, 2 * BLOCK + 1, 3 * BLOCK + 100])
def test_long_sequences(length):
    sequences = random_sequences([3, length, 0, 7], 5)
    hmm = draw_hmm(2, 3, 5, 1, end_state=True)
    assert_same(*(expected_counts(hmm, *sequences, engine=engine) for engine in ENGINES))


@pytest.mark.parametrize("kept", [1, 3000, 9000])
def test_forward_vectors_computed_again_are_the_same(monkeypatch, kept):
    sequences = random_sequences([60, 1, 41, 0, 40, 60, *range(90)], 5)
    hmm = draw_hmm(3, 4, 5, 1, end_state=True)
    whole = expected_counts(hmm, *sequences, engine="batched")
    monkeypatch.setattr(hmm_batched, "_KEPT", kept)
    again = expected_counts(hmm, *sequences, engine="batched")
    assert again.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-14)
    for one, other in zip(whole[1:], again[1:], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("engine", ENGINES)
def test_same_input_same_bytes_on_any_number_of_threads(engine):
    sequences = random_sequences([40] * 70, 300)
    results = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads, user_api="blas"):
            results.append(train(*sequences, 300, 2, 40, iterations=1, backend=engine))
            assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} == {
                threads
            }
    for result in results[1:]:
        assert result.log_likelihoods == results[0].log_likelihoods
        assert result.posteriors.tobytes() == results[0].posteriors.tobytes()
        assert [x.tobytes() for x in result.hmm[:3]] == [x.tobytes() for x in results[0].hmm[:3]]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_model_is_left_alone(engine):
    hmm = draw_hmm(2, 1, 4, 3, end_state=True)
    before = [array.copy() for array in hmm]
    expected_counts(hmm, *random_sequences([5, 4], 4), engine=engine)
    for array, copy in zip(hmm, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    ("N", "K", "C", "lengths", "engine"),
    [
        (2, 8, 62, [130] * 1000, "folded"),
        (3, 15, 3054, [35] * 1000, "folded"),
        (2, 56, 3054, [35] * 1000, "batched"),
        (1, 62, 62, [35] * 1000, "batched"),
        (2, 56, 3054, [0, 1_000_000, 3], "folded"),
        (2, 100, 9000, [0, 1_000_000, 3], "batched"),  # 2 GB folded
    ],
)
def test_the_engine_fits_the_size(N, K, C, lengths, engine):
    assert _faster_engine(N, K, C, np.array(lengths)) == engine
