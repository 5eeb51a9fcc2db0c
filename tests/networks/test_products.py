"""Products through OpenBLAS against PyTorch's own autograd: layers, attention, and whole models of `transformers`."""

import json

import pytest
import torch
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel, MarianConfig, MarianMTModel

from tokenlab.networks import products
from tokenlab.networks.products import attention, linear, use_openblas

CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(autouse=True)
def pinned(monkeypatch):
    monkeypatch.setattr(products, "PINNED", True)


def values(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape))).requires_grad_()


def outputs_and_gradients(function, *inputs):
    made = function(*inputs)
    weights = values(*made.shape, seed=9).detach()
    return [made, *torch.autograd.grad((made * weights).sum(), inputs)]


@pytest.mark.parametrize("shape", [(1, 5), (40, 5), (3, 7, 5), (0, 5)])
@pytest.mark.parametrize("transposed", [False, True])  # Conv1D keeps its weight so
def test_linear_layers(shape, transposed):
    states, weight, bias = values(*shape), values(5, 9) if transposed else values(9, 5), values(9)

    def by(function):
        return lambda states, weight, bias: function(states, weight.t() if transposed else weight, bias)

    found = outputs_and_gradients(by(linear), states, weight, bias)
    expected = outputs_and_gradients(by(functional.linear), states, weight, bias)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)
        assert one.stride() == other.stride() or not one.numel()
    with torch.no_grad():
        assert torch.equal(linear(states, weight.t() if transposed else weight, bias), found[0])


def test_gradients_that_are_expanded_and_layers_whose_weight_is_fixed():
    states, weight = values(6, 5), values(9, 5)
    linear(states, weight.detach()).sum().backward()
    torch.testing.assert_close(states.grad, weight.sum(0).expand(6, 5).detach(), **CLOSE)
    linear(states.detach(), weight).sum().backward()
    torch.testing.assert_close(weight.grad, states.sum(0).expand(9, 5).detach(), **CLOSE)


@pytest.mark.parametrize("length, keys", [(1, 1), (7, 7), (128, 128), (129, 129), (300, 300), (5, 11)])
@pytest.mark.parametrize("way", ["all", "causal", "seen", "added"])
def test_attention(length, keys, way):
    parts = [values(2, 3, size, 8, seed=n) for n, size in enumerate((length, keys, keys))]
    seen = torch.rand(2, 1, length, keys, generator=torch.Generator().manual_seed(0)) < 0.7
    seen[..., 0] = True
    mask = {"seen": seen, "added": torch.where(seen, 0.5, -torch.inf)}.get(way)
    if way == "causal" and length != keys:
        return
    causal = way == "causal"

    def plain(queries, keys, values):
        return functional.scaled_dot_product_attention(queries, keys, values, mask, is_causal=causal, scale=0.3)

    found = outputs_and_gradients(lambda *parts: attention(*parts, mask, causal, 0.3), *parts)
    for one, other in zip(found, outputs_and_gradients(plain, *parts), strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


def test_what_goes_through_openblas(monkeypatch):
    states = torch.zeros(2, 2)
    assert products.on_openblas(states)
    assert not products.on_openblas(states, states.double()) and not products.on_openblas(states.to("meta"))
    with torch.autocast("cpu", torch.bfloat16):
        assert not products.on_openblas(states)
        assert linear(states, states).dtype == torch.bfloat16
    monkeypatch.setattr(products, "PINNED", False)
    assert not products.on_openblas(states)


def gpt():
    config = GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=2, n_head=2, attn_pdrop=0.0)
    ids = torch.randint(50, (3, 32), generator=torch.Generator().manual_seed(1))
    positions = torch.arange(32).repeat(3, 1) % 11  # packed: several sequences in a row
    return GPT2LMHeadModel(config).eval(), {"input_ids": ids, "position_ids": positions, "use_cache": False}


def marian():
    sizes = dict.fromkeys(("encoder_layers", "decoder_layers"), 2)
    heads = dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 2)
    inner = dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 24)
    config = MarianConfig(vocab_size=50, d_model=16, pad_token_id=1, eos_token_id=2, decoder_start_token_id=1,
                          max_position_embeddings=32, **sizes, **heads, **inner)  # fmt: skip
    ids = torch.randint(3, 50, (3, 12), generator=torch.Generator().manual_seed(1))
    ids[0, 7:] = 1
    given = {"input_ids": ids, "attention_mask": ids.ne(1).long(), "decoder_input_ids": ids.flip(0)[:, :9]}
    return MarianMTModel(config), {**given, "use_cache": False}


@pytest.mark.parametrize("build", [gpt, marian])
def test_models_of_transformers_are_the_same(build, monkeypatch):
    torch.manual_seed(0)
    model, given = build()
    names, document = [*model.state_dict()], model.config.to_json_string()
    found = []
    for ours in (False, True):
        if ours:
            use_openblas(model)
            # PyTorch's own products would be noticed.
            for name in ("linear", "scaled_dot_product_attention"):
                monkeypatch.setattr(functional, name, None)
        model.zero_grad()
        logits = model.eval()(**given).logits
        (logits * values(*logits.shape).detach()).sum().backward()
        found.append([logits, *(weight.grad.clone() for weight in model.parameters() if weight.requires_grad)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
    assert [*model.state_dict()] == names and json.loads(model.config.to_json_string()) == json.loads(document)


def test_dropout_of_attention_is_left_to_pytorch():
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=1, n_head=2, attn_pdrop=0.5)
    model = GPT2LMHeadModel(config).train()
    use_openblas(model)
    ids = torch.arange(10)[None]
    assert not torch.equal(model(input_ids=ids).logits, model(input_ids=ids).logits)
