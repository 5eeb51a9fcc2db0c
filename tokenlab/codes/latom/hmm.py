"""Baum-Welch for the periodic HMM of Latom (section 3.2).

`train` draws an HMM, repeats `expected_counts` (E-step) and `maximise` (M-step) a fixed number of times, and takes the
posteriors of one more E-step. The observations are each character N times; they are never written out, since engines
know N.

There are two exact engines, selected by size: `hmm_folded` and `hmm_batched`. `hmm_reference` is the same training with
hmmlearn, to check them against.
"""

from collections.abc import Callable
from functools import cache
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from tokenlab.codes.latom.hmm_batched import BATCH, batched_sums
from tokenlab.codes.latom.hmm_folded import folded_bytes, folded_sums
from tokenlab.codes.latom.hmm_model import ExpectedCounts, Floats, PeriodicHmm, draw_hmm, maximise, scaled_emissions
from tokenlab.core.errors import InputError, ParameterError

Engine = Literal["auto", "folded", "batched"]
Backend = Literal["auto", "folded", "batched", "hmmlearn"]
Progress = Callable[[int, float], object]
"""Called with the number of M-steps done and the log-likelihood (nats) after them."""

_FOLDED_BYTES = 256 << 20


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
        backend: "folded" and "batched" are the engines, "auto" is the faster one for this size, "hmmlearn" the
            reference; their results are equal up to rounding.
        progress: called after every E-step.

    Raises:
        ParameterError: N, K, C or iterations below the least value, or no such backend.
        InputError: no characters, a code outside 0 to C - 1, or offsets that do not fit.
    """
    for name, value, least in (("N", N, 1), ("K", K, 1), ("C", C, 1), ("iterations", iterations, 0)):
        if value < least:
            raise ParameterError(f"{name}: {value} is too small; it must be at least {least}")
    if backend not in get_args(Backend):
        raise ParameterError(f"backend: {backend!r} is none of {', '.join(get_args(Backend))}")
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
    counts = expected_counts(hmm, codes, offsets, engine=backend)
    trace = [counts.log_likelihood]
    report(0, trace[0])
    for iteration in range(1, iterations + 1):
        hmm = maximise(hmm, counts)
        counts = expected_counts(hmm, codes, offsets, engine=backend)
        trace.append(counts.log_likelihood)
        report(iteration, trace[-1])
    return Training(hmm, trace, counts.posteriors)


def expected_counts(
    hmm: PeriodicHmm, codes: NDArray[np.int32], offsets: NDArray[np.int64], *, engine: Engine = "auto"
) -> ExpectedCounts:
    """The E-step: log-likelihood (nats), expected counts and posteriors of the sequences under `hmm`.

    BLAS runs on one thread meanwhile: products as small as these gain nothing from more threads, and the result does
    not depend on the number of cores.

    Args:
        codes, offsets: as in `train`.
        engine: "folded", "batched", or "auto" for the faster one for this size.

    Raises:
        InputError: as in `train`, or a sequence has probability zero under `hmm`. That cannot happen to the sequences
            of a training: a path that adds to the expected counts keeps a probability above zero.
    """
    N, K, C = hmm.emissions.shape
    codes, offsets = np.ascontiguousarray(codes, np.int32), np.ascontiguousarray(offsets, np.int64)
    _check(codes, offsets, C)
    if engine == "auto":
        engine = _faster_engine(N, K, C, np.diff(offsets))
    emissions, logarithms = scaled_emissions(hmm)
    with _thread_pools().limit(limits=1, user_api="blas"):
        sums = (folded_sums if engine == "folded" else batched_sums)(hmm, emissions, codes, offsets)
    if sums.failed >= 0:
        raise InputError(
            f"sequence {sums.failed} (from 0) has probability zero under this HMM, or one too small for float64; "
            "leave it out, or use an HMM that was trained on it"
        )
    occurrences = np.bincount(codes, minlength=C)
    return ExpectedCounts(
        float(sums.log_likelihood + occurrences @ logarithms),
        sums.start,
        sums.transitions,
        sums.atoms.transpose(0, 2, 1),
        None if hmm.end is None else sums.end,
        np.ascontiguousarray((sums.atoms / np.maximum(occurrences, 1)[:, None]).transpose(1, 0, 2)),
    )


@cache
def _thread_pools() -> ThreadpoolController:
    """The thread pools of NumPy's and SciPy's BLAS; finding them takes as long as a small E-step, milliseconds."""
    return ThreadpoolController()


def _faster_engine(N: int, K: int, C: int, lengths: NDArray[np.int64]) -> Literal["folded", "batched"]:
    """Folding is faster for few states and many digits, and for too few sequences for a batch.

    Nanoseconds per character (one thread of a Xeon with AVX-512) of both engines:

        |C|      62    62    62    62   1246   1246   1882   3054   1882   3054   3054, one line
        N, K   2, 8 2, 32  1,16  1,24   2,16   2,24   3,24   3,15   2,44   2,56   2,56
        folded   36   344   100   197    140    358    361    220   1743   4102   4613
        batched 103   366   112   161    182    276    419    297    695    935   8405
    """
    longest_first = np.sort(lengths)[::-1]
    side_by_side = lengths.sum() / longest_first[::BATCH].sum()
    few = K <= 11 * N or side_by_side < 4
    return "folded" if few and folded_bytes(C, K) <= _FOLDED_BYTES else "batched"


def _check(codes: NDArray[np.int32], offsets: NDArray[np.int64], C: int) -> None:
    if not len(codes):
        raise InputError("there are no characters to train on; all sequences are empty")
    if offsets[0] != 0 or offsets[-1] != len(codes) or np.any(np.diff(offsets) < 0):
        raise InputError(f"offsets must rise from 0 to the number of characters, {len(codes)}")
    if codes.min() < 0 or codes.max() >= C:
        raise InputError(f"codes must lie between 0 and {C - 1}; there are {codes.min()} to {codes.max()}")
