"""Costs of networks: parameters and operations of the formulas are those of the real networks."""

import numpy as np
import pytest
import torch
from plain_networks import unseen_flops
from torch.utils.flop_counter import FlopCounterMode

from tokenlab.networks import products
from tokenlab.networks.cost import forward_flops, parameter_count
from tokenlab.networks.interface import CodedPassage
from tokenlab.networks.options import LOCAL, MEDIUM, SMALL, ChunkShape, HashShape, PatchShape, StackShape, TokenShape
from tokenlab.networks.stored import build_network


@pytest.fixture(autouse=True)
def products_of_pytorch(monkeypatch):
    """Those that its counter sees."""
    monkeypatch.setattr(products, "PINNED", False)


LATENT = StackShape(layers=2, width=32, heads=2, feed_forward=48)
INNER = StackShape(layers=1, width=16, heads=2, feed_forward=24)
SHAPES = {
    "tokens": TokenShape(300, LATENT),
    "patches": PatchShape(280, True, LATENT, INNER),
    "hash": PatchShape(256, False, LATENT, INNER, HashShape(rows=50)),
    "chunks": ChunkShape(LATENT, INNER),
}


def count(shape):
    return sum(weight.numel() for weight in build_network(shape, 0, device="meta").parameters())


@pytest.mark.parametrize("kind", SHAPES)
def test_parameters_are_those_of_the_network(kind):
    assert parameter_count(SHAPES[kind]) == count(SHAPES[kind])


@pytest.mark.parametrize(
    "shape, millions, within",
    [
        (TokenShape(50_257, SMALL), 123, 0.01),
        (TokenShape(256, SMALL), 85, 0.01),
        (PatchShape(256, False, SMALL, LOCAL, HashShape()), 351, 0.01),  # space, entropy
        (TokenShape(50_257, MEDIUM), 359, 0.01),
        (PatchShape(256, False, MEDIUM, LOCAL, HashShape()), 575, 0.01),
        (PatchShape(497, True, MEDIUM, LOCAL), 323, 0.01),
        # 99.7 in the paper: no reading of its tables gives it. Table 1 gives 97.0, 2.7 % less.
        (PatchShape(497, True, SMALL, LOCAL), 97.0, 0.001),
    ],
)
def test_parameters_of_tables_2_and_4(shape, millions, within):
    assert count(shape) / 1e6 == pytest.approx(millions, rel=within)


def piece(symbols, patch):
    ids = np.random.default_rng(0).integers(0, 256, symbols).astype(np.int32)
    return CodedPassage(ids, np.arange(0, symbols, patch, dtype=np.int32), symbols)


def counted(network, pieces):
    """Operations of the matrix products that PyTorch runs; it does not see attention on the CPU."""
    batch = network.collate([pieces])
    with FlopCounterMode(display=False) as counter:
        network.symbol_nats(batch)
    return counter.get_total_flops()


@pytest.mark.parametrize("kind, patch", [("tokens", 1), ("patches", 4), ("hash", 5)])
def test_operations_are_those_that_pytorch_counts(kind, patch):
    shape, length = SHAPES[kind], 60
    found = counted(build_network(shape, 0), [piece(length, patch)])
    if isinstance(shape, TokenShape):
        expected = forward_flops(shape, length).total - unseen_flops(shape.stack, length)
    else:
        patches = length // patch
        expected = forward_flops(shape, length, 1.0, 1 / patch).total
        expected -= unseen_flops(shape.latent, patches) + 2 * patches * unseen_flops(shape.local, patch)
    assert found == pytest.approx(expected, rel=1e-9)


def test_operations_of_chunks_are_those_that_pytorch_counts():
    shape, length = SHAPES["chunks"], 60
    network, one = build_network(shape, 0), piece(length, 60)
    batch = network.collate([[one]])
    with torch.no_grad():
        chunks = int(network._encode(batch.inputs, batch.passages).boundary.sum())
    expected = forward_flops(shape, length, patches=chunks / length).total
    expected -= unseen_flops(shape.latent, chunks) + 2 * unseen_flops(shape.local, length)
    assert counted(network, [one]) == pytest.approx(expected, rel=1e-9)
