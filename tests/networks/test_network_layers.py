"""The layers by themselves: layouts, attention, output layer. The others are in test_networks_exact.py."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional
from torch.nn.attention.flex_attention import create_block_mask

from tokenlab.core.errors import ParameterError
from tokenlab.networks import output, products
from tokenlab.networks.attention import attend
from tokenlab.networks.batches import sequence_layout
from tokenlab.networks.output import output_nats, output_scores


def values(*shape, scale=1.0, seed=0):
    draws = torch.Generator().manual_seed(seed + sum(shape))
    return (torch.randn(*shape, generator=draws) * scale).requires_grad_()


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("lengths", [(1,), (3, 1, 4, 1, 5), (6, 6), (90, 2, 2, 17), (200, 130), (300, 300)])
def test_attention_sees_the_sequence_so_far(monkeypatch, lengths, pinned):
    states, layout = values(sum(lengths), 3, 2, 8), sequence_layout(np.array(lengths))
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    sees = (sequence[:, None] == sequence) & (np.arange(sum(lengths))[:, None] >= np.arange(sum(lengths)))

    def plain(states):
        queries, keys, own = states.double().permute(1, 2, 0, 3)
        scores = queries @ keys.transpose(1, 2) / math.sqrt(8)
        shares = scores.masked_fill(~torch.from_numpy(sees), -math.inf).softmax(-1)
        return (shares @ own).transpose(0, 1).flatten(1).float()

    expected = plain(states)
    weights = values(*expected.shape, seed=5).detach()
    (wanted,) = torch.autograd.grad((expected * weights).sum(), states)
    monkeypatch.setattr(products, "PINNED", pinned)
    found = attend(states, layout, "sdpa")
    (gradient,) = torch.autograd.grad((found * weights).sum(), states)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(gradient, wanted, rtol=1e-4, atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 150), min_size=1, max_size=80))
def test_layouts_place_each_state_once(lengths):
    layout = sequence_layout(np.array(lengths))
    assert layout.offsets.tolist() == [0, *np.cumsum(lengths).tolist()]
    assert layout.positions.tolist() == [position for length in lengths for position in range(length)]
    assert layout.longest == max(lengths)
    if layout.sources is None:
        assert [block[:2] for block in layout.blocks] == [(len(lengths), lengths[0])]
        return
    assert layout.sources[layout.places].tolist() == list(range(sum(lengths)))
    real = torch.zeros(len(layout.sources), dtype=torch.bool)
    real[layout.places] = True
    begin = 0
    for rows, length, mask in layout.blocks:  # every state sees its own sequence up to itself, in its row
        sees = torch.ones(rows, length, length).tril().bool() if mask is None else mask[:, 0] == 0
        own, there = (part[begin : begin + rows * length].view(rows, length) for part in (layout.sources, real))
        begin += own.numel()
        for row, states, known in zip(sees, own, there, strict=True):
            for at in known.nonzero()[:, 0].tolist():
                state = int(states[at])
                first = state - int(layout.positions[state])
                assert states[row[at]].tolist() == list(range(first, state + 1)) and known[row[at]].all()
    assert begin == len(real)


@pytest.fixture(params=["pinned", "unpinned", "as on a GPU"])
def way(request, monkeypatch):
    """How the output layer computes."""
    monkeypatch.setattr(products, "PINNED", request.param == "pinned")
    if request.param == "as on a GPU":
        in_place = output._summed_in_place
        padded = lambda *given: (in_place if given[3] is None else output._summed_padded)(*given)  # noqa: E731
        monkeypatch.setattr(output, "_summed_in_place", padded)
        monkeypatch.setattr(output, "_compiled_nats", lambda: output._nats_and_gradient)


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_output_layer_equals_cross_entropy(monkeypatch, rows, way):
    monkeypatch.setattr(output, "_PADDED_LOGITS", 1)
    monkeypatch.setattr(output, "_LEAST", 7)
    monkeypatch.setattr(output, "_LOGITS", {"cpu": 1, "cuda": 1})
    states, matrix = values(rows, 12, scale=3), values(40, 12, seed=1)
    targets = torch.from_numpy(np.random.default_rng(0).integers(0, 37, rows))
    expected = functional.cross_entropy(states.double() @ matrix[:37].double().T, targets, reduction="sum")
    wanted = torch.autograd.grad(expected * 2.5, (states, matrix))
    found = output_nats(states, matrix, targets, 37)
    gradients = torch.autograd.grad(found * 2.5, (states, matrix))
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    with torch.no_grad():
        assert output_nats(states, matrix, targets, 37) == found
    for one, other in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    assert (gradients[1][37:] == 0).all()
    scores = output_scores(states, matrix, targets, 37)
    logits = states.double() @ matrix[:37].double().T
    torch.testing.assert_close(
        scores.nats, functional.cross_entropy(logits, targets, reduction="none").float(), rtol=1e-5, atol=1e-5
    )
    assert (scores.best == (logits.argmax(1) == targets)).all()


def test_targets_whose_probability_underflows(way):
    states, matrix = torch.tensor([[1.0, 0.0]], requires_grad=True), torch.tensor([[500.0, 0.0], [0.0, 1.0]])
    found = output_nats(states, matrix, torch.tensor([1]), 2)
    assert found.item() == pytest.approx(500) and output_scores(states, matrix, torch.tensor([1]), 2).nats == 500
    found.backward()
    assert states.grad.tolist() == [[500.0, -1.0]]


def test_a_second_backward_pass_is_refused():
    states, matrix = values(3, 4), values(5, 4, seed=1)
    found = output_nats(states, matrix, torch.tensor([0, 1, 2]), 5)
    found.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="second"):
        found.backward()


def test_flex_computes_no_gradients_on_the_cpu():
    with pytest.raises(ParameterError, match=r"attention is 'flex', .* on the CPU"):
        attend(values(4, 3, 2, 8), sequence_layout(np.array([4])), "flex")


LENGTHS = [[1], [129], [127, 1, 128], [1000], [*range(1, 40)], [300, 5, 700, 90], [512] * 3]


@pytest.mark.parametrize("lengths", LENGTHS, ids=lambda lengths: f"{len(lengths)}x{lengths[0]}")
def test_the_block_mask_is_that_of_all_pairs(lengths):
    """PyTorch's own mask, which compares all pairs: the blocks of keys of each block of queries, and the reverse."""
    layout = sequence_layout(np.array(lengths))
    numbers, count = layout.sequences, len(layout.sequences)
    expected = create_block_mask(
        lambda _row, _head, query, key: (query >= key) & (numbers[query] == numbers[key]),
        None, None, count, count, device="cpu",
    )  # fmt: skip
    found = layout.block_mask
    assert found is layout.block_mask and found.shape == expected.shape
    for side in ("kv", "full_kv", "q", "full_q"):
        counts = getattr(found, f"{side}_num_blocks")
        assert torch.equal(counts, getattr(expected, f"{side}_num_blocks")), side
        rows, wanted = (getattr(mask, f"{side}_indices")[0, 0].tolist() for mask in (found, expected))
        for number, row, other in zip(counts[0, 0].tolist(), rows, wanted, strict=True):
            assert sorted(row[:number]) == sorted(other[:number]), side
    assert torch.equal(layout.to("cpu").block_mask.kv_indices, found.kv_indices)


@pytest.mark.slow
def test_flex_equals_sdpa():
    states, layout = values(300, 3, 2, 16).detach(), sequence_layout(np.array([200, 3, 97]))
    with torch.no_grad():
        torch.testing.assert_close(attend(states, layout, "flex"), attend(states, layout, "sdpa"), rtol=1e-4, atol=1e-5)
