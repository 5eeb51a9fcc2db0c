"""Kernels of the CPU, float32: what PyTorch does in several passes over memory, or with a call for each short sequence.

Each works on the rows `begin` to `end`, so that threads can share them. `add_norm` and its gradient, `swiglu` and its
gradient, rotary positions, and causal attention inside short sequences with its gradient. For widths of 64 to 768 they
take a third to a tenth of the time of PyTorch's operators.
"""

import numpy as np
from llvmlite import ir
from numba import float32, int32, njit, types
from numba.extending import intrinsic

_ORDER = {"reassoc", "contract", "arcp", "nsz"}
"""Sums may be reordered into vectors; infinities and NaN stay what they are."""


@intrinsic
def _float_of_bits(_context, bits):
    """The float32 with the bits of an int32."""

    def generate(_context, builder, _signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(bits), generate


@njit(inline="always", fastmath=_ORDER)
def _exp(x):
    """exp of a float32 to 2 units in the last place, in operations that LLVM turns into vectors (Cephes, expf)."""
    x = min(max(x, float32(-87.0)), float32(88.0))
    k = np.floor(x * float32(1.44269504088896341) + float32(0.5))
    x = x - k * float32(0.693359375) + k * float32(2.12194440e-4)
    p = float32(1.9875691500e-4)
    p = p * x + float32(1.3981999507e-3)
    p = p * x + float32(8.3334519073e-3)
    p = p * x + float32(4.1665795894e-2)
    p = p * x + float32(1.6666665459e-1)
    p = p * x + float32(5.0000001201e-1)
    p = p * x * x + x + float32(1.0)
    return p * _float_of_bits(int32((int32(k) + int32(127)) << int32(23)))


@njit(cache=True, nogil=True, fastmath=_ORDER, error_model="numpy")
def add_norm(begin, end, states, added, gain, epsilon, total, normed, scales):
    """total = states + added; scales = 1 / sqrt(mean(total^2) + epsilon); normed = total * scales * gain.

    states, added, total, normed: float32[rows, width]; gain: float32[width]; scales: float32[rows].
    """
    width = states.shape[1]
    for row in range(begin, end):
        squares = float32(0.0)
        for i in range(width):
            value = states[row, i] + added[row, i]
            total[row, i] = value
            squares += value * value
        scale = float32(1.0) / np.sqrt(squares / float32(width) + epsilon)
        scales[row] = scale
        for i in range(width):
            normed[row, i] = total[row, i] * scale * gain[i]


@njit(cache=True, nogil=True, fastmath=_ORDER, error_model="numpy")
def norm(begin, end, states, gain, epsilon, normed, scales):
    """`add_norm` with nothing to add."""
    width = states.shape[1]
    for row in range(begin, end):
        squares = float32(0.0)
        for i in range(width):
            squares += states[row, i] * states[row, i]
        scale = float32(1.0) / np.sqrt(squares / float32(width) + epsilon)
        scales[row] = scale
        for i in range(width):
            normed[row, i] = states[row, i] * scale * gain[i]


@njit(cache=True, nogil=True, fastmath=_ORDER, error_model="numpy")
def norm_gradient(begin, end, total, gain, scales, to_total, to_normed, made, to_gain):
    """made = to_total + the gradient of `total` through the norm; to_gain[width] grows by the gradient of the gain."""
    width = total.shape[1]
    for row in range(begin, end):
        scale = scales[row]
        product = float32(0.0)
        for i in range(width):
            product += to_normed[row, i] * gain[i] * total[row, i]
        product *= scale * scale * scale / float32(width)
        for i in range(width):
            to_gain[i] += to_normed[row, i] * total[row, i] * scale
            made[row, i] = to_total[row, i] + to_normed[row, i] * gain[i] * scale - total[row, i] * product


@njit(cache=True, nogil=True, fastmath=_ORDER, error_model="numpy")
def swiglu(begin, end, states, made):
    """made[rows, inner] = silu(a) * b of the halves of states[rows, 2 inner]."""
    inner = made.shape[1]
    for row in range(begin, end):
        gates, values = states[row, :inner], states[row, inner:]
        for i in range(inner):
            made[row, i] = gates[i] / (float32(1.0) + _exp(-gates[i])) * values[i]


@njit(cache=True, nogil=True, fastmath=_ORDER, error_model="numpy")
def swiglu_gradient(begin, end, states, to_made, to_states):
    """The gradient of `swiglu`'s states."""
    inner = to_made.shape[1]
    for row in range(begin, end):
        gates, values = states[row, :inner], states[row, inner:]
        to_gates, to_values = to_states[row, :inner], to_states[row, inner:]
        for i in range(inner):
            sigmoid = float32(1.0) / (float32(1.0) + _exp(-gates[i]))
            silu = gates[i] * sigmoid
            to_values[i] = to_made[row, i] * silu
            to_gates[i] = to_made[row, i] * values[i] * (sigmoid + silu * (float32(1.0) - sigmoid))


@njit(cache=True, nogil=True, fastmath=_ORDER, error_model="numpy")
def rotate(begin, end, states, turns, positions, sign, made, lanes):
    """made = states with the heads of queries and keys rotated by sign * position.

    states, made: float32[rows, 3, heads, size]; turns: float32[positions, 2, size / 2]; positions: int64[rows]; lanes:
    any tuple of `size` numbers: its length is known when this is compiled, so that short loops become vectors.
    """
    heads, half = states.shape[2], len(lanes) // 2
    for row in range(begin, end):
        cosine, sine = turns[positions[row], 0], turns[positions[row], 1]
        for part in range(2):
            for head in range(heads):
                old, new = states[row, part, head], made[row, part, head]
                for i in range(half):
                    first, second = old[i], old[half + i]
                    new[i] = first * cosine[i] - second * sine[i] * sign
                    new[half + i] = second * cosine[i] + first * sine[i] * sign
        made[row, 2] = states[row, 2]


@njit(cache=True, nogil=True, fastmath=_ORDER, error_model="numpy")
def attend(begin, end, states, offsets, areas, weights, made, lanes):
    """Causal attention inside the sequences `begin` to `end`.

    states: float32[rows, 3, heads, size], rotated; offsets: int64[sequences + 1]; areas: int64[sequences + 1], where
    the weights of a sequence, length * length, begin; made: float32[rows, heads, size]; lanes: see `rotate`.
    weights: float32[heads, areas], filled with the weights of the keys, a row of keys for each query.
    """
    heads, size = states.shape[2], len(lanes)
    factor = float32(1.0 / np.sqrt(size))
    for sequence in range(begin, end):
        first, length = offsets[sequence], offsets[sequence + 1] - offsets[sequence]
        for query in range(length):
            for head in range(heads):
                at = areas[sequence] + query * length
                shares = weights[head, at : at + query + 1]
                asking = states[first + query, 0, head]
                largest = float32(-np.inf)
                for key in range(query + 1):
                    known = states[first + key, 1, head]
                    score = float32(0.0)
                    for i in range(size):
                        score += asking[i] * known[i]
                    score *= factor
                    shares[key] = score
                    largest = max(largest, score)
                total = float32(0.0)
                for key in range(query + 1):
                    share = _exp(shares[key] - largest)
                    shares[key] = share
                    total += share
                out = made[first + query, head]
                for i in range(size):
                    out[i] = float32(0.0)
                for key in range(query + 1):
                    share = shares[key] / total
                    shares[key] = share
                    value = states[first + key, 2, head]
                    for i in range(size):
                        out[i] += share * value[i]


@njit(cache=True, nogil=True, fastmath=_ORDER, error_model="numpy")
def attend_gradient(begin, end, states, offsets, areas, weights, to_made, to_states, lanes):
    """The gradient of `attend`'s states, float32[rows, 3, heads, size]."""
    heads, size = states.shape[2], len(lanes)
    factor = float32(1.0 / np.sqrt(size))
    for sequence in range(begin, end):
        first, length = offsets[sequence], offsets[sequence + 1] - offsets[sequence]
        to_states[first : first + length] = float32(0.0)
        products = np.empty(length, np.float32)
        for query in range(length):
            for head in range(heads):
                at = areas[sequence] + query * length
                shares = weights[head, at : at + query + 1]
                to_out = to_made[first + query, head]
                expected = float32(0.0)
                for key in range(query + 1):
                    value, to_value = states[first + key, 2, head], to_states[first + key, 2, head]
                    product = float32(0.0)
                    for i in range(size):
                        product += to_out[i] * value[i]
                        to_value[i] += shares[key] * to_out[i]
                    products[key] = product
                    expected += product * shares[key]
                asking, to_asking = states[first + query, 0, head], to_states[first + query, 0, head]
                for key in range(query + 1):
                    known, to_known = states[first + key, 1, head], to_states[first + key, 1, head]
                    slope = shares[key] * (products[key] - expected) * factor
                    for i in range(size):
                        to_asking[i] += slope * known[i]
                        to_known[i] += slope * asking[i]
