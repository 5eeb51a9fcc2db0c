"""E-step at character rate: the N copies of a character folded into one matrix, exactly.

With D_n the emissions of c at digit n, M_c = D_1 T_1 D_2 T_2 ... D_N leads through a character and R_c = M_c T_N to the
next one. Forward-backward runs over characters with R_c (`hmm_kernels`) and sums S_c; the expected counts inside
characters follow from S_c, once for each distinct character. That is about 6 K^2 operations per character instead of
6 N K^2, and 3 |C| K^2 numbers in memory.

The end of a sequence is one more outcome after T_N: a column of e, or of ones where sequences may end anywhere.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tokenlab.codes.latom.hmm_kernels import forward_backward
from tokenlab.codes.latom.hmm_model import Floats, PeriodicHmm, Sums
from tokenlab.codes.latom.vector_kernels import WIDTH

_BLOCK = 1 << 21
"""Largest number of elements in one array of a block of characters: 16 MiB."""


def folded_sums(hmm: PeriodicHmm, emissions: Floats, codes: NDArray[np.int32], offsets: NDArray[np.int64]) -> Sums:
    """The sums of an E-step; emissions: (N, C, K), scaled; codes and offsets: as in `expected_counts`."""
    _, C, K = emissions.shape
    width = padded_width(K)
    forward, backward, ends = np.zeros((C, K, width)), np.zeros((C, K, width)), np.zeros((C, width))
    for block in _blocks(C, K):
        folded = _after(hmm, emissions[:, block])[0] * emissions[0, block, None]
        backward[block, :, :K] = folded[:, :K]
        forward[block, :, :K] = folded[:, :K].transpose(0, 2, 1)
        ends[block, :K] = folded[:, K]
    start = np.zeros(width)
    start[:K] = hmm.start
    sums = [np.zeros_like(array) for array in (forward, ends, start)]
    likelihood, failed = forward_backward(
        codes, offsets, forward.ravel(), backward.ravel(), ends.ravel(), start, K, *(array.ravel() for array in sums)
    )
    edges, last = sums[0][:, :, :K], sums[1][:, :K]
    transitions, end, atoms = _unfold(hmm, emissions, edges, last)
    return Sums(likelihood, failed, sums[2][:K], transitions, end, atoms)


def padded_width(K: int) -> int:
    """Length of a padded row of K elements."""
    return -(-K // WIDTH) * WIDTH


def folded_bytes(C: int, K: int) -> int:
    """Memory of the folded matrices and their sums."""
    return 3 * 8 * C * K * padded_width(K)


def _blocks(C: int, K: int) -> Iterator[slice]:
    size = max(1, _BLOCK // (K * (K + 1)))
    return (slice(first, min(first + size, C)) for first in range(0, C, size))


def _leaving(hmm: PeriodicHmm) -> Floats:
    """(K, K + 1): T_N with the end as its last column."""
    end = np.ones_like(hmm.start) if hmm.end is None else hmm.end
    return np.column_stack([hmm.transitions[-1], end])


def _after(hmm: PeriodicHmm, emissions: Floats) -> list[Floats]:
    """For each digit n: [c, j, a], from atom a at digit n, after its emission, to outcome j after the character."""
    N, C, K = emissions.shape
    after = [np.broadcast_to(_leaving(hmm).T, (C, K + 1, K))]
    for n in range(N - 2, -1, -1):
        emitted = after[0] * emissions[n + 1, :, None]
        after.insert(0, (emitted.reshape(-1, K) @ hmm.transitions[n].T).reshape(emitted.shape))
    return after


def _unfold(hmm: PeriodicHmm, emissions: Floats, edges: Floats, last: Floats) -> tuple[Floats, Floats, Floats]:
    """Expected transitions (N, K, K), ends (K,), atoms (N, C, K) from S (C, K, K) and the sums at last characters.

    The forward pass over the digits: [c, j, a] is the weight of reaching atom a at digit n, including its emission, for
    the occurrences of c with outcome j.
    """
    N, C, K = emissions.shape
    transitions, leaving, atoms = np.zeros((N, K, K)), np.zeros((K, K + 1)), np.empty((N, C, K))
    for block in _blocks(C, K):
        after = _after(hmm, emissions[:, block])
        entering = np.concatenate([edges[block].transpose(0, 2, 1), last[block, None]], axis=1)
        reached = entering * emissions[0, block, None]
        for n in range(N):
            atoms[n, block] = np.einsum("cja,cja->ca", reached, after[n])
            if n < N - 1:
                emitted = after[n + 1] * emissions[n + 1, block, None]
                transitions[n] += reached.reshape(-1, K).T @ emitted.reshape(-1, K)
                reached = (reached.reshape(-1, K) @ hmm.transitions[n]).reshape(reached.shape)
                reached *= emissions[n + 1, block, None]
        leaving += reached.sum(axis=0).T
    leaving *= _leaving(hmm)
    transitions[-1] = leaving[:, :K]
    transitions[:-1] *= hmm.transitions[:-1]
    return transitions, leaving[:, K], atoms
