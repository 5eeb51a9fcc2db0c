"""Networks on disk: the same again, the same bytes; what is no network is refused. bfloat16 and torch.compile."""

import json

import pytest
import torch
from interrupted import files
from random_pieces import HASHED, SHAPES, TOKENS, random_network, random_pieces, symbols_of
from torch._dynamo.testing import CompileCounterWithBackend

from tokenlab.core.errors import InputError
from tokenlab.networks.options import SIZES, ChunkShape
from tokenlab.networks.stored import build_network, read_network, save_network

CHUNKS = ChunkShape(*SIZES["tiny"], ratio=3.0)


@pytest.mark.parametrize("kind", [*SHAPES, "chunks"])
def test_a_stored_network_is_the_same(kind, tmp_path):
    network = random_network({**SHAPES, "chunks": CHUNKS}[kind])
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    save_network(network, tmp_path / "one")
    read = read_network(tmp_path / "one")
    assert type(read) is type(network) and read.shape == network.shape and not read.training
    for one, other in zip(network.named_parameters(), read.named_parameters(), strict=True):
        assert one[0] == other[0] and other[1].requires_grad and torch.equal(one[1], other[1])
    save_network(read, tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert set(files(tmp_path / "one")) == {"config.json", "model.safetensors"}


def test_weights_follow_the_seed():
    state = torch.random.get_rng_state()
    one, same, other = (build_network(HASHED, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(map(torch.equal, one.parameters(), same.parameters()))
    assert not any(
        map(torch.equal, *([weight for weight in some.parameters() if weight.std() > 0] for some in (one, other)))
    )
    deviations = {name: weight.std().item() for name, weight in one.named_parameters() if weight.ndim == 2}
    for name, found in deviations.items():
        wanted = 0.02 / 2 if name.endswith("_output") else 0.02  # two layers: 0.02 / sqrt(2 * 2)
        assert found == pytest.approx(wanted, rel=0.15), name


def with_stack(**changes):
    def damaged(whole):
        document = json.loads(whole)
        document["stack"] |= changes
        return json.dumps(document).encode()

    return damaged


@pytest.mark.parametrize(
    ("name", "damaged"),
    [
        ("config.json", lambda whole: b"{"),
        ("config.json", lambda whole: b"[]"),
        ("config.json", lambda whole: b'{"network": "gpt"}'),
        ("config.json", with_stack(width=64)),
        ("config.json", with_stack(heads=5)),
        ("model.safetensors", lambda whole: b""),
        ("model.safetensors", lambda whole: whole[: len(whole) // 2]),
    ],
)
def test_damaged_networks(name, damaged, tmp_path):
    save_network(random_network(TOKENS), tmp_path)
    (tmp_path / name).write_bytes(damaged((tmp_path / name).read_bytes()))
    with pytest.raises(InputError, match=r"no network that can be read") as caught:
        read_network(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", SHAPES)
def test_bfloat16_is_close(kind):
    network = build_network(SHAPES[kind], 0)
    batch = network.collate([random_pieces(symbols_of(network.shape), (60, 33))])
    exact = network(batch).nats
    exact.backward()
    gradients = [weight.grad.clone() for weight in network.parameters()]
    network.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        rough = network(batch).nats
        scores = network.symbol_scores(batch)
    rough.backward()
    assert rough.dtype == scores.nats.dtype == torch.float32 and rough.item() != exact.item()
    assert rough.item() == pytest.approx(exact.item(), rel=1e-3)
    assert scores.nats.sum().item() == pytest.approx(rough.item(), rel=1e-4)
    for weight, gradient in zip(network.parameters(), gradients, strict=True):
        assert weight.grad.dtype == torch.float32
        assert (weight.grad - gradient).norm() <= 0.1 * gradient.norm() + 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["marked", *(pytest.param(k, marks=pytest.mark.nightly) for k in ("tokens", "hashed", "chunks"))]
)
def test_compiled_networks_are_the_same(kind):
    """And after three batches nothing is compiled again for another number of blocks; the rotary tables have grown."""
    network = random_network({**SHAPES, "chunks": CHUNKS}[kind])
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(network, backend=counter, dynamic=True)
    graphs, blocks = [], []
    for sizes in ((30, 20), (40, 9, 3), (400, 200, 90, 30, 11), (1500, 700, 300, 120, 40, 8)):
        batch = network.collate([random_pieces(symbols_of(network.shape), sizes)])
        found = []
        for run in (network, compiled):
            network.zero_grad()
            loss = run(batch)
            (loss.nats + loss.extra).backward()
            found.append((loss.nats.item(), [weight.grad.clone() for weight in network.parameters()]))
        assert found[0][0] == pytest.approx(found[1][0], rel=1e-5)
        for one, other in zip(found[0][1], found[1][1], strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-3)
        graphs.append(counter.frame_count)
        blocks.append(len(batch.passages.blocks))
    assert blocks[2] != blocks[3] and graphs[2] == graphs[3], (graphs, blocks)
