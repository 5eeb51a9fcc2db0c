"""Packed networks against the plain padded reference in float64: loss, nats of each symbol and gradients; and what the
numbers of a batch are."""

import numpy as np
import pytest
import torch
from plain_networks import plain_patch_nats, plain_token_nats, weights_of
from random_pieces import LATENT, LOCAL, SHAPES, random_network, random_pieces, symbols_of

from tokenlab.core.errors import InputError
from tokenlab.networks.interface import CodedPassage
from tokenlab.networks.options import ChunkShape, Computation

SIZES = {
    "several": (13, 1, 40, 7),
    "equal": (12, 12),
    "one symbol": (1,),
    "one": (30,),
    "long": (150, 90, 20),  # sequences that are too long for the kernel of short ones
}


@pytest.mark.parametrize(
    ("kind", "longest"), [(kind, longest) for kind in SHAPES for longest in ((7,) if kind == "tokens" else (1, 7, 70))]
)
@pytest.mark.parametrize("sizes", SIZES)
def test_packed_equals_padded(kind, sizes, longest):
    network = random_network(SHAPES[kind])
    pieces = random_pieces(symbols_of(network.shape), SIZES[sizes], longest=longest)
    weights = weights_of(network)
    expected = (plain_token_nats if kind == "tokens" else plain_patch_nats)(network, pieces, weights)
    expected.sum().backward()
    batch = network.collate([pieces[:2], pieces[2:]])
    loss = network(batch)
    loss.nats.backward()
    assert loss.extra.item() == 0
    assert loss.nats.item() == pytest.approx(expected.sum().item(), rel=1e-5)
    torch.testing.assert_close(network.symbol_nats(batch), expected.float(), rtol=1e-5, atol=1e-5)
    for name, weight in network.named_parameters():
        wanted = weights[name].grad if weights[name].grad is not None else torch.zeros_like(weights[name])
        scale = max(1.0, wanted.abs().max().item())
        assert weight.grad is not None, name
        assert (weight.grad - wanted).abs().max().item() <= 1e-5 * scale, name


def _kept(run):
    """What a function returns, and how many numbers it keeps for the backward pass."""
    sizes = []

    def keep(tensor):
        sizes.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        return run(), sum(sizes)


@pytest.mark.parametrize("kind", [*SHAPES, "chunks"])
def test_checkpointed_activations_give_the_same_gradients(kind):
    """The same bits, while less is kept for the backward pass."""
    shape = {**SHAPES, "chunks": ChunkShape(LATENT, LOCAL)}[kind]
    pieces = random_pieces(getattr(shape, "symbols", 50), (60, 30))
    found, kept = [], []
    for checkpoint in (False, True):
        network = random_network(shape, computation=Computation(checkpoint_activations=checkpoint))
        loss, size = _kept(lambda network=network: network(network.collate([pieces])))
        (loss.nats + loss.extra).backward()
        found.append([loss.nats.detach(), *(weight.grad for weight in network.parameters())])
        kept.append(size)
    assert all(map(torch.equal, *found))
    assert kept[1] < kept[0] / 2


@pytest.mark.parametrize("kind", SHAPES)
def test_scores_and_sizes(kind):
    network = random_network(SHAPES[kind])
    pieces = random_pieces(symbols_of(network.shape), (30, 17))
    empty = CodedPassage(np.array([], np.int32), np.array([], np.int32), 0)
    batch = network.collate([[empty, pieces[0]], [], [pieces[1], empty]])
    assert (batch.size, batch.symbols) == (3 * 47, 47)
    assert batch.to("cpu").symbols == 47
    scores = network.symbol_scores(batch)
    assert scores.nats.dtype == torch.float32 and scores.best.dtype == torch.bool
    assert network(batch).nats.item() == pytest.approx(scores.nats.double().sum().item(), rel=1e-6)
    # Probabilities are those of a distribution: over all last symbols of a piece they add up to 1.
    ids = [np.append(pieces[1].ids[:-1], np.int32(id)) for id in range(symbols_of(network.shape))]
    every = network.symbol_scores(network.collate([[pieces[1]._replace(ids=some) for some in ids]]))
    last = slice(len(ids[0]) - 1, None, len(ids[0]))
    assert (-every.nats[last].double()).exp().sum().item() == pytest.approx(1, abs=1e-5)
    assert every.best[last].sum() == 1 and every.best[last][every.nats[last].argmin()]


@pytest.mark.parametrize("kind", SHAPES)
def test_bad_pieces(kind):
    network = random_network(SHAPES[kind])
    (piece,) = random_pieces(symbols_of(network.shape), (10,))
    with pytest.raises(InputError, match="no symbols"):
        network.collate([[piece._replace(ids=piece.ids[:0], starts=piece.starts[:0])]])
    for wrong in (-1, symbols_of(network.shape)):
        ids = piece.ids.copy()
        ids[3] = wrong
        with pytest.raises(InputError, match=f"has the id {wrong};"):
            network.collate([[piece._replace(ids=ids)]])
    if kind != "tokens":
        with pytest.raises(InputError, match="no patches"):
            network.collate([[piece._replace(starts=piece.starts[:0])]])
        for starts in ([1, 3], [0, 3, 3], [0, 5, 4], [0, 10]):
            with pytest.raises(InputError, match="begin at its first symbol"):
                network.collate([[piece, piece._replace(starts=np.array(starts, np.int32))]])
