"""Training of GPT-2: losses, decay, the same bytes after an interruption, something learned; the loop has its tests."""

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax
from trainings import assert_close_curves, assert_same, killed_training, weights

from tokenlab.core.errors import InputError
from tokenlab.entropy.packing import encode
from tokenlab.entropy.training import train
from tokenlab.networks.gpt import GptShape, build_gpt
from tokenlab.tokenizers.alphabet import AlphabetOptions, learn_alphabet
from tokenlab.training.options import TrainingOptions

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


def test_weights_decay_in_the_matrices_of_blocks_alone():
    one_step = dataclasses.replace(OPTIONS, steps=1, warmup=0)
    plain, decayed = (weights(trained(dataclasses.replace(one_step, weight_decay=w))[0]) for w in (0.0, 0.5))
    changed = {name for name in plain if not torch.equal(plain[name], decayed[name])}
    assert changed == {name for name in plain if name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight"))}


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


def test_interrupted_it_ends_with_the_same_bytes(tmp_path):
    """With dropout, inside and at an evaluation."""
    checkpoint = tmp_path / "work" / "checkpoint.safetensors"
    undisturbed = trained(OPTIONS, dropout=0.3)
    for step in (7, 10):
        killed_training(lambda: trained(OPTIONS, dropout=0.3, checkpoint=checkpoint), step)
    assert_same(trained(OPTIONS, dropout=0.3, checkpoint=checkpoint), undisturbed)
    assert list(checkpoint.parent.iterdir()) == [checkpoint]


@pytest.mark.parametrize("texts", [{"texts": TEXTS, "held_out": []}, {"texts": TEXTS, "held_out": ["", ""]}])
def test_no_text(texts):
    with pytest.raises(InputError, match="no text to evaluate on"):
        trained(OPTIONS, **texts)


@pytest.mark.parametrize("changes", [{"accumulate": 3}, {"checkpoint_activations": True}])
def test_an_update_in_less_memory_is_the_same(changes):
    """Batches of four rows in parts of two, one and one; activations that are computed again, with dropout."""
    options, dropout = dataclasses.replace(OPTIONS, batch=4), 0.2 if "checkpoint_activations" in changes else 0.0
    found, expected = (trained(one, dropout=dropout)[1] for one in (dataclasses.replace(options, **changes), options))
    assert_close_curves(found, expected)
