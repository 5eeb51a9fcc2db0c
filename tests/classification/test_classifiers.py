"""Classifiers learn known answers and see no padding."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from trainings import assert_close_curves

from tokenlab.classification.linear import linear_control
from tokenlab.classification.networks import build_classifier
from tokenlab.classification.options import ClassifierShape, ClassifierTraining
from tokenlab.classification.training import predict, train_classifier
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.training.checkpoint import trained
from tokenlab.translation.pairs import Pairs, Sentences, sentences

END, PADDING = 10, 11
KINDS = ["transformer", "bilstm"]
SHAPE = ClassifierShape(layers=1, width=16, heads=2, feed_forward=16, positions=32, dropout=0.1)
OPTIONS = ClassifierTraining(steps=60, batch=400, learning_rate=1e-2, final_learning_rate=1e-2, evaluate_every=20)


def pairs(texts, labels):
    return labelled(Pairs(sentences(texts, END), Sentences(*[np.empty(0, np.int32)] * 2), PADDING), labels)


def labelled(some, labels):
    """The texts of some pairs with other labels."""
    return Pairs(some.source, Sentences(np.array(labels, np.int32), np.arange(len(labels) + 1)), PADDING)


def first_of_two(number, seed):
    """Texts with a 1 and a 2 among other tokens; the class says which comes first, which no bag of tokens shows."""
    random = np.random.default_rng(seed)
    texts, labels = [], random.integers(2, size=number)
    for label in labels:
        text = random.integers(3, 10, random.integers(4, 9))
        text[np.sort(random.choice(len(text), 2, replace=False))] = [2, 1] if label else [1, 2]
        texts.append(text)
    return pairs(texts, labels)


TRAINING, VALIDATION, TEST = first_of_two(600, 0), first_of_two(60, 1), first_of_two(200, 2)


def shape(kind, **changes):
    return dataclasses.replace(SHAPE, kind=kind, **changes)


def fit(kind, options=OPTIONS, **changes):
    model = build_classifier(shape(kind, **changes), PADDING + 1, 2, options.seed)
    return model, train_classifier(model, TRAINING, VALIDATION, options)


def share_right(predicted):
    return float((predicted == TEST.target.ids).mean())


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_tokens_is_learned(kind):
    model, curve = fit(kind, dataclasses.replace(OPTIONS, steps=200))
    assert share_right(predict(model, TEST, OPTIONS)) > 0.95
    assert min(evaluation.held_out for evaluation in curve) < 0.3 < math.log(2)


@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_is_near(kind):
    options = dataclasses.replace(OPTIONS, steps=5, evaluate_every=5)
    ways = [dataclasses.replace(options, dtype=dtype) for dtype in ("float32", "bfloat16")]
    (model, (exact,)), (_, (near,)) = (fit(kind, options) for options in ways)
    assert exact.held_out != near.held_out == pytest.approx(exact.held_out, abs=0.01)
    assert (predict(model, TEST, ways[0]) == predict(model, TEST, ways[1])).mean() > 0.95


def test_a_bag_of_tokens_cannot_learn_it_but_learns_which_tokens_occur():
    assert share_right(linear_control(TRAINING, VALIDATION, TEST, 2)) < 0.65
    parts = [labelled(part, has_a_three(part)) for part in (TRAINING, VALIDATION, TEST)]
    before = parts[0].source.ids.copy()
    assert (linear_control(*parts, 2) == parts[2].target.ids).all()
    assert np.array_equal(parts[0].source.ids, before)


def has_a_three(part):
    return [3 in part.source.sentence(n) for n in range(len(part))]


@pytest.mark.parametrize("kind", KINDS)
def test_padding_and_other_texts_change_nothing(kind):
    model = build_classifier(shape(kind), PADDING + 1, 3, seed=1).eval()
    with torch.no_grad():
        alone = [model(torch.tensor([row])) for row in ([1, 2, END], [5, END], [3, 1, 4, 1, 5, END])]
        rows = [[1, 2, END, 11, 11, 11, 11], [5, END, 11, 11, 11, 11, 11], [3, 1, 4, 1, 5, END, 11]]
        torch.testing.assert_close(model(torch.tensor(rows)), torch.cat(alone), rtol=1e-4, atol=1e-5)


def test_bilstm_by_hand():
    """One layer: PyTorch's own cells in both directions, a linear layer, the maximum, a linear layer."""
    model = build_classifier(shape("bilstm", width=4, heads=1), PADDING + 1, 3, seed=0).eval()
    encoder, ids = model.encoder, [1, 7, 2, END]
    states = {}
    for direction, order in ((encoder.forwards, range(4)), (encoder.backwards, reversed(range(4)))):
        cell = torch.nn.LSTMCell(4, 4)
        for name, parameter in cell.named_parameters():
            parameter.data = getattr(direction[0], f"{name}_l0").data
        h = c = torch.zeros(1, 4)
        for place in order:
            h, c = cell(encoder.embedding(torch.tensor([ids[place]])), (h, c))
            states.setdefault(place, []).append(h)
    both = torch.cat([torch.cat(states[n], 1) for n in range(4)])
    expected = model.output(encoder.hidden(both).max(0).values)
    torch.testing.assert_close(model(torch.tensor([ids]))[0], expected)


def test_the_transformer_has_the_size_of_the_paper():
    """Three layers, four heads, 256 wide, by hand: attention 4 (w^2 + w), feed-forward 2 w f + w + f, two norms 4 w."""
    with torch.device("meta"):
        model = build_classifier(ClassifierShape(), 1000, 5, seed=0)
    w, f = 256, 1024
    layer = 4 * (w * w + w) + 2 * w * f + w + f + 4 * w
    assert sum(parameter.numel() for parameter in trained(model).values()) == 1000 * w + 3 * layer + 5 * (w + 1)


@pytest.mark.parametrize("kind", KINDS)
def test_an_update_in_parts_is_the_same(kind):
    options = dataclasses.replace(OPTIONS, steps=3, evaluate_every=1)
    whole = fit(kind, options, dropout=0.0)[1]
    assert_close_curves(fit(kind, dataclasses.replace(options, accumulate=3), dropout=0.0)[1], whole, rel=1e-4)


NOTHING = pairs([], [])
LONG = pairs([[1] * 40], [0])


@pytest.mark.parametrize(
    ("training", "validation", "message"),
    [
        (NOTHING, VALIDATION, "no text to train on"),
        (TRAINING, NOTHING, "no text to evaluate on"),
        (LONG, VALIDATION, "has 41 tokens, but positions is 32"),
    ],
)
def test_bad_data_is_one_line(training, validation, message):
    with pytest.raises(InputError, match=message):
        train_classifier(build_classifier(SHAPE, 12, 2, 0), training, validation, OPTIONS)


def test_the_control_needs_texts_of_every_class():
    with pytest.raises(InputError, match="no validation text"):
        linear_control(TRAINING, NOTHING, TEST, 2)
    with pytest.raises(InputError, match="no training text is of class 2"):
        linear_control(TRAINING, VALIDATION, TEST, 3)


@pytest.mark.parametrize("changes", [{"heads": 3}, {"dropout": 1.0}, {"kind": "cnn"}, {"layers": 0}, {"positions": 0}])
def test_impossible_shapes(changes):
    with pytest.raises(ParameterError, match=next(iter(changes))):
        dataclasses.replace(SHAPE, **changes)
