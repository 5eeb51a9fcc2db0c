"""The periodic HMM: E-steps against the sum over all paths and a plain twin, the M-step, wrong input."""

import itertools
import math

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_sequences import flat
from threadpoolctl import threadpool_info, threadpool_limits

from tokenlab.codes.latom import hmm as hmm_module
from tokenlab.codes.latom.hmm import expected_counts, train
from tokenlab.codes.latom.hmm_model import ExpectedCounts, PeriodicHmm, draw_hmm, maximise
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.shards import ClusterOptions


def all_paths(hmm, texts):
    """Log-likelihood, expected start, transitions, emissions and ends, from every path of every sequence."""
    N, K, _ = hmm.emissions.shape
    start, transitions, emissions, end = (np.zeros_like(x) for x in (*hmm[:3], hmm.start))
    log_likelihood = 0.0
    for text in filter(len, texts):
        observed = [character for character in text for _ in range(N)]
        weights = {}
        for path in itertools.product(range(K), repeat=len(observed)):
            weight = hmm.start[path[0]] * (1 if hmm.end is None else hmm.end[path[-1]])
            for t, state in enumerate(path):
                weight *= hmm.emissions[t % N, state, observed[t]]
                if t:
                    weight *= hmm.transitions[(t - 1) % N, path[t - 1], state]
            weights[path] = weight
        total = math.fsum(weights.values())
        log_likelihood += math.log(total)
        for path, weight in weights.items():
            start[path[0]] += weight / total
            end[path[-1]] += weight / total
            for t, state in enumerate(path):
                emissions[t % N, state, observed[t]] += weight / total
                if t:
                    transitions[(t - 1) % N, path[t - 1], state] += weight / total
    return log_likelihood, start, transitions, emissions, end


@pytest.mark.parametrize("end_state", [False, True])
@pytest.mark.parametrize(("N", "K"), [(1, 1), (1, 3), (2, 2), (2, 3), (3, 2), (5, 1)])
def test_counts_are_those_of_all_paths(N, K, end_state):
    texts = [[0, 2, 1], [], [1], [2, 2, 0], [1, 0]]
    hmm = draw_hmm(N, K, 4, seed=7, end_state=end_state)
    counts = expected_counts(hmm, *flat(texts))
    log_likelihood, start, transitions, emissions, end = all_paths(hmm, texts)
    assert counts.log_likelihood == pytest.approx(log_likelihood, rel=1e-12)
    for found, expected in zip(counts[1:4], (start, transitions, emissions), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
    if end_state:
        np.testing.assert_allclose(counts.end, end, rtol=1e-11)
    else:
        assert counts.end is None
    occurrences = [3, 3, 3, 0]
    assert counts.posteriors.shape == (4, N, K)
    for character, seen in enumerate(occurrences):
        expected = emissions[:, :, character] / max(seen, 1)
        np.testing.assert_allclose(counts.posteriors[character], expected, rtol=1e-11, atol=1e-13)


def test_rows_without_counts_stay():
    before = PeriodicHmm(
        np.array([0.25, 0.75]), np.array([[[0.5, 0.25], [0.0, 0.5]]]), np.full((1, 2, 2), 0.5), np.array([0.25, 0.5])
    )
    counts = ExpectedCounts(
        -1.0,
        np.array([3.0, 1.0]),
        np.array([[[1.0, 2.0], [0.0, 0.0]]]),
        np.array([[[0.0, 4.0], [0.0, 0.0]]]),
        np.array([1.0, 0.0]),
        np.zeros((2, 1, 2)),
    )
    after = maximise(before, counts)
    assert after.start.tolist() == [0.75, 0.25]
    assert after.transitions.tolist() == [[[0.25, 0.5], [0.0, 0.5]]]
    assert after.end.tolist() == [0.25, 0.5]
    assert after.emissions.tolist() == [[[0.0, 1.0], [0.5, 0.5]]]


def test_small_emissions_do_not_underflow():
    tiny = 1e-70
    emissions = np.broadcast_to([[tiny, 1 - tiny], [tiny / 4, 1 - tiny / 4]], (5, 2, 2))
    hmm = PeriodicHmm(np.full(2, 0.5), np.full((5, 2, 2), 0.5), emissions)
    counts = expected_counts(hmm, *flat([[0, 0]]))
    assert counts.log_likelihood == pytest.approx(10 * math.log(tiny * 0.625), rel=1e-13)
    np.testing.assert_allclose(counts.posteriors[0], np.broadcast_to([0.8, 0.2], (5, 2)), rtol=1e-12)


@pytest.mark.parametrize("end_state", [False, True])
def test_an_impossible_sequence_is_named(end_state):
    hmm = PeriodicHmm(  # Character 0 leads to state 1, and character 1 to state 0, which alone may end.
        np.array([1.0, 0.0]),
        np.array([[[0.0, 1.0], [0.5, 0.0]]]),
        np.array([[[1.0, 0.0], [0.0, 1.0]]]),
        np.array([0.0, 0.5]) if end_state else None,
    )
    expected_counts(hmm, *flat([[0, 1], [0, 1, 0, 1]]))
    with pytest.raises(InputError, match="sequence 2 "):
        expected_counts(hmm, *flat([[0, 1], [], [0, 0, 1], [0, 1, 0, 1]]))
    if end_state:
        with pytest.raises(InputError, match="sequence 1 "):
            expected_counts(hmm, *flat([[0, 1], [0]]))


@pytest.mark.parametrize(
    ("codes", "offsets", "message"),
    [
        ([], [0, 0, 0], "no characters"),
        ([0, 1], [0, 1], "offsets"),
        ([0, 1], [0, 2, 1, 2], "offsets"),
        ([0, 3], [0, 2], "codes must lie between 0 and 2"),
    ],
)
def test_wrong_sequences_are_refused(codes, offsets, message):
    codes, offsets = np.array(codes, np.int32), np.array(offsets, np.int64)
    with pytest.raises(InputError, match=message):
        train(codes, offsets, 3, 2, 2)
    with pytest.raises(InputError, match=message):
        expected_counts(draw_hmm(2, 2, 3, 0), codes, offsets)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"N": 0}, "N is 0"),
        ({"K": 0}, "K is 0"),
        ({"iterations": -1}, "iterations is -1"),
        ({"backend": "gpu"}, "backend"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        train(*flat([[0, 1]]), **{"C": 2, "N": 1, "K": 2, **options})


def plain_counts(hmm, codes, offsets):
    """What `expected_counts` computes, by its definition: one sequence at a time, one vector product per digit; the
    vectors of every digit are divided by their sums."""
    N, K, C = hmm.emissions.shape
    start, transitions, emissions, end = (np.zeros_like(x) for x in (*hmm[:3], hmm.start))
    likelihood = 0.0
    for text in np.split(codes, offsets[1:-1]):
        if not len(text):
            continue
        observed = [(digit, int(character)) for character in text for digit in range(N)]
        ends = np.ones(K) if hmm.end is None else hmm.end
        forward, ahead = [], hmm.start
        for n, c in observed:
            here = ahead * hmm.emissions[n, :, c]
            likelihood += np.log(here.sum())
            forward.append(here / here.sum())
            ahead = forward[-1] @ hmm.transitions[n]
        likelihood += np.log(forward[-1] @ ends)
        backward = ends
        end += forward[-1] * ends / (forward[-1] @ ends)
        for place in range(len(observed) - 1, -1, -1):
            n, c = observed[place]
            posterior = forward[place] * backward
            emissions[n, :, c] += posterior / posterior.sum()
            emitted = hmm.emissions[n, :, c] * backward
            if place:
                edges = forward[place - 1][:, None] * hmm.transitions[n - 1] * emitted
                transitions[n - 1] += edges / edges.sum()
                backward = hmm.transitions[n - 1] @ emitted
                backward /= backward.max()
            else:
                start += posterior / posterior.sum()
    occurrences = np.maximum(np.bincount(codes, minlength=C), 1)
    posteriors = emissions.transpose(2, 0, 1) / occurrences[:, None, None]
    return ExpectedCounts(likelihood, start, transitions, emissions, None if hmm.end is None else end, posteriors)


def random_sequences(lengths, C):
    """Random codes of sequences with these lengths, and their offsets."""
    rng = np.random.default_rng(0)
    return rng.integers(0, C, sum(lengths)).astype(np.int32), np.cumsum([0, *lengths], dtype=np.int64)


def assert_same(one, other):
    for left, right in zip(one, other, strict=True):
        assert (left is None) == (right is None)
        if left is not None:
            np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-10)


def assert_rows_sum_to_one(hmm):
    transitions = hmm.transitions.sum(axis=-1)
    if hmm.end is not None:
        transitions[-1] += hmm.end
    for sums in (hmm.start.sum(), transitions, hmm.emissions.sum(axis=-1)):
        np.testing.assert_allclose(sums, 1, rtol=1e-12)


@settings(max_examples=30)
@given(
    N=st.integers(1, 5),
    K=st.integers(1, 18),
    C=st.integers(1, 9),
    end_state=st.booleans(),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_counts_are_those_of_the_plain_twin_and_likelihood_never_falls(N, K, C, end_state, seed, data):
    lengths = data.draw(st.lists(st.integers(0, 12), min_size=1, max_size=8).filter(any))
    codes = data.draw(arrays.arrays(np.int32, sum(lengths), elements=st.integers(0, C - 1)))
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    hmm, before = draw_hmm(N, K, C, seed, end_state), -np.inf
    for _ in range(4):
        counts = expected_counts(hmm, codes, offsets)
        assert_same(counts, plain_counts(hmm, codes, offsets))
        assert counts.log_likelihood >= before - 1e-9
        assert counts.emissions.sum() == pytest.approx(N * codes.size)
        assert counts.transitions.sum() == pytest.approx(N * codes.size - np.count_nonzero(lengths))
        hmm, before = maximise(hmm, counts), counts.log_likelihood
        assert_rows_sum_to_one(hmm)


@pytest.mark.parametrize("length", [1, 2, 511, 512, 513, 2000])
def test_long_sequences(length):
    sequences = random_sequences([3, length, 0, 7], 5)
    hmm = draw_hmm(2, 3, 5, 1, end_state=True)
    assert_same(expected_counts(hmm, *sequences), plain_counts(hmm, *sequences))


@pytest.mark.parametrize("kept", [1, 3000, 9000])
def test_forward_vectors_computed_again_are_the_same(monkeypatch, kept):
    sequences = random_sequences([60, 1, 41, 0, 40, 60, *range(90)], 5)
    hmm = draw_hmm(3, 4, 5, 1, end_state=True)
    whole = expected_counts(hmm, *sequences)
    monkeypatch.setattr("tokenlab.codes.latom.hmm._KEPT", kept)
    again = expected_counts(hmm, *sequences)
    assert again.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-14)
    for one, other in zip(whole[1:], again[1:], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_sums_of_shards_are_the_same_wherever_they_are_computed(monkeypatch, shards):
    codes, offsets = random_sequences([60, 1, 41, 0, 40, 500, *range(90)], 5)
    whole = train(codes, offsets, 5, 3, 4, iterations=2)
    monkeypatch.setattr(hmm_module, "_ALONE", 0)
    monkeypatch.setattr(hmm_module, "_SHARD", len(codes) // shards)
    assert len(hmm_module._shards(offsets)) == shards
    here, there = (train(codes, offsets, 5, 3, 4, iterations=2, place=ClusterOptions(workers)) for workers in (1, 2))
    assert here.log_likelihoods == pytest.approx(whole.log_likelihoods, rel=1e-13)
    np.testing.assert_allclose(here.posteriors, whole.posteriors, rtol=1e-9)
    assert shards > 1 or here.log_likelihoods == whole.log_likelihoods
    assert here.log_likelihoods == there.log_likelihoods
    assert here.posteriors.tobytes() == there.posteriors.tobytes()


@pytest.mark.parametrize(
    ("lengths", "shards"),
    [
        ([9, 9], [[0], [1]]),
        ([12, 0, *[1] * 8], [[0], [*range(2, 10)]]),
        ([0, 40], [[1], [], [], [], []]),
        ([5] * 7, [[0, 1], [2, 3], [4, 5], [6]]),
        ([1, 3], [[1, 0]]),
    ],
)
def test_shards_have_about_equally_many_characters(monkeypatch, lengths, shards):
    monkeypatch.setattr(hmm_module, "_ALONE", 7)
    monkeypatch.setattr(hmm_module, "_SHARD", 8)
    found = hmm_module._shards(np.cumsum([0, *lengths]))
    assert [part.tolist() for part in found] == shards


def test_same_input_same_bytes_on_any_number_of_threads():
    sequences = random_sequences([40] * 70, 300)
    results = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads, user_api="blas"):
            results.append(train(*sequences, 300, 2, 40, iterations=1))
            assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} == {
                threads
            }
    for result in results[1:]:
        assert result.log_likelihoods == results[0].log_likelihoods
        assert result.posteriors.tobytes() == results[0].posteriors.tobytes()
        assert [x.tobytes() for x in result.hmm[:3]] == [x.tobytes() for x in results[0].hmm[:3]]
