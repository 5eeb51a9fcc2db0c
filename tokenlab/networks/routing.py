"""Dynamic chunking (H-Net: Hwang, Wang & Gu 2025, arXiv 2507.07955, section 2.2), as functions of packed sequences.

A router compares neighbouring states of the encoder; where they differ, a chunk begins (`boundary_probabilities`, eq.
4). The states at boundaries go through the latent stack. Its output is smoothed by the confidence of the boundaries
(`smooth`, eq. 5), copied to all positions of the chunk, and multiplied by the confidence of each position in the
gradient only (`upsample`, eqs. 6-9). The ratio loss steers the mean length of chunks (`ratio_loss`, eq. 10).
"""

import torch
from torch import Tensor
from torch.nn import functional

BOUNDARY = 0.5
"""A chunk begins where the probability is at least this."""

_DOUBLINGS = 6


def boundary_probabilities(queries: Tensor, keys: Tensor) -> Tensor:
    """p_t = (1 - cos(q_t, k_{t-1})) / 2.

    Args:
        queries: [states, width]: W_q x_t.
        keys: [states, width]: W_k x_{t-1}, of the state before each.

    Returns:
        float32[states], 0..1.
    """
    cosine = functional.cosine_similarity(queries.float(), keys.float(), dim=-1)
    return ((1 - cosine) / 2).clamp(0.0, 1.0)  # Rounding can take a cosine beyond 1.


def smooth(chunks: Tensor, p: Tensor) -> Tensor:
    """The moving average s_t = p_t z_t + (1 - p_t) s_{t-1} along packed sequences.

    Probabilities of boundaries are at least 1/2, those of a sequence's first chunk 1. So no sequence sees another,
    and chunk t - 64 has a weight of at most 2^-64, nothing in float32; six doublings of a window replace the loop.

    Args:
        chunks: float32[chunks, width]: z.
        p: float32[chunks], at least 1/2, and 1 for the first chunk of each sequence.

    Returns:
        float32[chunks, width].
    """
    p = p[:, None]
    sums, left = p * chunks, 1 - p
    for doubling in range(_DOUBLINGS):
        shift = 1 << doubling
        if shift >= len(chunks):
            break
        # What the window [t - shift + 1, t] leaves over goes to the window [t - 2 shift + 1, t - shift].
        sums = torch.cat((sums[:shift], sums[shift:] + left[shift:] * sums[:-shift]))
        left = torch.cat((left[:shift], left[shift:] * left[:-shift]))
    return sums


def upsample(chunks: Tensor, p: Tensor, boundary: Tensor) -> Tensor:
    """The chunk of each state, times the straight-through confidence: 1, with the gradient of p_t at boundaries and of
    1 - p_t elsewhere.

    Args:
        chunks: [chunks, width], smoothed.
        p: float32[states].
        boundary: bool[states]; the first state is one.

    Returns:
        [states, width].
    """
    confidence = torch.where(boundary, p, 1 - p)
    through = confidence - confidence.detach() + 1.0
    return chunks.index_select(0, boundary.cumsum(0) - 1) * through[:, None]


def ratio_loss(p: Tensor, boundary: Tensor, ratio: float) -> Tensor:
    """N / (N - 1) ((N - 1) F G + (1 - F) (1 - G)), with the share of boundaries F and the mean probability G.

    It is 1 where F = G = 1 / N. Only G has a gradient.

    Args:
        p: float32[states].
        boundary: bool[states].
        ratio: N, the mean length of a chunk that is aimed at.

    Returns:
        float32 scalar.
    """
    share, mean = boundary.float().mean(), p.mean()
    return ratio / (ratio - 1) * ((ratio - 1) * share * mean + (1 - share) * (1 - mean))
