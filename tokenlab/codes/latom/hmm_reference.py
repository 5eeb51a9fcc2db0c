"""The training of `tokenlab.codes.latom.hmm` with hmmlearn: slow, and independent, to check results against.

A `CategoricalHMM` of N K states (and one more, with its own symbol, for the end) over sequences in which each character
is repeated N times. Transitions that the periodic HMM does not have are zero, and EM keeps them zero.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hmmlearn.hmm import CategoricalHMM
from numpy.typing import NDArray

from tokenlab.codes.latom.hmm_model import Floats, PeriodicHmm

_AT_ONCE = 200_000
"""Number of observations whose posteriors are in memory at a time."""


def train_hmmlearn(
    hmm: PeriodicHmm,
    codes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    iterations: int,
    progress: Callable[[int, float], object],
    implementation: str = "scaling",
) -> tuple[PeriodicHmm, list[float], Floats]:
    """Train `hmm` further; returns it, the log-likelihoods (nats) and the posteriors, as in `hmm.Training`."""
    observations, lengths = repeated(hmm, codes, offsets)
    trace = []
    for iteration in range(iterations):
        model = masked_model(hmm, implementation)
        model.fit(observations, lengths)
        trace.append(float(model.monitor_.history[-1]))
        progress(iteration, trace[-1])
        hmm = periodic_parameters(model, hmm)
    likelihood, posteriors = posterior_means(hmm, observations, lengths, implementation)
    progress(iterations, likelihood)
    return hmm, [*trace, likelihood], posteriors


def repeated(
    hmm: PeriodicHmm, codes: NDArray[np.int32], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """hmmlearn's input: (observations, 1), each character N times, and the lengths of the sequences, none empty."""
    N, _, C = hmm.emissions.shape
    lengths = np.diff(offsets)
    lengths = lengths[lengths > 0]
    observations = np.repeat(codes.astype(np.int64), N)
    if hmm.end is not None:
        observations = np.insert(observations, N * np.cumsum(lengths), C)
    return observations[:, None], N * lengths + (hmm.end is not None)


def masked_model(hmm: PeriodicHmm, implementation: str = "scaling") -> Any:
    """A CategoricalHMM with the parameters of `hmm`, digit by digit; fitting it does one iteration of EM."""
    N, K, C = hmm.emissions.shape
    ending = hmm.end is not None
    states, symbols = N * K + ending, C + ending
    start, transitions, emissions = np.zeros(states), np.zeros((states, states)), np.zeros((states, symbols))
    start[:K] = hmm.start
    for n in range(N):
        here, there = slice(n * K, (n + 1) * K), slice((n + 1) % N * K, (n + 1) % N * K + K)
        transitions[here, there] = hmm.transitions[n]
        emissions[here, :C] = hmm.emissions[n]
    if hmm.end is not None:
        transitions[(N - 1) * K : N * K, -1] = hmm.end
        transitions[-1, -1] = emissions[-1, -1] = 1  # Nothing leaves the end; a row must sum to one.
    model = CategoricalHMM(states, n_iter=1, init_params="", implementation=implementation, n_features=symbols)
    model.startprob_, model.transmat_, model.emissionprob_ = start, transitions, emissions
    return model


def periodic_parameters(model: Any, before: PeriodicHmm) -> PeriodicHmm:
    """The parameters of a fitted model; rows without counts, which hmmlearn leaves zero or NaN, keep their values."""
    N, K, C = before.emissions.shape
    blocks = [model.transmat_[n * K : (n + 1) * K, (n + 1) % N * K : (n + 1) % N * K + K] for n in range(N)]
    transitions = np.stack(blocks)
    sums = transitions.sum(axis=-1, keepdims=True)
    end = None
    if before.end is not None:
        end = model.transmat_[(N - 1) * K : N * K, -1].copy()
        sums[-1, :, 0] += end
        end = np.where(sums[-1, :, 0] > 0, end, before.end)
    emissions = model.emissionprob_[: N * K, :C].reshape(N, K, C)
    return PeriodicHmm(
        model.startprob_[:K].copy(),
        np.where(sums > 0, transitions, before.transitions),
        np.where(emissions.sum(axis=-1, keepdims=True) > 0, emissions, before.emissions),
        end,
    )


def posterior_means(
    hmm: PeriodicHmm, observations: NDArray[np.int64], lengths: NDArray[np.int64], implementation: str = "scaling"
) -> tuple[float, Floats]:
    """Log-likelihood (nats) and q (C, N, K), from hmmlearn's posteriors of every observation."""
    N, K, C = hmm.emissions.shape
    model = masked_model(hmm, implementation)
    likelihood, sums = 0.0, np.zeros((C, N, K))
    for begin, chosen in _groups(lengths):
        part = observations[begin : begin + chosen.sum()]
        found, posteriors = model.score_samples(part, chosen)
        likelihood += found
        kept = part[:, 0] < C
        characters = part[kept, 0][::N]
        by_digit = posteriors[kept].reshape(-1, N, N * K + (hmm.end is not None))
        for n in range(N):
            np.add.at(sums[:, n], characters, by_digit[:, n, n * K : (n + 1) * K])
    occurrences = np.bincount(observations[observations < C], minlength=C) // N
    return likelihood, sums / np.maximum(occurrences, 1)[:, None, None]


def _groups(lengths: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Groups of adjacent sequences with about `_AT_ONCE` observations: where each begins, and their lengths."""
    ends = np.cumsum(lengths)
    numbers = (ends - lengths) // _AT_ONCE
    for number in np.unique(numbers):
        chosen = np.flatnonzero(numbers == number)
        yield int(ends[chosen[0]] - lengths[chosen[0]]), lengths[chosen]
