"""The loop by a learner of a few numbers: updates in parts, early stopping, the best weights, interruptions."""

import dataclasses
import math
from typing import ClassVar

import numpy as np
import pytest
import torch
from trainings import assert_close_curves, assert_close_weights, assert_same_weights, killed_training, weights

from tokenlab.core.errors import ParameterError
from tokenlab.networks.interface import Loss
from tokenlab.training import loop, processes
from tokenlab.training.loop import Update, best_evaluation, train
from tokenlab.training.options import TrainingOptions

OPTIONS = TrainingOptions(steps=9, batch=5, learning_rate=0.1, warmup=2, evaluate_every=2, gradient_clip=1e9)
EXTRA = 0.3
"""Of a further loss of each row, the squares of the numbers that decay."""


class Numbers(torch.nn.Module):
    """`late` has a gradient in some updates alone; `fixed` is not trained."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.Parameter(torch.eye(2))
        self.late = torch.nn.Parameter(torch.ones(2))
        self.fixed = torch.nn.Parameter(torch.ones(2), requires_grad=False)

    def forward(self, rows, late):
        states = rows @ self.blocks + self.fixed
        return (states * self.late if late else states).square().sum()


@dataclasses.dataclass
class Learner:
    """Rows of two random numbers; a row is a symbol. Held-out losses come from a list, where there is one."""

    options: TrainingOptions
    network: Numbers = dataclasses.field(default_factory=Numbers)
    losses: list[float] | None = None
    unit: ClassVar = "nats"
    per: ClassVar = "row"
    betas: ClassVar = (0.9, 0.95)

    def decays(self, name):
        return name == "blocks"

    def configuration(self):
        return {"numbers": 2}

    def updates(self, skip):
        for step in range(skip, self.options.steps):
            rows = torch.from_numpy(np.random.default_rng(step).normal(size=(self.options.batch, 2)).astype(np.float32))
            slices = processes.own_parts(self.options.accumulate)
            parts = [(rows[own], step % 3 == 2) for own in slices if len(rows[own])]
            yield Update(parts, sum(len(part) for part, _ in parts), self.options.batch)

    def loss(self, network, part, device):
        nats = network(*part)
        return Loss(nats, EXTRA * len(part[0]) * network.blocks.square().sum())

    def held_out(self, device):
        return (self.losses.pop(0) if self.losses else float(self.network.blocks.square().sum())), 1


def test_updates_are_those_of_the_textbook():
    """AdamW as in Loshchilov & Hutter, algorithm 2, in float64; a number without a gradient waits."""
    learner = Learner(OPTIONS)
    curve = train(learner, OPTIONS)
    plain = Numbers().double()
    moments = dict.fromkeys(("blocks", "late"), (0.0, 0.0, 0))
    losses, extras = [], []
    for step, update in enumerate(Learner(OPTIONS).updates(0)):
        plain.zero_grad()
        ((rows, late),) = update.parts
        loss = plain(rows.double(), late) / len(rows)
        extra = EXTRA * plain.blocks.square().sum()
        (loss + extra).backward()
        extras.append(extra.item())
        losses.append(loss.item())
        for name, (first, second, count) in moments.items():
            parameter = getattr(plain, name)
            if parameter.grad is not None:
                first, second, count = (
                    0.9 * first + 0.1 * parameter.grad,
                    0.95 * second + 0.05 * parameter.grad**2,
                    count + 1,
                )
                rate = OPTIONS.learning_rate_at(step)
                with torch.no_grad():
                    parameter *= 1 - rate * OPTIONS.weight_decay * (name == "blocks")
                    scale = (second / (1 - 0.95**count)).sqrt() + 1e-8
                    parameter -= rate * first / (1 - 0.9**count) / scale
                moments[name] = first, second, count
    found = {name: value.double() for name, value in weights(learner.network).items()}
    assert_close_weights(found, weights(plain), rtol=1e-5, atol=1e-6)
    assert [one.step for one in curve] == [2, 4, 6, 8, 9] and [one.size for one in curve] == [10, 20, 30, 40, 45]
    assert curve[0].training == pytest.approx(np.mean(losses[:2]), rel=1e-6)
    assert curve[0].extra == pytest.approx(np.mean(extras[:2]), rel=1e-6)
    assert curve[-1].training == pytest.approx(losses[8], rel=1e-6)


@pytest.mark.parametrize("accumulate", [2, 5, 9])
def test_parts_of_a_batch_add_up(accumulate):
    """Also where there are more parts than rows."""
    options = dataclasses.replace(OPTIONS, accumulate=accumulate)
    whole, parts = Learner(OPTIONS), Learner(options)
    expected, found = train(whole, OPTIONS), train(parts, options)
    assert_close_weights(weights(parts.network), weights(whole.network), rtol=1e-5, atol=1e-6)
    assert_close_curves(found, expected)


@pytest.mark.parametrize("after", range(1, 9))
def test_interrupted_it_ends_with_the_same_bytes(tmp_path, monkeypatch, after):
    """Also where a number had no gradient yet, or fewer than others."""
    undisturbed = Learner(OPTIONS)
    curve = train(undisturbed, OPTIONS, keep_best=True)
    monkeypatch.setattr(loop, "_CHECKPOINT_SHARE", 1e9)  # one a step
    killed_training(lambda: train(Learner(OPTIONS), OPTIONS, tmp_path / "checkpoint", keep_best=True), after)
    resumed = Learner(OPTIONS)
    assert train(resumed, OPTIONS, tmp_path / "checkpoint", keep_best=True) == curve
    assert_same_weights(resumed.network, undisturbed.network)


def test_it_stops_without_improvement_and_keeps_the_best():
    options = dataclasses.replace(OPTIONS, evaluate_every=1)
    last, best = Learner(options, losses=[3.0, 2.0, 2.5, 2.0, 1.0]), Learner(options, losses=[3.0, 2.0, 2.5, 2.0, 1.0])
    for learner, keep_best in ((last, False), (best, True)):
        curve = train(learner, options, keep_best=keep_best, patience=2)
        assert [one.held_out for one in curve] == [3.0, 2.0, 2.5, 2.0] and best_evaluation(curve).step == 2
    for learner, steps in ((best, 2), (last, 4)):
        other = Learner(options)
        run = loop._Run(other, options, torch.device("cpu"))
        for step, update in zip(range(steps), other.updates(0), strict=False):
            run._update(step, update)
        assert_same_weights(learner.network, other.network)


@dataclasses.dataclass(frozen=True)
class Computation:
    """As that of `tokenlab.networks.options`."""

    checkpoint_activations: bool = False


def test_parts_of_a_network_are_asked_to_compute_activations_again():
    learner = Learner(dataclasses.replace(OPTIONS, checkpoint_activations=True))
    learner.network.part = torch.nn.Module()
    learner.network.part.computation = Computation()
    train(learner, learner.options)
    assert learner.network.part.computation == Computation(True)


def test_activations_that_a_network_cannot_compute_again_are_an_error():
    options = dataclasses.replace(OPTIONS, checkpoint_activations=True)
    with pytest.raises(ParameterError, match=r"checkpoint_activations .* Numbers"):
        train(Learner(options), options)


def test_a_loss_that_is_no_number_is_an_error():
    learner = Learner(OPTIONS)
    with torch.no_grad():
        learner.network.late.fill_(math.inf)
    with pytest.raises(ParameterError, match="not a number at step 4"):
        train(learner, OPTIONS)
