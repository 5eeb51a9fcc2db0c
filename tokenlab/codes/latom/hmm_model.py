"""The periodic HMM of Latom (section 3.2): its parameters, their random draw, and the results of an E-step."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class PeriodicHmm(NamedTuple):
    """N groups of K states; a character is observed N times, the n-th time from a state of the n-th group."""

    start: Floats
    """(K,): p(z_1), over the first group."""
    transitions: Floats
    """(N, K, K): [n, i, j] from state i of group n to state j of group n + 1; the last one leads to the first group."""
    emissions: Floats
    """(N, K, C): [n, i, c] of character c in state i of group n."""
    end: Floats | None = None
    """(K,): probability of the end after each state of the last group, whose rows of transitions sum to one with it;
    None: a sequence may end after any character, with probability one."""


class ExpectedCounts(NamedTuple):
    """Results of the E-step: expected counts given the sequences, each in the shape of its parameters."""

    log_likelihood: float
    """log p(all sequences), nats."""
    start: Floats
    transitions: Floats
    emissions: Floats
    end: Floats | None
    posteriors: Floats
    """(C, N, K): q[c, n, a], the mean over the occurrences of c of the posterior of atom a at digit n; zeros for a
    character that does not occur."""


def draw_hmm(N: int, K: int, C: int, seed: int | np.random.Generator, end_state: bool = False) -> PeriodicHmm:
    """A random HMM, every row from Dirichlet(1).

    `numpy.random.default_rng(seed)` draws the start, then T_1 to T_N row by row, then emissions digit by digit and
    state by state. With `end_state` a row of T_N has K + 1 outcomes; the last one is the end.
    """
    rng = np.random.default_rng(seed)
    start = rng.dirichlet(np.ones(K))
    transitions, end = np.empty((N, K, K)), np.empty(K)
    for n in range(N):
        for state in range(K):
            if end_state and n == N - 1:
                *transitions[n, state], end[state] = rng.dirichlet(np.ones(K + 1))
            else:
                transitions[n, state] = rng.dirichlet(np.ones(K))
    emissions = np.empty((N, K, C))
    for n in range(N):
        for state in range(K):
            emissions[n, state] = rng.dirichlet(np.ones(C))
    return PeriodicHmm(start, transitions, emissions, end if end_state else None)


def maximise(hmm: PeriodicHmm, counts: ExpectedCounts) -> PeriodicHmm:
    """The M-step: counts, each row divided by its sum, without smoothing. A row of zeros keeps its values in `hmm`."""
    transitions = _normalised(counts.transitions, hmm.transitions)
    end = None
    if hmm.end is not None and counts.end is not None:
        last = _normalised(_with_end(counts.transitions[-1], counts.end), _with_end(hmm.transitions[-1], hmm.end))
        transitions[-1], end = last[:, :-1], last[:, -1]
    return PeriodicHmm(
        _normalised(counts.start, hmm.start), transitions, _normalised(counts.emissions, hmm.emissions), end
    )


def _with_end(transitions: Floats, end: Floats) -> Floats:
    return np.column_stack([transitions, end])


def _normalised(counts: Floats, before: Floats) -> Floats:
    sums = counts.sum(axis=-1, keepdims=True)
    return np.where(sums > 0, counts / np.where(sums > 0, sums, 1), before)
