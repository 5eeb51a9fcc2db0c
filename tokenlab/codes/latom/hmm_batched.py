"""E-step at atom rate: sequences of similar length side by side, so that every transition is a product of matrices.

For many states: 6 N K^2 operations per character, but at the speed of BLAS, and N K (K + |C|) numbers for the model.
The kernel keeps the forward vectors of one stretch of steps and goes back over it; of earlier stretches only the first
vectors are kept, and the others are computed again.
"""

import numpy as np
from numpy.typing import NDArray

from tokenlab.codes.latom.hmm_batched_kernels import forward_backward
from tokenlab.codes.latom.hmm_model import Floats, PeriodicHmm, Sums

BATCH = 64
"""Sequences in a batch."""

_KEPT = 1 << 21
"""Largest number of elements in the forward vectors of a stretch: 16 MiB."""


def batched_sums(hmm: PeriodicHmm, emissions: Floats, codes: NDArray[np.int32], offsets: NDArray[np.int64]) -> Sums:
    """The sums of an E-step; emissions: (N, C, K), scaled; codes and offsets: as in `expected_counts`."""
    N, C, K = emissions.shape
    lengths = np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
    stretch = max(1, _KEPT // (BATCH * N * K))
    start, transitions, end, atoms = np.zeros(K), np.zeros((N, K, K)), np.zeros(K), np.zeros((N, C, K))
    likelihood, failed = forward_backward(
        codes, offsets[order], lengths[order], BATCH, stretch, hmm.start, np.ascontiguousarray(hmm.transitions),
        np.ascontiguousarray(hmm.transitions.transpose(0, 2, 1)), np.ones(K) if hmm.end is None else hmm.end,
        emissions, start, transitions, end, atoms,
    )  # fmt: skip
    failed = int(order[failed]) if failed >= 0 else -1
    return Sums(likelihood, failed, start * hmm.start, transitions * hmm.transitions, end, atoms)
