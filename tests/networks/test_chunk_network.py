"""Learned chunks: routing, smoothing and ratio loss against plain loops, causality. Generation is in tests/language."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from plain_networks import plain_stack

from tokenlab.core.errors import InputError
from tokenlab.language.coding import ByteCoder
from tokenlab.networks.chunk_network import ChunkNetwork, ratio_loss, smooth, upsample
from tokenlab.networks.interface import CodedPassage
from tokenlab.networks.options import ChunkShape, StackShape

SHAPE = ChunkShape(latent=StackShape(2, 24, 2, 40), local=StackShape(1, 16, 2, 24), ratio=3.0)
TEXTS = [b"the cat sat on the mat, ", b"x", "Größe 日本語 text".encode(), bytes(range(0, 256, 3)), b"aaaa" * 30]


def pieces(*texts):
    return ByteCoder().code(texts)


# Dynamic chunking of H-Net, state by state in float64, as the paper writes it.


def cosine(a, b):
    return float((a * b).sum() / (a.norm() * b.norm()))


def plain_router(states, queries, keys):
    """Eq. 4: p_1 = 1, p_t = (1 - cos(W_q x_t, W_k x_{t-1})) / 2; a list of floats."""
    p = [1.0]
    for before, state in pairwise(states):
        p.append((1 - cosine(queries @ state, keys @ before)) / 2)
    return p


def plain_smooth(chunks, p):
    """Eq. 5: s_t = p_t z_t + (1 - p_t) s_{t-1}."""
    found = [chunks[0]]
    for chunk, confidence in zip(chunks[1:], p[1:], strict=True):
        found.append(confidence * chunk + (1 - confidence) * found[-1])
    return found


def plain_ratio_loss(p, boundary, ratio):
    """Eq. 10."""
    f = sum(map(float, boundary)) / len(boundary)
    g = sum(p) / len(p)
    return ratio / (ratio - 1) * ((ratio - 1) * f * g + (1 - f) * (1 - g))


def plain_chunk_network(network, data):
    """All that the network computes for one piece of bytes (bytes): the nats of each byte, the probabilities, the
    boundaries of its states 0..len(data), of which the last predicts nothing."""
    weights = {name: weight.double() for name, weight in network.named_parameters()}
    embedding, shape = weights["embedding"], network.shape

    def stack(name, stack_shape, states):
        alone = torch.ones(1, len(states), dtype=torch.bool)
        return plain_stack(weights, name, stack_shape, torch.stack(states)[None], alone)[0]

    encoded = stack("encoder", shape.local, [embedding[id] for id in (256, *data)])
    p = plain_router(list(encoded), weights["queries"], weights["keys"])
    boundary = [confidence >= 0.5 for confidence in p]
    used = range(len(data))
    begins = [t for t in used if boundary[t]]
    latent = stack("latent", shape.latent, [weights["to_latent"] @ encoded[t] for t in begins])
    smoothed = plain_smooth([weights["to_local"] @ state for state in latent], [p[t] for t in begins])
    states = []
    for t in used:
        chunk = sum(boundary[: t + 1]) - 1
        states.append(smoothed[chunk] + weights["residual"] @ encoded[t])
    decoded = stack("decoder", shape.local, states)
    logits = decoded @ embedding[:256].T
    nats = [float(logits[t].logsumexp(0) - logits[t, data[t]]) for t in used]
    return nats, p, boundary


@pytest.fixture(scope="module")
def network():
    """With weights of its own everywhere: identities and zeros would hide mistakes."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = ChunkNetwork(SHAPE)
        for weight in network.parameters():
            torch.nn.init.normal_(weight, 1.0 if weight.ndim == 1 else 0.0, 0.3)
    return network.eval()


@pytest.fixture(scope="module")
def truth(network):
    with torch.no_grad():
        return {text: plain_chunk_network(network, text) for text in TEXTS}


@pytest.mark.parametrize("lengths", [[1], [2], [3, 1, 5], [200, 1, 130], [64, 65, 63, 129]])
def test_smoothing_is_the_loop_of_equation_5_in_each_sequence(lengths):
    generator = torch.Generator().manual_seed(1)
    chunks = torch.randn(sum(lengths), 4, generator=generator)
    p = 0.5 + 0.5 * torch.rand(sum(lengths), generator=generator) ** 4  # many near 1/2: a long memory
    begin, expected = 0, []
    for length in lengths:
        p[begin] = 1.0
        here = slice(begin, begin + length)
        expected += plain_smooth(list(chunks[here].double()), p[here].double().tolist())
        begin += length
    torch.testing.assert_close(smooth(chunks, p).double(), torch.stack(expected), rtol=1e-5, atol=1e-6)


def test_gradients_of_smoothing():
    chunks = torch.randn(9, 2, generator=torch.Generator().manual_seed(0)).double().requires_grad_()
    p = torch.linspace(0.55, 0.95, 9, dtype=torch.float64)
    p[0] = 1.0
    assert torch.autograd.gradcheck(smooth, (chunks, p.requires_grad_()))


def test_upsampling_copies_chunks_and_is_straight_through():
    chunks = torch.tensor([[1.0, 2.0], [3.0, -5.0]], requires_grad=True)
    p = torch.tensor([1.0, 0.2, 0.8, 0.4], requires_grad=True)
    found = upsample(chunks, p, torch.tensor([True, False, True, False]))
    assert found.tolist() == [[1, 2], [1, 2], [3, -5], [3, -5]]
    found.sum().backward()
    assert chunks.grad.tolist() == [[2, 2], [2, 2]]
    assert p.grad.tolist() == [3, -3, -2, 2]  # d c / d p is 1 at boundaries and -1 elsewhere


@pytest.mark.parametrize("ratio", [1.5, 4.0])
def test_ratio_loss_is_equation_10(ratio):
    p = torch.rand(40, generator=torch.Generator().manual_seed(0), requires_grad=True)
    boundary = p >= 0.5
    loss = ratio_loss(p, boundary, ratio)
    assert float(loss.detach()) == pytest.approx(plain_ratio_loss(p.tolist(), boundary.tolist(), ratio), rel=1e-6)
    loss.backward()
    share = float(boundary.float().mean())
    slope = ratio / (ratio - 1) * ((ratio - 1) * share - (1 - share)) / 40
    assert p.grad.tolist() == pytest.approx([slope] * 40, rel=1e-5)


def test_nats_of_every_byte_are_those_of_plain_loops(network, truth):
    found = network.symbol_nats(network.collate([pieces(*TEXTS[:2]), pieces(*TEXTS[2:])])).tolist()
    expected = [nats for text in TEXTS for nats in truth[text][0]]
    assert found == pytest.approx(expected, abs=2e-5)


def test_losses_are_sums(network, truth):
    batch = network.collate([pieces(*TEXTS)])
    loss = network(batch)
    assert batch.size == batch.symbols == sum(map(len, TEXTS))
    assert float(loss.nats.detach()) == pytest.approx(sum(sum(truth[text][0]) for text in TEXTS), rel=1e-6)
    p = [p for text in TEXTS for p in truth[text][1][: len(text)]]
    boundary = [b for text in TEXTS for b in truth[text][2][: len(text)]]
    ratio = plain_ratio_loss(p, boundary, SHAPE.ratio)
    assert float(loss.extra.detach()) == pytest.approx(SHAPE.ratio_weight * batch.symbols * ratio, rel=1e-5)


def test_boundaries_are_those_of_the_router(network, truth):
    found = network.boundaries(network.collate([pieces(*TEXTS)])).tolist()
    expected = [[True, *truth[text][2][2:]] for text in TEXTS]
    assert found == [b for boundary in expected for b in boundary]
    assert 0.1 < sum(found) / len(found) < 0.9


def test_a_byte_changes_no_prediction_before_the_next(network):
    """Neither its distribution, nor a boundary before it: the byte itself may be one."""
    text = TEXTS[0]
    for t in range(len(text)):
        changed = text[:t] + bytes([text[t] ^ 0x55]) + text[t + 1 :]
        nats, others = (network.symbol_nats(network.collate([pieces(one)])) for one in (text, changed))
        boundaries, other = (network.boundaries(network.collate([pieces(one)])) for one in (text, changed))
        assert torch.equal(boundaries[:t], other[:t])
        # Products of more or fewer rows may round the same row in another way.
        close = 0.0 if boundaries.sum() == other.sum() else 1e-6
        torch.testing.assert_close(nats[:t], others[:t], rtol=0, atol=close * float(nats.max()))
        if t + 1 < len(text):
            assert not torch.equal(nats[t + 1 :], others[t + 1 :])  # but after it, it counts


def test_every_weight_learns(network):
    loss = network(network.collate([pieces(*TEXTS)]))
    names = [name for name, _ in network.named_parameters()]
    gradients = torch.autograd.grad(loss.nats + loss.extra, list(network.parameters()))
    assert [name for name, found in zip(names, gradients, strict=True) if not found.abs().sum() > 0] == []


def test_a_new_network_compares_neighbours_and_has_no_residual():
    network = ChunkNetwork(SHAPE)
    assert torch.equal(network.queries, torch.eye(16)) and torch.equal(network.keys, torch.eye(16))
    assert not network.residual.any()
    found = network.boundaries(network.collate([pieces(bytes(range(256)) * 2, b"a" * 50)]))
    assert found[512] and not found[513:].any()  # equal neighbours never begin a chunk
    assert 0.2 < found[:512].float().mean() < 0.9


def test_wrong_batches(network):
    with pytest.raises(InputError, match="no symbols"):
        network.collate([[]])
    with pytest.raises(InputError, match="id 256"):
        network.collate([[CodedPassage(np.array([256], np.int32), np.zeros(0, np.int32), 1)]])
