"""What tests of trainings share: kills after a checkpoint, processes, and the comparison of two trained networks."""

from collections.abc import Callable

import pytest
import torch

from tokenlab.training import loop, processes
from tokenlab.training.checkpoint import Evaluation


class Killed(Exception):
    """In place of the end of a process."""


def killed_training(train: Callable[[], object], step: int, last_saved: int | None = None) -> None:
    """Run a training that saves a checkpoint after every step up to `last_saved`, and is killed after `step`."""
    save = loop.save_checkpoint

    def save_and_die(*arguments):
        if arguments[-1].step <= (last_saved or step):
            save(*arguments)
        if arguments[-1].step == step:
            raise Killed

    with pytest.MonkeyPatch.context() as patched, pytest.raises(Killed):
        patched.setattr(loop, "_CHECKPOINT_SHARE", 1e9)
        patched.setattr(loop, "save_checkpoint", save_and_die)
        train()


def weights(network):
    """A copy of the parameters by their names."""
    return {name: parameter.detach().clone() for name, parameter in network.named_parameters()}


def assert_same(first, second):
    """Two trainings, each a network and its curve, are the same to the last bit."""
    assert first[1] == second[1]
    assert_same_weights(first[0], second[0])


def assert_same_weights(first, second):
    ours, theirs = weights(first), weights(second)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def assert_close_weights(found, expected, but=(), rtol=1e-3, atol=1e-4):
    """Weights by their names, those alone whose names do not end with one of `but`."""
    for name, tensor in expected.items():
        if not name.endswith(tuple(but)):
            torch.testing.assert_close(found[name], tensor, rtol=rtol, atol=atol, msg=name)


def assert_close_curves(found, expected, rel=1e-5):
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == pytest.approx(theirs, rel=rel)


def in_a_group(train, *arguments):
    """What `train` returns in a process of a group, as plain values: the curve, and the weights of the network."""
    with processes.group("cpu"):
        network, curve = train(*arguments)
    return [Evaluation(*evaluation) for evaluation in curve], weights(network)
