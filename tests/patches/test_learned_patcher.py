"""Learned patches: the model's boundaries, piece by piece."""

from functools import cache

import numpy as np
import pytest
import torch
import unicode_text
from hypothesis import given, settings

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.language.coding import ByteCoder
from tokenlab.networks.chunk_network import ChunkNetwork
from tokenlab.networks.options import SIZES, ChunkShape, TokenShape
from tokenlab.networks.stored import build_network
from tokenlab.patches.learned import LearnedPatcher

CONTEXT = 16
LONG = "It is a truth universally acknowledged 我们在北京大学学习汉语 👩‍👩‍👧‍👦👍🏽!".encode()


@cache
def patcher():
    network = build_network(ChunkShape(*SIZES["tiny"]), 1)
    assert isinstance(network, ChunkNetwork)
    with torch.no_grad():  # Keys that differ from queries, so that some bytes begin chunks and others do not.
        network.keys.add_(torch.randn(network.keys.shape, generator=torch.Generator().manual_seed(0)) / 6)
    return LearnedPatcher(network, CONTEXT)


def boundaries(piece):
    """Of a piece, by the model."""
    with torch.no_grad():
        batch = patcher().network.collate([ByteCoder().code([piece])])
        return patcher().network.boundaries(batch).nonzero()[:, 0].tolist()


def pieces(text):
    """At most CONTEXT bytes each, as long as whole characters allow."""
    found = [b""]
    for character in text.decode():
        if len(found[-1]) + len(character.encode()) > CONTEXT:
            found.append(b"")
        found[-1] += character.encode()
    return found if text else []


def starts_of(found):
    """Of pieces one after the other."""
    starts, at = [], 0
    for piece in found:
        starts += [at + start for start in boundaries(piece)]
        at += len(piece)
    return starts


def test_patches_are_the_models_chunks_of_each_piece():
    (starts,) = patcher().starts([LONG])
    assert starts.dtype == np.int64
    assert starts.tolist() == starts_of(pieces(LONG))
    assert len(pieces(LONG)) + 3 < len(starts) < len(LONG)


@settings(max_examples=15)
@given(text=unicode_text.text)
def test_all_of_unicode(text):
    for data in (text.encode(), LONG + text.encode()):
        (starts,) = patcher().starts([data])
        assert starts.tolist()[:1] == [0][: len(data)]
        assert starts.tolist() == starts_of(pieces(data))


def test_bytes_that_are_no_characters_are_cut_within_three_of_the_context():
    data = b"\x80" * 20
    assert patcher().starts([data])[0].tolist() == starts_of([data[: CONTEXT - 3], data[CONTEXT - 3 :]])


def test_other_models_are_refused():
    with pytest.raises(InputError, match="no chunks of its own"):
        LearnedPatcher(build_network(TokenShape(256, SIZES["tiny"][0]), 0), CONTEXT)
    with pytest.raises(ParameterError, match="context is 3"):
        LearnedPatcher(patcher().network, 3)
