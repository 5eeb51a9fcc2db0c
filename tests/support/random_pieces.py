"""Pieces of random symbols, and small networks whose weights are large enough for every part to matter."""

import numpy as np
import torch

from tokenlab.networks.interface import CodedPassage
from tokenlab.networks.options import ChunkShape, HashShape, PatchShape, StackShape, TokenShape
from tokenlab.networks.stored import build_network

LATENT = StackShape(layers=2, width=32, heads=2, feed_forward=40)
LOCAL = StackShape(layers=2, width=16, heads=2, feed_forward=24)
TOKENS = TokenShape(50, LATENT)
HASHED = PatchShape(256, False, LATENT, LOCAL, HashShape(97, 2, 4))
SHAPES = {
    "tokens": TOKENS,
    "marked": PatchShape(300, True, LATENT, LOCAL),
    "bytes": PatchShape(256, False, LATENT, LOCAL),
    "hashed": HASHED,
}


def random_pieces(symbols, sizes, longest=7):
    """Pieces of so many symbols (below `symbols`) each, in patches of 1 to `longest` symbols."""
    draws = np.random.default_rng(0)
    found = []
    for size in sizes:
        starts = [0]
        while (begin := starts[-1] + int(draws.integers(1, longest + 1))) < size:
            starts.append(begin)
        ids = draws.integers(0, symbols, size).astype(np.int32)
        found.append(CodedPassage(ids, np.array(starts, np.int32), 3 * size))
    return found


def random_network(shape, **arguments):
    """A network with gains around 1 and weights five times larger than new ones."""
    network = build_network(shape, 0, **arguments)
    draws = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if name.endswith("gain"):
                weight += torch.empty_like(weight).uniform_(-0.3, 0.3, generator=draws)
            else:
                weight *= 5
    return network


def symbols_of(shape):
    """How many symbols a network predicts."""
    if isinstance(shape, ChunkShape):
        return 256
    return shape.vocabulary if isinstance(shape, TokenShape) else shape.symbols
