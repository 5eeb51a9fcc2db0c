"""Training of translation models: textbook losses, the same bytes after an interruption, several processes."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax
from trainings import assert_close_curves, assert_close_weights, assert_same, in_a_group, killed_training, weights

from tokenlab.core.errors import InputError
from tokenlab.training import processes
from tokenlab.translation.model import build_model
from tokenlab.translation.options import TranslationShape, TranslationTraining
from tokenlab.translation.pairs import Pairs, sentences, shuffled_batches
from tokenlab.translation.training import train

END, PADDING = 2, 3
SHAPE = TranslationShape(layers=1, width=16, heads=2, feed_forward=32, positions=16)
BUT = ["k_proj.bias"]
"""The gradient of a key's bias is 0 but for rounding, of which AdamW makes whole steps."""
OPTIONS = TranslationTraining(steps=8, batch=120, learning_rate=5e-3, warmup=2, evaluate_every=3, seed=4)


def shifted_pairs(number, seed):
    """Targets are the sources with every id 10 higher."""
    random = np.random.default_rng(seed)
    source = [random.integers(4, 14, random.integers(2, 7)) for _ in range(number)]
    return Pairs(sentences(source, END), sentences([ids + 10 for ids in source], END), PADDING)


TRAINING, HELD_OUT = shifted_pairs(400, 0), shifted_pairs(20, 1)


def trained_model(options, dropout=0.0, checkpoint=None):
    model = build_model(dataclasses.replace(SHAPE, dropout=dropout), 24, PADDING, END, options.seed)
    return model, train(model, TRAINING, HELD_OUT, options, checkpoint)


def test_learning_rates_by_hand():
    options = dataclasses.replace(OPTIONS, steps=9, warmup=3, learning_rate=1.0)
    inverse = [options.learning_rate_at(step) for step in range(9)]
    assert inverse[:4] == [0.25, 0.5, 0.75, 1.0] and inverse[8] == pytest.approx(math.sqrt(4 / 9))
    falling = dataclasses.replace(options, schedule="cosine")
    cosine = [falling.learning_rate_at(step) for step in range(9)]
    assert cosine[:4] == inverse[:4] and cosine[6] == pytest.approx(0.5) and 0 < cosine[8] < 0.1


def test_losses_are_nats_per_token_of_pairs_alone():
    """An update of no size: the training loss is that of the first batch, smoothed, without dropout."""
    options = dataclasses.replace(OPTIONS, steps=1, warmup=0, learning_rate=1e-12, weight_decay=0, label_smoothing=0.3)
    model, curve = trained_model(options)
    model.eval()

    def nats(source, target, smoothing):
        decoder = torch.tensor([[PADDING, *target[:-1]]])
        with torch.no_grad():
            logs = log_softmax(
                model(input_ids=torch.tensor([source]), decoder_input_ids=decoder).logits[0].double(), -1
            )
        right = logs[range(len(target)), target]
        return -float(((1 - smoothing) * right + smoothing * logs.mean(-1)).sum())

    held_out = [(HELD_OUT.source.sentence(n).tolist(), HELD_OUT.target.sentence(n).tolist()) for n in range(20)]
    expected = sum(nats(*pair, 0.0) for pair in held_out) / sum(len(target) for _, target in held_out)
    assert curve[0].held_out == pytest.approx(expected, rel=1e-5)
    batch = next(shuffled_batches(TRAINING, options.batch, options.seed))
    pairs = [
        ([id for id in source if id != PADDING], [id for id in target if id >= 0])
        for source, target in zip(batch.source.tolist(), batch.target.tolist(), strict=True)
    ]
    assert curve[0].training == pytest.approx(sum(nats(*pair, 0.3) for pair in pairs) / batch.tokens, rel=1e-5)


@pytest.mark.parametrize("after", [6, *(pytest.param(step, marks=pytest.mark.nightly) for step in (2, 8))])
def test_interrupted_it_ends_with_the_same_bytes(tmp_path, after):
    """With dropout; between evaluations, at one, and at the end."""
    undisturbed = trained_model(OPTIONS, dropout=0.3)
    checkpoint = tmp_path / "work" / "checkpoint.safetensors"
    killed_training(lambda: trained_model(OPTIONS, dropout=0.3, checkpoint=checkpoint), after)
    assert_same(trained_model(OPTIONS, dropout=0.3, checkpoint=checkpoint), undisturbed)


def test_nothing_to_train_on_is_an_error():
    nothing = Pairs(sentences([], END), sentences([], END), PADDING)
    with pytest.raises(InputError, match="no pair of sentences"):
        train(build_model(SHAPE, 24, PADDING, END, 0), TRAINING, nothing, OPTIONS)


def test_a_sentence_longer_than_the_positions_is_an_error():
    long = Pairs(HELD_OUT.source, sentences([[5] * 16] * len(HELD_OUT), END), PADDING)
    with pytest.raises(InputError, match="has 17 tokens, but positions is 16"):
        train(build_model(SHAPE, 24, PADDING, END, 0), TRAINING, long, OPTIONS)


@pytest.mark.parametrize("changes", [{"accumulate": 3}, {"checkpoint_activations": True}])
def test_an_update_in_less_memory_is_the_same(changes):
    dropout = 0.2 if "checkpoint_activations" in changes else 0.0
    model, curve = trained_model(dataclasses.replace(OPTIONS, **changes), dropout)
    expected, whole = trained_model(OPTIONS, dropout)
    assert_close_curves(curve, whole)
    assert_close_weights(weights(model), weights(expected), BUT)


@pytest.mark.slow
def test_two_processes_train_as_one(tmp_path):
    """Over Gloo; batches of an odd number of pairs, and one pair alone, are divided, too."""
    options = dataclasses.replace(OPTIONS, steps=6, batch=30)
    curve, found = processes.launch(
        in_a_group,
        trained_model,
        dataclasses.replace(options, processes=2),
        0.0,
        tmp_path / "checkpoint.safetensors",
        processes=2,
    )
    model, expected = trained_model(options)
    assert_close_curves(curve, expected)
    assert_close_weights(found, weights(model), BUT)
    assert (tmp_path / "checkpoint.safetensors").exists()
