"""Training of language models: bits per byte by hand, the same bytes after an interruption, several processes."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from stored_passages import documents, store
from torch.nn.functional import log_softmax
from trainings import assert_close_curves, assert_close_weights, assert_same, in_a_group, killed_training, weights

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.language.coding import ByteCoder, PatchCoder
from tokenlab.language.options import LanguageTraining
from tokenlab.language.passages import shuffled_batches
from tokenlab.language.stored import LanguageModel
from tokenlab.language.training import train
from tokenlab.networks.options import PatchShape, StackShape, TokenShape
from tokenlab.networks.stored import build_network
from tokenlab.tokenizers.hierarchical import WITHOUT_MERGES
from tokenlab.training import loop, processes

CONTEXT = 32
STACK = StackShape(layers=1, width=16, heads=2, feed_forward=24)
BYTES = TokenShape(256, STACK)
PATCHES = PatchShape(257, True, STACK, StackShape(layers=1, width=8, heads=1, feed_forward=16))
OPTIONS = LanguageTraining(
    steps=8, batch=6, context=CONTEXT, learning_rate=5e-3, warmup=2, evaluate_every=3, evaluate_bytes=600, seed=4
)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")

    def opened(patcher):
        return tuple(
            store(folder / f"{name}-{patcher}", documents(*size), CONTEXT, patcher)
            for name, size in (("training", (80, 0)), ("held_out", (15, 1)))
        )

    return {patcher: opened(patcher) for patcher in (None, "words")}


def run(stores, options=OPTIONS, shape=BYTES, checkpoint=None, seed=0):
    """A trained network and its curve."""
    network, coder, patcher = build_network(shape, seed), ByteCoder(), None
    if isinstance(shape, PatchShape):
        coder, patcher = PatchCoder(None, WITHOUT_MERGES), "words"
    return network, train(LanguageModel(network, coder, CONTEXT), *stores[patcher], options, checkpoint)


def test_losses_are_bits_per_byte_of_passages_alone(stores):
    """An update of no size: the training loss is that of the first batch; each passage by itself, in float64."""
    options = dataclasses.replace(OPTIONS, steps=1, warmup=0, learning_rate=1e-12, weight_decay=0, evaluate_bytes=None)
    network, curve = run(stores, options)

    def nats(data):
        batch = network.collate([[ByteCoder().code([data])[0]]])
        logs = log_softmax(network.logits(batch).double(), -1)
        return -float(logs[range(len(data)), list(data)].sum())

    batch = next(shuffled_batches(stores[None][0], CONTEXT, options.batch, options.seed))
    first = [passage.data for row in batch for passage in row]
    held_out = [data for block in stores[None][1].blocks() for data in block.data]
    for found, texts in ((curve[0].training, first), (curve[0].held_out, held_out)):
        assert found == pytest.approx(sum(map(nats, texts)) / math.log(2) / sum(map(len, texts)), rel=1e-5)
    assert curve[0].size == sum(map(len, first)) and curve[0].extra == 0


def entropy_of_bytes(passages):
    """Bits per byte of the best model that looks at nothing."""
    text = b"".join(data for block in passages.blocks() for data in block.data)
    shares = np.bincount(np.frombuffer(text, np.uint8)) / len(text)
    return -sum(share * math.log2(share) for share in shares if share)


def test_text_with_an_order_is_learned(stores):
    options = dataclasses.replace(OPTIONS, steps=60, batch=12, learning_rate=3e-2, evaluate_every=60)
    for shape in (BYTES, PATCHES):
        _, curve = run(stores, options, shape)
        assert curve[-1].held_out < 0.8 * entropy_of_bytes(stores[None][1])


def test_interrupted_it_ends_with_the_same_bytes(tmp_path, stores):
    """Killed two steps after a checkpoint; tests/training kills after every step."""
    undisturbed = run(stores, shape=PATCHES)
    checkpoint = tmp_path / "work" / "checkpoint.safetensors"
    killed_training(lambda: run(stores, shape=PATCHES, checkpoint=checkpoint), 4, last_saved=2)
    assert_same(run(stores, shape=PATCHES, checkpoint=checkpoint), undisturbed)


def test_batches_prepared_ahead_are_the_same():
    assert list(loop._ahead(iter(range(5)))) == [0, 1, 2, 3, 4] and list(loop._ahead(iter([]))) == []
    with pytest.raises(ZeroDivisionError):
        list(loop._ahead(1 // number for number in (1, 0)))


def test_a_checkpoint_of_another_configuration_is_an_error(tmp_path, stores):
    checkpoint = tmp_path / "checkpoint.safetensors"
    run(stores, checkpoint=checkpoint)
    others = {
        r"learning_rate is 0\.005 there, 0\.004 here": {"options": dataclasses.replace(OPTIONS, learning_rate=0.004)},
        r"steps is 8 there, 9 here": {"options": dataclasses.replace(OPTIONS, steps=9)},
        "first weights is ": {"seed": 1},
        "shape is ": {"shape": dataclasses.replace(BYTES, stack=dataclasses.replace(STACK, layers=2))},
        "network is TokenShape there, PatchShape here": {"shape": PATCHES},
        "training passages is ": {"stores": {None: (stores[None][1], stores[None][1])}},
        "held-out passages is ": {"stores": {None: (stores[None][0], stores[None][0])}},
    }
    for message, changes in others.items():
        with pytest.raises(InputError, match=f"of another configuration .*{message}"):
            run(**{"stores": stores, "checkpoint": checkpoint, **changes})
    run(stores, checkpoint=checkpoint)


def test_a_damaged_checkpoint_is_an_error(tmp_path, stores):
    checkpoint = tmp_path / "checkpoint.safetensors"
    run(stores, checkpoint=checkpoint)
    for content in (b"damaged", checkpoint.read_bytes()[:-100]):
        checkpoint.write_bytes(content)
        with pytest.raises(InputError, match=r"no checkpoint of this training"):
            run(stores, checkpoint=checkpoint)


@pytest.mark.parametrize("shape", [BYTES, PATCHES])
def test_a_batch_in_parts_is_the_same(stores, shape):
    network, curve = run(stores, dataclasses.replace(OPTIONS, accumulate=4), shape)
    expected, whole = run(stores, OPTIONS, shape)
    assert_close_curves(curve, whole, rel=1e-4)
    assert_close_weights(weights(network), weights(expected))


def test_impossible_trainings_are_errors(stores):
    with pytest.raises(ParameterError, match="processes is 2, but 1"):
        run(stores, dataclasses.replace(OPTIONS, processes=2))
    with pytest.raises(ParameterError, match=r"context is 16, .* 32"):
        run(stores, dataclasses.replace(OPTIONS, context=16))
    if not torch.cuda.is_available():
        with pytest.raises(ParameterError, match="PyTorch sees 0 GPUs"):
            run(stores, dataclasses.replace(OPTIONS, device="cuda"))


@pytest.mark.nightly  # Translation models do the same.
def test_two_processes_train_as_one(tmp_path, stores):
    """Over Gloo; batches of an odd number of rows; the second call continues from the first one's checkpoint."""
    options = dataclasses.replace(OPTIONS, batch=5, processes=2)
    checkpoint = tmp_path / "checkpoint.safetensors"
    curve, found = processes.launch(in_a_group, run, stores, options, PATCHES, checkpoint, processes=2)
    network, expected = run(stores, dataclasses.replace(options, processes=1), PATCHES)
    assert_close_curves(curve, expected, rel=1e-4)
    assert_close_weights(found, weights(network))
    again, same = processes.launch(in_a_group, run, stores, options, PATCHES, checkpoint, processes=2)
    assert again == curve and all(torch.equal(same[name], tensor) for name, tensor in found.items())
