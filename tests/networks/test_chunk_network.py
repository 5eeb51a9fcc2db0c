"""Learned chunks: routing, smoothing and ratio loss against plain loops, causality, isolation, generation."""

import numpy as np
import pytest
import torch
from plain_chunks import plain_chunk_network, plain_ratio_loss, plain_router, plain_smooth

from tokenlab.core.errors import InputError
from tokenlab.networks.chunk_network import ChunkNetwork, boundary_probabilities, ratio_loss, smooth, upsample
from tokenlab.networks.interface import CodedPassage
from tokenlab.networks.options import ChunkShape, StackShape

SHAPE = ChunkShape(latent=StackShape(2, 24, 2, 40), local=StackShape(1, 16, 2, 24), ratio=3.0)
TEXTS = [b"the cat sat on the mat, ", b"x", "Größe 日本語 text".encode(), bytes(range(0, 256, 3)), b"aaaa" * 30]


def pieces(*texts):
    return [
        CodedPassage(np.frombuffer(text, np.uint8).astype(np.int32), np.zeros(0, np.int32), len(text)) for text in texts
    ]


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


def states(seed, count, width=5):
    return torch.randn(count, width, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("count", [1, 2, 50])
def test_router_is_equation_4(count):
    x, w_q, w_k = states(0, count), states(1, 5), states(2, 5)
    queries, keys = x @ w_q.T, x @ w_k.T
    found = boundary_probabilities(queries[1:], keys[:-1])
    assert [1.0, *found.tolist()] == pytest.approx(plain_router(x.double(), w_q.double(), w_k.double()), abs=1e-6)


def test_probabilities_stay_between_0_and_1():
    x = states(0, 1000, 3) * 1e3
    assert boundary_probabilities(x, x).min() >= 0
    assert boundary_probabilities(x, -x).max() <= 1


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


def test_smoothing_never_sees_the_sequence_before():
    chunks, p = states(0, 6), torch.tensor([1.0, 0.6, 0.7, 1.0, 0.5, 0.9])
    poisoned = chunks.clone()
    poisoned[:3] = 1e30
    assert torch.equal(smooth(poisoned, p)[3:], smooth(chunks, p)[3:])


def test_gradients_of_smoothing():
    chunks = states(0, 9, 2).double().requires_grad_()
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


def test_ratio_loss_is_1_at_its_aim():
    p = torch.tensor([1.0, 0.0, 0.0, 0.0] * 5)
    assert float(ratio_loss(p, p >= 0.5, 4.0)) == pytest.approx(1)


def test_nats_of_every_byte_are_those_of_plain_loops(network, truth):
    found = network.symbol_nats(network.collate([pieces(*TEXTS[:2]), pieces(*TEXTS[2:])])).tolist()
    expected = [nats for text in TEXTS for nats in truth[text][0]]
    assert found == pytest.approx(expected, abs=2e-5)


def test_the_best_byte(network):
    batch = network.collate([pieces(TEXTS[0])])
    scores = network.symbol_scores(batch)
    best = network.begin([[]], 8)[0].argmax()
    assert bool(scores.best[0]) == (int(best) == TEXTS[0][0])


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


def test_pieces_do_not_see_each_other(network):
    alone = torch.cat([network.symbol_nats(network.collate([pieces(text)])) for text in TEXTS])
    for order in (TEXTS, TEXTS[::-1]):
        together = network.symbol_nats(network.collate([pieces(*order)]))
        parts = dict(zip(order, together.split([len(text) for text in order]), strict=True))
        torch.testing.assert_close(torch.cat([parts[text] for text in TEXTS]), alone, rtol=1e-5, atol=1e-5)


def test_gradients_stay_in_their_piece(network):
    inputs = network.collate([pieces(TEXTS[0], TEXTS[2])])
    embedded = torch.nn.functional.embedding(inputs.inputs, network.embedding).detach().requires_grad_()
    layout = inputs.passages
    states = network.encoder.norm(network.encoder(embedded, layout))
    (gradient,) = torch.autograd.grad(states[len(TEXTS[0]) :].sum(), embedded)
    assert not gradient[: len(TEXTS[0])].any() and gradient[len(TEXTS[0]) :].any()


def test_bfloat16(network, truth):
    batch = network.collate([pieces(*TEXTS)])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = network(batch)
        gradients = torch.autograd.grad(loss.nats + loss.extra, list(network.parameters()))
    assert loss.nats.dtype == loss.extra.dtype == torch.float32
    assert float(loss.nats.detach()) == pytest.approx(sum(sum(truth[text][0]) for text in TEXTS), rel=0.02)
    assert all(gradient.dtype == torch.float32 and gradient.isfinite().all() for gradient in gradients)


def test_every_weight_learns(network):
    loss = network(network.collate([pieces(*TEXTS)]))
    names = [name for name, _ in network.named_parameters()]
    gradients = torch.autograd.grad(loss.nats + loss.extra, list(network.parameters()))
    assert [name for name, found in zip(names, gradients, strict=True) if not found.abs().sum() > 0] == []


def test_the_router_learns_from_the_nats_alone(network):
    """By the straight-through confidence and the smoothing."""
    loss = network(network.collate([pieces(*TEXTS)]))
    found = torch.autograd.grad(loss.nats, [network.queries, network.keys])
    assert all(gradient.abs().sum() > 0 for gradient in found)


def test_generation_step_by_step_is_the_whole_text(network, truth):
    logits, cache = network.begin([[], list(TEXTS[1])], 4)
    text = TEXTS[2]
    nats = []
    for symbol in text:
        nats.append(float(logits[0].logsumexp(0) - logits[0, symbol]))
        logits = network.step(torch.tensor([symbol, 0]), cache)
    assert nats == pytest.approx(truth[text][0], abs=2e-5)


@pytest.mark.parametrize("cut", [0, 1, 5, 17])
def test_generation_after_a_prompt(network, truth, cut):
    texts = [TEXTS[0], TEXTS[4]]
    logits, cache = network.begin([list(text[:cut]) for text in texts], 30)
    for t in range(cut, 24):
        for row, text in enumerate(texts):
            found = float(logits[row].logsumexp(0) - logits[row, text[t]])
            assert found == pytest.approx(truth[text][0][t], abs=2e-5)
        logits = network.step(torch.tensor([text[t] for text in texts]), cache)


def test_rows_of_a_cache_grow_alone_and_are_selected(network, truth):
    texts = [TEXTS[0], TEXTS[2], TEXTS[4]]
    logits, cache = network.begin([list(text[:3]) for text in texts], 8)
    for t in range(3, 9):  # rows 2 and 0 only, in this order
        logits = network.step(torch.tensor([texts[2][t], texts[0][t]]), cache, torch.tensor([2, 0]))
    some = cache.select(torch.tensor([1, 0, 1]))
    logits = network.step(torch.tensor([texts[1][3], texts[0][9], texts[1][3]]), some)
    for row, (text, t) in enumerate([(texts[1], 4), (texts[0], 10), (texts[1], 4)]):
        found = float(logits[row].logsumexp(0) - logits[row, text[t]])
        assert found == pytest.approx(truth[text][0][t], abs=2e-5)
    logits = network.step(torch.tensor([texts[1][3]]), cache, torch.tensor([1]))  # the old one is untouched
    assert float(logits[0].logsumexp(0) - logits[0, texts[1][4]]) == pytest.approx(truth[texts[1]][0][4], abs=2e-5)


def test_a_new_network_compares_neighbours_and_has_no_residual():
    network = ChunkNetwork(SHAPE)
    assert torch.equal(network.queries, torch.eye(16)) and torch.equal(network.keys, torch.eye(16))
    assert not network.residual.any()
    found = network.boundaries(network.collate([pieces(bytes(range(256)) * 2, b"a" * 50)]))
    assert found[512] and not found[513:].any()  # equal neighbours never begin a chunk
    assert 0.2 < found[:512].float().mean() < 0.9


def test_training_finds_chunks_of_the_ratio():
    """With a large weight: the ratio loss steers the share of boundaries to 1 / ratio."""
    torch.manual_seed(0)
    shape = ChunkShape(latent=StackShape(1, 24, 2, 24), local=StackShape(1, 16, 2, 24), ratio=4.0, ratio_weight=1.0)
    network = ChunkNetwork(shape)
    batch = network.collate([pieces(b"some words that come again and again, and other words. " * 4)])
    weights, first = list(network.parameters()), float(network.symbol_nats(batch).sum())
    for step in range(60):
        loss = network(batch)
        gradients = torch.autograd.grad(loss.nats + loss.extra, weights)
        with torch.no_grad():
            for weight, gradient in zip(weights, gradients, strict=True):
                weight -= 5e-3 * (1 - step / 60) * gradient.sign()
    assert float(network.symbol_nats(batch).sum()) < 0.6 * first
    assert 3 <= batch.symbols / int(network.boundaries(batch).sum()) <= 5.5


def test_wrong_batches(network):
    with pytest.raises(InputError, match="no symbols"):
        network.collate([[]])
    with pytest.raises(InputError, match="id 256"):
        network.collate([[CodedPassage(np.array([256], np.int32), np.zeros(0, np.int32), 1)]])
