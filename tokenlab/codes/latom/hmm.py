"""Baum-Welch for the periodic HMM of Latom (section 3.2).

`train` draws an HMM, repeats `expected_counts` (E-step) and `maximise` (M-step) a fixed number of times, and takes the
posteriors of one more E-step. The observations are each character N times; they are never written out, since the
kernel knows N.

Sequences of similar length go side by side, so that every transition is a product of matrices: 6 N K^2 operations per
character, at the speed of BLAS. The kernel keeps the forward vectors of one stretch of steps and goes back over it; of
earlier stretches only the first vectors are kept, and the others are computed again. `hmm_reference` is the same
training with hmmlearn, to check it against.

Folding the N digits of a character into one matrix is faster for few states (4.1 million characters, N = 2, K = 8:
1.2 instead of 5.4 seconds a training) and slower for many (1.1 million, N = 2, K = 56: 35 instead of 14 seconds, and
K^2 numbers for every character). It is left out.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial, reduce
from operator import add
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from tokenlab.codes.latom.hmm_kernels import forward_backward
from tokenlab.codes.latom.hmm_model import ExpectedCounts, Floats, PeriodicHmm, draw_hmm, maximise
from tokenlab.codes.options import Backend
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.options import check_choice, check_least
from tokenlab.core.shards import Cluster, ClusterOptions, map_shards, open_cluster

Progress = Callable[[int, float], object]
"""Called with the number of M-steps done and the log-likelihood (nats) after them."""

_BATCH = 64
"""Sequences in a batch."""
_KEPT = 1 << 21
"""Largest number of elements in the forward vectors of a stretch: 16 MiB."""
_ALONE, _SHARD = 1 << 24, 1 << 20
"""Characters of a text that is one shard of the E-step, at most, and of the shards of longer ones, on average: many, so
that workers end together. The sums of shards are added in order, so they do not depend on where shards are computed."""


_Sums = tuple[float, Floats, Floats, Floats, Floats]
"""The log-likelihood (nats), and the sums of starts, transitions, ends and atoms, as `forward_backward` leaves them."""


class Training(NamedTuple):
    """A trained HMM."""

    hmm: PeriodicHmm
    log_likelihoods: list[float]
    """Nats; before every M-step and after the last."""
    posteriors: Floats
    """(C, N, K): q[c, n, a] of the trained HMM; see `ExpectedCounts`."""


def train(
    codes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    C: int,
    N: int,
    K: int,
    *,
    iterations: int = 10,
    seed: int | np.random.Generator = 0,
    end_state: bool = False,
    backend: Backend = "auto",
    place: ClusterOptions | None = None,
    progress: Progress | None = None,
) -> Training:
    """Train an HMM on sequences of characters, from a random draw.

    Args:
        codes: (total,) characters of all sequences, 0 to C - 1.
        offsets: (sequences + 1,) where each sequence begins; empty sequences are skipped.
        C: number of characters; N: digits of a code; K: atoms per digit.
        iterations: number of iterations of EM.
        seed: of the draw, or its generator.
        end_state: learn the probability that a sequence ends after each state of the last group.
        backend: "auto" is the engine of this module, "hmmlearn" the reference; their results are equal up to rounding.
        place: where the E-step is computed, in shards of a million characters; in this process where there are fewer
            than 17 million, by hmmlearn, and for None. Every worker holds all sequences.
        progress: called after every E-step.

    Raises:
        ClusterError: as `open_cluster`.
        ParameterError: N, K, C or iterations below the least value, or no such backend.
        InputError: no characters, a code outside 0 to C - 1, or offsets that do not fit.
    """
    for name, value, least in (("N", N, 1), ("K", K, 1), ("C", C, 1), ("iterations", iterations, 0)):
        check_least(name, value, least)
    check_choice("backend", backend, Backend)
    _check(codes, offsets, C)
    hmm = draw_hmm(N, K, C, seed, end_state)
    report = progress or (lambda iteration, log_likelihood: None)
    if backend == "hmmlearn":
        try:  # Imported here, since it loads half of scikit-learn, for more than a second.
            from tokenlab.codes.latom.hmm_reference import train_hmmlearn
        except ImportError as error:
            raise ParameterError(
                f"backend: {error.name} is not installed; pip install tokenlab[reference], or take another backend"
            ) from None
        return Training(*train_hmmlearn(hmm, codes, offsets, iterations, report))
    with _workers(place, codes, offsets) as cluster:
        counts = expected_counts(hmm, codes, offsets, cluster)
        trace = [counts.log_likelihood]
        report(0, trace[0])
        for iteration in range(1, iterations + 1):
            hmm = maximise(hmm, counts)
            counts = expected_counts(hmm, codes, offsets, cluster)
            trace.append(counts.log_likelihood)
            report(iteration, trace[-1])
    return Training(hmm, trace, counts.posteriors)


def _workers(
    place: ClusterOptions | None, codes: NDArray[np.int32], offsets: NDArray[np.int64]
) -> AbstractContextManager[Cluster | None]:
    """The workers, which know the sequences; None where there is one shard."""
    return nullcontext() if place is None or len(codes) <= _ALONE else open_cluster(place, codes, offsets)


def expected_counts(
    hmm: PeriodicHmm, codes: NDArray[np.int32], offsets: NDArray[np.int64], cluster: Cluster | None = None
) -> ExpectedCounts:
    """The E-step: log-likelihood (nats), expected counts and posteriors of the sequences under `hmm`.

    BLAS runs on one thread meanwhile: products as small as these gain nothing from more threads, and the result does
    not depend on the number of cores.

    Args:
        codes, offsets: as in `train`.
        cluster: of `open_cluster`, with codes and offsets as its state; None computes here.

    Raises:
        InputError: as in `train`, or a sequence has probability zero under `hmm`. That cannot happen to the sequences
            of a training: a path that adds to the expected counts keeps a probability above zero.
    """
    codes, offsets = np.ascontiguousarray(codes, np.int32), np.ascontiguousarray(offsets, np.int64)
    C = hmm.emissions.shape[2]
    _check(codes, offsets, C)
    # (N, C, K): emissions, divided by their maximum over the states to keep products in range.
    emissions = hmm.emissions.transpose(0, 2, 1).copy(order="C")
    largest = emissions.max(axis=-1, keepdims=True)
    largest[largest == 0] = 1
    emissions /= largest
    work = partial(_sums, hmm._replace(emissions=emissions))
    log_likelihood, start, transitions, end, atoms = map_shards(
        work, _shards(offsets), partial(reduce, _added), cluster or Cluster((codes, offsets))
    )
    occurrences = np.bincount(codes, minlength=C)
    return ExpectedCounts(
        float(log_likelihood + occurrences @ np.log(largest).sum(axis=(0, 2))),
        start * hmm.start,
        transitions * hmm.transitions,
        atoms.transpose(0, 2, 1),
        None if hmm.end is None else end,
        np.ascontiguousarray((atoms / np.maximum(occurrences, 1)[:, None]).transpose(1, 0, 2)),
    )


def _shards(offsets: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The numbers of the sequences that are not empty, longest first, in parts of about equally many characters."""
    lengths = np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
    characters = int(offsets[-1])
    shards = 1 if characters <= _ALONE else characters // _SHARD
    bounds = 1 + np.searchsorted(np.cumsum(lengths[order]), np.arange(1, shards) * characters // shards)
    return np.split(order, bounds)


def _sums(
    hmm: PeriodicHmm, codes: NDArray[np.int32], offsets: NDArray[np.int64], sequences: NDArray[np.int64]
) -> _Sums:
    """The sums over the sequences of a shard. hmm: its emissions are (N, C, K), divided by their maxima."""
    N, C, K = hmm.emissions.shape
    start, transitions, end, atoms = np.zeros(K), np.zeros((N, K, K)), np.zeros(K), np.zeros((N, C, K))
    with _thread_pools().limit(limits=1, user_api="blas"):
        log_likelihood, failed = forward_backward(
            codes, offsets[sequences], offsets[sequences + 1] - offsets[sequences],
            _BATCH, max(1, _KEPT // (_BATCH * N * K)),
            hmm.start, np.ascontiguousarray(hmm.transitions), np.ascontiguousarray(hmm.transitions.transpose(0, 2, 1)),
            np.ones(K) if hmm.end is None else hmm.end, hmm.emissions, start, transitions, end, atoms,
        )  # fmt: skip
    if failed >= 0:
        raise InputError(
            f"sequence {sequences[failed]} (from 0) has probability zero under this HMM, or one too small for float64; "
            "leave it out, or use an HMM that was trained on it"
        )
    return log_likelihood, start, transitions, end, atoms


def _added(one: _Sums, other: _Sums) -> _Sums:
    return tuple(map(add, one, other))


def _check(codes: NDArray[np.int32], offsets: NDArray[np.int64], C: int) -> None:
    if not len(codes):
        raise InputError("there are no characters to train on; all sequences are empty")
    if offsets[0] != 0 or offsets[-1] != len(codes) or np.any(np.diff(offsets) < 0):
        raise InputError(f"offsets must rise from 0 to the number of characters, {len(codes)}")
    if codes.min() < 0 or codes.max() >= C:
        raise InputError(f"codes must lie between 0 and {C - 1}; there are {codes.min()} to {codes.max()}")


@cache
def _thread_pools() -> ThreadpoolController:
    """The thread pools of NumPy's and SciPy's BLAS; finding them takes as long as a small E-step, milliseconds."""
    return ThreadpoolController()
