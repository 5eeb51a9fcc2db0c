"""Forward-backward of a folded HMM: one step per character.

The N copies of a character c are one matrix R_c (from entering c to entering the next character), so the passes are

    alpha[t + 1] = alpha[t] R_c(t)      beta[t] = R_c(t) beta[t + 1]      beta[last] = the end vector of its character

and the E-step needs only S_c, the sum of alpha[t] (x) beta[t + 1] / (alpha[t] R_c beta[t + 1]) over the places t of c.
Every vector is divided by the sum of the previous vector, so that a step does not wait for its own sum. The two passes
are independent and run interleaved.

Of a long sequence only every `BLOCK`-th alpha is kept; the others are computed again in the backward pass.

Vectors have `width` elements, K padded with zeros to a multiple of eight; matrices are K x width; arrays are flat.
"""

import numpy as np
from numba import njit

from tokenlab.codes.latom.vector_kernels import WIDTH, add, fma, load, mul, splat, store, total

BLOCK = 1024
"""Number of characters between two alphas that are kept."""

_SMALL = 1e-100


@njit(cache=True, nogil=True, error_model="numpy")
def forward_backward(codes, offsets, forward, backward, ends, start, K, edge_sums, end_sums, start_sums):
    """Sum S_c, the end vectors and the start counts over all sequences.

    codes: int32[total]; offsets: int64[sequences + 1]; forward: R, float64[C * K * width], a row for each entering
    state; backward: its transpose in the same layout; ends: float64[C * width]; start: float64[width]. edge_sums,
    end_sums and start_sums have the shapes of forward, ends and start. Returns the log-likelihood (nats), and the
    number of the first sequence with probability zero, or -1.
    """
    width = start.size
    alpha, beta = np.zeros((BLOCK + 1) * width), np.zeros((BLOCK + 1) * width)
    alpha_mass, beta_mass = np.empty(BLOCK + 1), np.empty(BLOCK + 1)
    likelihood = 0.0
    for sequence in range(offsets.size - 1):
        first, length = offsets[sequence], offsets[sequence + 1] - offsets[sequence]
        if length == 0:
            continue
        steps = length - 1
        blocks = max(1, (steps + BLOCK - 1) // BLOCK)
        kept, kept_mass = np.empty(blocks * width), np.empty(blocks)
        alpha[:width] = start
        alpha_mass[0] = 1.0
        for block in range(blocks):
            kept[block * width : (block + 1) * width] = alpha[:width]
            kept_mass[block] = alpha_mass[0]
            if block < blocks - 1:
                _forward(codes[first + block * BLOCK :], BLOCK, forward, K, width, alpha, alpha_mass)
                likelihood += _log_product(alpha_mass, BLOCK)
                alpha[:width] = alpha[BLOCK * width : (BLOCK + 1) * width]
                alpha_mass[0] = alpha_mass[BLOCK]
        last = np.int64(codes[first + steps])
        final = steps - (blocks - 1) * BLOCK
        beta[final * width : (final + 1) * width] = ends[last * width : (last + 1) * width]
        beta_mass[final] = 1.0
        for block in range(blocks - 1, -1, -1):
            here = codes[first + block * BLOCK :]
            size = final if block == blocks - 1 else BLOCK
            alpha[:width] = kept[block * width : (block + 1) * width]
            alpha_mass[0] = kept_mass[block]
            _both(here, size, forward, backward, K, width, alpha, alpha_mass, beta, beta_mass)
            if block == blocks - 1:
                probability = _dot(alpha, size * width, beta, size * width, width)
                likelihood += _log_product(alpha_mass, size) + np.log(probability)
                if not probability > 0.0:
                    return likelihood, sequence
                _add_scaled(alpha, size * width, 1.0 / probability, end_sums, last * width, width)
            if not _add_edges(here, size, alpha, beta, beta_mass, K, width, edge_sums):
                return likelihood, sequence
            if block > 0:
                beta[BLOCK * width : (BLOCK + 1) * width] = beta[:width]
                beta_mass[BLOCK] = beta_mass[0]
        probability = _dot(alpha, 0, beta, 0, width)
        for k in range(width):
            start_sums[k] += start[k] * beta[k] / probability
    return likelihood, -1


@njit(cache=True, nogil=True, error_model="numpy")
def _forward(codes, steps, forward, K, width, alpha, mass):
    """alpha[1..steps] and their sums from alpha[0]."""
    for t in range(steps):
        matrix = np.int64(codes[t]) * K * width
        mass[t + 1] = _product(alpha, t * width, 1.0 / mass[t], forward, matrix, K, width, alpha, (t + 1) * width)


@njit(cache=True, nogil=True, error_model="numpy")
def _both(codes, steps, forward, backward, K, width, alpha, alpha_mass, beta, beta_mass):
    """alpha[1..steps] from alpha[0], and beta[steps-1..0] from beta[steps]."""
    for t in range(steps):
        u = steps - t
        ahead, behind = np.int64(codes[t]) * K * width, np.int64(codes[u - 1]) * K * width
        alpha_mass[t + 1] = _product(
            alpha, t * width, 1.0 / alpha_mass[t], forward, ahead, K, width, alpha, (t + 1) * width
        )
        beta_mass[u - 1] = _product(
            beta, u * width, 1.0 / beta_mass[u], backward, behind, K, width, beta, (u - 1) * width
        )


@njit(cache=True, nogil=True, inline="always")
def _product(vector, v, factor, matrix, m, K, width, out, o):
    """out[o:] = factor * vector[v:] @ matrix[m:]; returns the sum of its elements."""
    mass, scale = splat(0.0), splat(factor)
    for j in range(0, width, WIDTH):
        even, odd = splat(0.0), splat(0.0)
        for i in range(0, K - 1, 2):
            even = fma(splat(vector[v + i]), load(matrix, m + i * width + j), even)
            odd = fma(splat(vector[v + i + 1]), load(matrix, m + (i + 1) * width + j), odd)
        if K % 2:
            even = fma(splat(vector[v + K - 1]), load(matrix, m + (K - 1) * width + j), even)
        result = mul(add(even, odd), scale)
        store(out, o + j, result)
        mass = add(mass, result)
    return total(mass)


@njit(cache=True, nogil=True, error_model="numpy")
def _add_edges(codes, steps, alpha, beta, beta_mass, K, width, edge_sums):
    """S_c += alpha[t] (x) beta[t + 1] / (alpha[t] R_c beta[t + 1]); returns False at a division by zero."""
    for t in range(steps):
        probability = _dot(alpha, t * width, beta, t * width, width) * beta_mass[t + 1]
        if not probability > 0.0:
            return False
        scale = splat(1.0 / probability)
        matrix = np.int64(codes[t]) * K * width
        for j in range(0, width, WIDTH):
            following = mul(load(beta, (t + 1) * width + j), scale)
            for i in range(K):
                place = matrix + i * width + j
                store(edge_sums, place, fma(splat(alpha[t * width + i]), following, load(edge_sums, place)))
    return True


@njit(cache=True, nogil=True, inline="always")
def _dot(a, i, b, j, width):
    products = splat(0.0)
    for k in range(0, width, WIDTH):
        products = fma(load(a, i + k), load(b, j + k), products)
    return total(products)


@njit(cache=True, nogil=True)
def _add_scaled(vector, i, factor, out, o, width):
    for k in range(width):
        out[o + k] += factor * vector[i + k]


@njit(cache=True, nogil=True)
def _log_product(values, size):
    """The sum of log values[:size], with a logarithm only where the product becomes small."""
    logarithm, product = 0.0, 1.0
    for t in range(size):
        if values[t] < _SMALL:
            logarithm += np.log(values[t])
            continue
        product *= values[t]
        if product < _SMALL:
            logarithm += np.log(product)
            product = 1.0
    return logarithm + np.log(product)
