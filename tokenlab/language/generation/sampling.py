"""Drawing symbols from logits: allowed symbols, then top-k, then temperature; random numbers by counting, without a
state, so that a row of a batch does not depend on the other rows."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def uniforms(seed: int, rows: NDArray[np.int64], positions: NDArray[np.int64]) -> NDArray[np.float64]:
    """Random numbers in [0, 1): the same for the same seed, row and position on every machine.

    SplitMix64 (Steele et al. 2014) of seed, row and position, one after the other.

    Args:
        seed: at least 0.
        rows: int64[n] numbers of prompts, at least 0.
        positions: int64[n] numbers of symbols drawn before, at least 0.

    Returns:
        float64[n], multiples of 2^-53.
    """
    state = _mixed(np.full(len(rows), seed % 2**64, np.uint64))
    for part in (rows, positions):
        state = _mixed(state ^ part.astype(np.uint64))
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw(
    logits: Tensor, uniform: NDArray[np.float64], temperature: float, top_k: int | None, allowed: Tensor | None = None
) -> Tensor:
    """A symbol for each row.

    Args:
        logits: float[rows, symbols].
        uniform: float64[rows] in [0, 1), one number for each row.
        temperature: divides the logits; 0 takes the most probable symbol, the first of several.
        top_k: only the K most probable symbols are drawn; of equal ones at the edge, those with smaller ids.
        allowed: bool[rows, symbols]; others are never drawn. At least one in each row.

    Returns:
        int64[rows] on the device of the logits.
    """
    scores = logits.double()
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -torch.inf)
    if temperature == 0 or top_k == 1:
        return scores.argmax(-1)
    ids = None
    if top_k is not None and top_k < scores.shape[-1]:
        scores, ids = _largest(scores, top_k)
    # Divided after the largest is taken away: a small temperature would overflow.
    weights = torch.exp((scores - scores.amax(-1, keepdim=True)) / temperature)
    total = weights.cumsum(-1)
    wanted = torch.from_numpy(uniform).to(total.device)[:, None] * total[:, -1:]
    drawn = torch.searchsorted(total, wanted, right=True)[:, 0]
    # The product may round up to the total: then the last symbol with a weight is meant.
    last = weights.shape[-1] - 1 - (weights > 0).flip(-1).int().argmax(-1)
    drawn = drawn.minimum(last)
    return drawn if ids is None else ids.gather(1, drawn[:, None])[:, 0]


def _largest(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest of each row and their ids, in the order of the ids; of equal ones the first."""
    least = scores.topk(k, dim=-1).values[:, -1:]
    above, equal = scores > least, scores == least
    room = k - above.sum(-1, keepdim=True)
    kept = above | (equal & (equal.int().cumsum(-1) <= room))
    ids = kept.nonzero()[:, 1].view(-1, k)
    return scores.gather(1, ids), ids


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        state = state + _GOLDEN
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
