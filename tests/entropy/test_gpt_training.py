"""Training: the textbook's updates, the same bytes after any interruption, and something learned."""

import dataclasses
import math
from collections import Counter
from itertools import islice, pairwise

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax

from tokenlab.core.errors import InputError
from tokenlab.entropy.packing import IGNORED, encode, shuffled_batches
from tokenlab.entropy.training import train
from tokenlab.networks.gpt import GptShape, build_gpt
from tokenlab.tokenizers.alphabet import AlphabetOptions, learn_alphabet
from tokenlab.training import loop, processes
from tokenlab.training.options import TrainingOptions, learning_rate

SHAPE = GptShape(layers=1, width=16, heads=2, context=20)
OPTIONS = TrainingOptions(steps=12, batch=2, learning_rate=5e-3, warmup=3, evaluate_every=5, seed=4)


def sentences(number, seed):
    """Words of three characters in any order: after the first character of a word the next two are certain."""
    random = np.random.default_rng(seed)
    words = ["天地人", "花鸟鱼", "春夏秋", "东南西"]
    return ["".join(random.choice(words, size=random.integers(1, 7))) for _ in range(number)]


TEXTS, HELD_OUT = sentences(60, 0), sentences(10, 1)


def trained(options, level="character", dropout=0.0, checkpoint=None, texts=TEXTS, held_out=HELD_OUT):
    alphabet = learn_alphabet(texts, AlphabetOptions(level))
    shape = dataclasses.replace(SHAPE, dropout=dropout)
    model = build_gpt(shape, alphabet.size, seed=options.seed)
    train_on, evaluate_on = (encode(alphabet, some, shape.context) for some in (texts, held_out))
    return model, train(model, alphabet, train_on, evaluate_on, options, checkpoint)


def weights(model):
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def assert_same(first, second):
    assert first[1] == second[1]
    ours, theirs = weights(first[0]), weights(second[0])
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def plain_loss(model, batch):
    """Nats and tokens of a batch, one sentence after the other."""
    nats, tokens = torch.zeros((), dtype=torch.float64), 0
    for ids, positions, targets in zip(*batch, strict=True):
        begins = [*np.flatnonzero(positions == 0), len(ids)]
        for begin, end in pairwise(begins):
            logs = log_softmax(model(input_ids=torch.from_numpy(ids[begin:end])[None]).logits[0].double(), dim=-1)
            for position, target in enumerate(targets[begin:end]):
                if target != IGNORED:
                    nats, tokens = nats - logs[position, target], tokens + 1
    return nats, tokens


def test_updates_are_those_of_the_textbook():
    """AdamW as in Loshchilov & Hutter, algorithm 2, in float64, with gradients of sentences computed alone."""
    options = dataclasses.replace(OPTIONS, steps=4, warmup=1, weight_decay=0.3, gradient_clip=0.5)
    model, curve = trained(options)
    alphabet = learn_alphabet(TEXTS)
    plain = build_gpt(SHAPE, alphabet.size, seed=options.seed)
    batches = shuffled_batches(encode(alphabet, TEXTS, SHAPE.context), SHAPE.context, options.batch, options.seed)
    first, second = (dict.fromkeys(weights(plain), 0.0) for _ in range(2))
    all_nats, all_tokens = 0.0, 0
    for step, batch in enumerate(islice(batches, options.steps)):
        plain.zero_grad()
        nats, tokens = plain_loss(plain, batch)
        (nats / tokens).backward()
        all_nats, all_tokens = all_nats + nats.item(), all_tokens + tokens
        gradients = {name: parameter.grad.double() for name, parameter in plain.named_parameters()}
        norm = math.sqrt(sum(float((gradient**2).sum()) for gradient in gradients.values()))
        assert norm > options.gradient_clip  # or nothing would be clipped
        rate = learning_rate(options, step)
        for name, parameter in plain.named_parameters():
            gradient = gradients[name] * options.gradient_clip / norm
            first[name] = 0.9 * first[name] + 0.1 * gradient
            second[name] = 0.95 * second[name] + 0.05 * gradient**2
            mean = first[name] / (1 - 0.9 ** (step + 1))
            scale = (second[name] / (1 - 0.95 ** (step + 1))).sqrt() + 1e-8
            decays = name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight"))
            with torch.no_grad():
                decayed = parameter.double() * (1 - rate * 0.3 * decays)
                parameter.copy_(decayed - rate * mean / scale)
    for name, parameter in weights(model).items():
        torch.testing.assert_close(parameter, weights(plain)[name], rtol=1e-3, atol=2e-5, msg=name)
    assert curve[-1].training == pytest.approx(all_nats / all_tokens, rel=1e-5)


@pytest.mark.parametrize("level", ["character", "byte"])
def test_losses_are_nats_per_character_of_sentences_alone(level):
    model, curve = trained(OPTIONS, level)
    assert [evaluation.step for evaluation in curve] == [5, 10, 12]
    alphabet = learn_alphabet(TEXTS, AlphabetOptions(level))
    nats = 0.0
    for text in HELD_OUT:
        ids = alphabet.tokenizer.encode(text).ids
        for begin in range(1, len(ids), SHAPE.context - 1):
            piece = torch.tensor([0, *ids[begin : begin + SHAPE.context - 1]])
            with torch.no_grad():
                logs = log_softmax(model(input_ids=piece[None]).logits[0], dim=-1)
            nats -= logs[:-1].gather(1, piece[1:, None]).sum().item()
    assert curve[-1].held_out == pytest.approx(nats / sum(map(len, HELD_OUT)), rel=1e-5)


def test_learns_what_words_are_made_of():
    options = TrainingOptions(steps=200, batch=4, learning_rate=5e-3, warmup=10)
    _, curve = trained(options)
    counts = Counter("".join(TEXTS))
    unigram = -sum(count / counts.total() * math.log(count / counts.total()) for count in counts.values())
    assert unigram > 2.4
    # A word of three characters costs log 4, a character a third of it.
    assert curve[-1].training < 0.6 and curve[-1].held_out == pytest.approx(math.log(4) / 3, abs=0.05)


class Killed(Exception):
    pass


@pytest.mark.parametrize("after", [7, *(pytest.param(step, marks=pytest.mark.nightly) for step in (1, 4, 5, 11, 12))])
def test_interrupted_it_ends_with_the_same_bytes(tmp_path, monkeypatch, after):
    """With dropout, inside and at an evaluation; twice in a row."""
    checkpoint = tmp_path / "work" / "checkpoint.safetensors"
    undisturbed = trained(OPTIONS, dropout=0.3)

    def save_and_die(*arguments):
        save(*arguments)
        if arguments[5].step in (after, 10):
            raise Killed

    save = loop.save_checkpoint
    monkeypatch.setattr(loop, "_CHECKPOINT_SHARE", 1e9)  # one a step
    monkeypatch.setattr(loop, "save_checkpoint", save_and_die)
    deaths = 0
    while deaths < 5:
        try:
            resumed = trained(OPTIONS, dropout=0.3, checkpoint=checkpoint)
            break
        except Killed:
            deaths += 1
    assert deaths == 2
    assert_same(resumed, undisturbed)
    assert list(checkpoint.parent.iterdir()) == [checkpoint]


def test_another_seed_gives_another_model():
    first, same, other = (trained(dataclasses.replace(OPTIONS, seed=seed), dropout=0.1) for seed in (1, 1, 2))
    assert_same(first, same)
    assert first[1] != other[1]
    assert not torch.equal(first[0].transformer.wte.weight, other[0].transformer.wte.weight)


def test_nothing_outside_is_changed():
    torch.manual_seed(11)
    expected, threads = torch.rand(3), torch.get_num_threads()
    torch.manual_seed(11)
    trained(dataclasses.replace(OPTIONS, threads=threads + 1, steps=4))
    assert torch.equal(torch.rand(3), expected) and torch.get_num_threads() == threads


def test_bfloat16_comes_near_to_float32():
    _, exact = trained(dataclasses.replace(OPTIONS, steps=40))
    model, rough = trained(dataclasses.replace(OPTIONS, steps=40, dtype="bfloat16"))
    assert rough != exact and rough[-1].held_out == pytest.approx(exact[-1].held_out, rel=0.05)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("texts", [{"texts": TEXTS, "held_out": []}, {"texts": TEXTS, "held_out": ["", ""]}])
def test_no_text(texts):
    with pytest.raises(InputError, match="no text to evaluate on"):
        trained(OPTIONS, **texts)


@pytest.mark.parametrize("changes", [{"accumulate": 3}, {"checkpoint_activations": True}])
def test_an_update_in_less_memory_is_the_same(changes):
    """Batches of four rows in parts of two, one and one; activations that are computed again, with dropout."""
    options, dropout = dataclasses.replace(OPTIONS, batch=4), 0.2 if "checkpoint_activations" in changes else 0.0
    (model, curve), (expected, whole) = (
        trained(one, dropout=dropout) for one in (dataclasses.replace(options, **changes), options)
    )
    for ours, theirs in zip(curve, whole, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)
    for name, parameter in weights(model).items():
        if not name.endswith("c_attn.bias"):  # The gradient of a key's bias is 0 but for rounding.
            torch.testing.assert_close(parameter, weights(expected)[name], rtol=1e-3, atol=2e-5, msg=name)


def in_a_group(options):
    with processes.group("cpu"):
        model, curve = trained(options)
    return [tuple(evaluation) for evaluation in curve], weights(model)


@pytest.mark.slow
def test_two_processes_train_as_one():
    """Over Gloo; each computes its rows in two parts."""
    options = dataclasses.replace(OPTIONS, batch=5)
    divided = dataclasses.replace(options, processes=2, accumulate=2)
    curve, found = processes.launch(in_a_group, divided, processes=2)
    model, expected = trained(options)
    for ours, theirs in zip(curve, expected, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)
    for name, parameter in weights(model).items():
        if not name.endswith("c_attn.bias"):
            torch.testing.assert_close(found[name], parameter, rtol=1e-3, atol=2e-5, msg=name)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_gives_the_same_bytes_twice():
    options = dataclasses.replace(OPTIONS, device="cuda")
    assert_same(trained(options, dropout=0.1), trained(options, dropout=0.1))
