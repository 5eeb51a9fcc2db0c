"""Forward-backward of a periodic HMM over a batch of sequences, one matrix product per digit.

Sequences are sorted, the longest first, so the sequences longer than t are the first rows of a matrix. For digit n,
with b_n the emissions of each row's character:

    u_n = a_n b_n              a_(n+1) = u_n T_n           forward; a_1 of the next step is divided by its mass
    v_n = b_n beta_n           beta_(n-1) = v_n T_(n-1)'   backward, scaled so that u_n beta_n, the posterior, sums to 1

The sums are transitions += u_n' v_(n+1) (multiplied by T_n once at the end) and atoms += u_n beta_n.
"""

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401  Numba's np.dot calls it; loaded here, so that its threads can be limited.
from numba import njit

from tokenlab.core.kernels import copy


@njit(cache=True, nogil=True, error_model="numpy")
def forward_backward(
    codes, firsts, lengths, batch, stretch, start, transitions, transposed, ends, emissions,
    start_sums, edge_sums, end_sums, atoms,
):  # fmt: skip
    """The sums of an E-step over all sequences, `batch` of them at a time.

    firsts, lengths: int64[sequences], none empty, longest first. stretch: steps whose forward vectors are kept at a
    time. start: (K,); transitions and transposed: (N, K, K); ends: (K,); emissions: (N, C, K). start_sums and edge_sums
    must still be multiplied by start and transitions; end_sums: (K,); atoms: (N, C, K). Returns the log-likelihood
    (nats), and the place in this order of a sequence with probability zero, or -1.
    """
    N, K = transitions.shape[0], transitions.shape[1]
    entering, following = np.empty((batch, K)), np.empty((batch, K))
    emitted = np.empty((N, batch * stretch, K))
    likelihood = 0.0
    for low in range(0, firsts.size, batch):
        places, sizes = firsts[low : low + batch], lengths[low : low + batch]
        stretches = (sizes[0] + stretch - 1) // stretch
        kept = np.empty((stretches, sizes.size, K))
        for row in range(sizes.size):
            copy(start, entering[row])
        for number in range(stretches):
            for row in range(sizes.size):
                copy(entering[row], kept[number, row])
            logarithm, failed = _forward(
                codes, places, sizes, number * stretch, stretch, transitions, ends, emissions, entering, emitted
            )
            if failed >= 0:
                return likelihood, low + failed
            likelihood += logarithm
        for number in range(stretches - 1, -1, -1):
            if number < stretches - 1:
                for row in range(sizes.size):
                    copy(kept[number, row], entering[row])
                _forward(
                    codes, places, sizes, number * stretch, stretch, transitions, ends, emissions, entering, emitted
                )
            failed = _backward(
                codes, places, sizes, number * stretch, stretch, transposed, ends, emissions, emitted, following,
                edge_sums, end_sums, atoms,
            )  # fmt: skip
            if failed >= 0:
                return likelihood, low + failed
        for row in range(sizes.size):
            start_sums += following[row]
    return likelihood, -1


@njit(cache=True, nogil=True, error_model="numpy")
def _forward(codes, places, sizes, first, steps, transitions, ends, emissions, entering, emitted):
    """Fill `emitted` with the u_n of the steps first, ..., first + steps - 1; `entering` is a_1, and is updated."""
    N, K = transitions.shape[0], transitions.shape[1]
    likelihood, rows, begin = 0.0, _running(sizes, first, sizes.size), 0
    for t in range(first, min(first + steps, sizes[0])):
        rows = _running(sizes, t, rows)
        for n in range(N):
            u = emitted[n, begin : begin + rows]
            for row in range(rows):
                emission, a, product = emissions[n, codes[places[row] + t]], entering[row], u[row]
                for k in range(K):
                    product[k] = a[k] * emission[k]
            np.dot(u, transitions[n], entering[:rows])
        for row in range(rows):
            mass, product, a = _sum(u[row]), u[row], entering[row]
            likelihood += np.log(mass)
            if sizes[row] == t + 1:
                ending = 0.0
                for k in range(K):
                    ending += product[k] * ends[k]
                likelihood += np.log(ending / mass)
                mass = min(mass, ending)
            if not mass > 0.0:
                return likelihood, row
            for k in range(K):
                a[k] /= mass
        begin += rows
    return likelihood, -1


@njit(cache=True, nogil=True, error_model="numpy")
def _backward(
    codes, places, sizes, first, steps, transposed, ends, emissions, emitted, following, edge_sums, end_sums, atoms
):
    """Go back over the same steps; `following` is v_1 of the step after the last one, and is updated to the first."""
    N, K = transposed.shape[0], transposed.shape[1]
    beta, edges = np.empty((places.size, K)), np.empty((K, K))
    final = min(first + steps, sizes[0])
    begin = 0
    for t in range(first, final):
        begin += _running(sizes, t, sizes.size)
    going_on = _running(sizes, final, sizes.size)
    for t in range(final - 1, first - 1, -1):
        rows = _running(sizes, t, sizes.size)
        begin -= rows
        u = emitted[N - 1, begin : begin + rows]
        if going_on > 0:
            np.dot(following[:going_on], transposed[N - 1], beta[:going_on])
        for row in range(rows):
            if row >= going_on:
                beta[row] = ends
            mass = 0.0
            for k in range(K):
                mass += u[row, k] * beta[row, k]
            if not mass > 0.0:
                return row
            for k in range(K):
                beta[row, k] /= mass
            if row < going_on:
                for k in range(K):
                    following[row, k] /= mass
            else:
                for k in range(K):
                    end_sums[k] += u[row, k] * beta[row, k]
        if going_on > 0:
            np.dot(u[:going_on].T, following[:going_on], edges)
            edge_sums[N - 1] += edges
        for n in range(N - 1, -1, -1):
            u = emitted[n, begin : begin + rows]
            for row in range(rows):
                character = codes[places[row] + t]
                emission, atom, b, product, v = (
                    emissions[n, character],
                    atoms[n, character],
                    beta[row],
                    u[row],
                    following[row],
                )
                for k in range(K):
                    atom[k] += product[k] * b[k]
                    v[k] = b[k] * emission[k]
            if n > 0:
                np.dot(following[:rows], transposed[n - 1], beta[:rows])
                np.dot(emitted[n - 1, begin : begin + rows].T, following[:rows], edges)
                edge_sums[n - 1] += edges
        going_on = rows
    return -1


@njit(cache=True, nogil=True)
def _running(sizes, t, rows):
    """How many of the first `rows` sequences are longer than t."""
    while rows > 0 and sizes[rows - 1] <= t:
        rows -= 1
    return rows


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _sum(vector):
    """The sum of the elements, in the order that vectorisation chooses."""
    total = 0.0
    for k in range(vector.size):
        total += vector[k]
    return total
