"""Evaluation of language models: brute-force sums in float64, whatever the batches; stored models."""

import math

import numpy as np
import pytest
import torch
from stored_passages import documents, store, word_starts
from tiny_language_models import sharp_network
from torch.nn.functional import log_softmax

from tokenlab.core.errors import InputError
from tokenlab.language.coding import ByteCoder, PatchCoder
from tokenlab.language.evaluation import evaluate, passage_nats
from tokenlab.language.stored import LanguageModel, read_language_model, save_language_model
from tokenlab.networks.options import PatchShape, StackShape, TokenShape
from tokenlab.patches.by_bytes import SpacePatcher
from tokenlab.tokenizers.hierarchical import learn_hierarchical

STACK = StackShape(layers=1, width=16, heads=2, feed_forward=24)
MERGES = learn_hierarchical([b" the", b" naive", b" mats"], 3)
CONTEXT = 40


@pytest.fixture(scope="module")
def models():
    local = StackShape(layers=1, width=8, heads=1, feed_forward=16)
    patches = PatchShape(MERGES.size, True, STACK, local)
    return {
        "bytes": LanguageModel(sharp_network(TokenShape(256, STACK), 0), ByteCoder(), CONTEXT),
        "patches": LanguageModel(sharp_network(patches, 1), PatchCoder(SpacePatcher(), MERGES), CONTEXT),
    }


def brute_force(model, text, starts=None):
    """Nats of a text by itself: each symbol from the logits before it."""
    (passage,) = model.coder.code([text], starts)
    batch = model.network.collate([[passage]])
    if isinstance(model.coder, ByteCoder):
        logs = log_softmax(model.network.logits(batch).double(), -1)
        return -float(logs[range(len(text)), list(text)].sum())
    # Symbol after symbol, with the steps of generation.
    network, nats = model.network, 0.0
    with torch.no_grad():
        opened, cache = network.begin_latent([torch.zeros(0, STACK.width)], 50)
        for start, end in zip(passage.starts, [*passage.starts[1:], len(passage.ids)], strict=True):
            patch = passage.ids[start:end].tolist()
            decoder = network.decoder_cache(1)
            logits = network.begin_patch(opened, decoder)
            for id in patch:
                nats -= float(log_softmax(logits[0].double(), -1)[id])
                logits = network.step_symbol(torch.tensor([id]), decoder)
            opened = network.step_latent(network.encode_patches([patch]), cache)
    return nats


@pytest.mark.parametrize("name", ["bytes", "patches"])
def test_nats_are_the_brute_force_sums(models, name):
    texts = [*documents(4, 0, 6), b"a"]
    expected = [brute_force(models[name], text) for text in texts]
    for batch_bytes in (1, 100, 1 << 16):
        found = passage_nats(models[name], texts, batch_bytes=batch_bytes)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert passage_nats(models[name], []).tolist() == []
    assert passage_nats(models[name], [b"", b"a", b""])[[0, 2]].tolist() == [0, 0]


def test_bits_per_byte_are_those_of_all_symbols_over_the_bytes_of_the_text(models, tmp_path):
    """The marker has nats and no byte; the stored patches are used where a patcher is named."""
    texts = documents(2, 3, 10)
    for name, patcher in (("bytes", None), ("patches", None), ("patches", "words"), ("patches", "fixed")):
        model = models[name]
        passages = store(tmp_path / f"{name}-{patcher}", texts, CONTEXT, patcher)
        data = [passage for block in passages.blocks() for passage in block.data]
        cuts = {"words": word_starts, "fixed": lambda text: np.arange(0, len(text), 3)}
        starts = [[cuts[patcher](text)] if patcher else None for text in data]
        nats = sum(brute_force(model, text, begins) for text, begins in zip(data, starts, strict=True))
        codes = [model.coder.code([text], begins)[0] for text, begins in zip(data, starts, strict=True)]
        found = evaluate(model, passages)
        assert found[:4] == (
            len(data),
            sum(map(len, texts)),
            sum(len(code.ids) for code in codes),
            sum(len(code.starts) for code in codes),
        )
        assert found.bits_per_byte == pytest.approx(nats / math.log(2) / sum(map(len, texts)), rel=1e-5)


def test_shares_add_up_and_limits_end_with_a_whole_passage(models, tmp_path):
    passages = store(tmp_path / "passages", documents(30, 3), CONTEXT)
    whole = evaluate(models["bytes"], passages, batch_bytes=150)
    shares = [evaluate(models["bytes"], passages, batch_bytes=150, share=(number, 3)) for number in range(3)]
    assert [sum(part) for part in zip(*(share[:4] for share in shares), strict=True)] == list(whole[:4])
    assert sum(share.nats for share in shares) == pytest.approx(whole.nats)
    sizes = [len(passage) for block in passages.blocks() for passage in block.data]
    for most in (1, sizes[0], sizes[0] + 1, sum(sizes) - 1, sum(sizes), sum(sizes) + 1):
        found = evaluate(models["bytes"], passages, most_bytes=most)
        taken = next((n for n in range(1, len(sizes)) if sum(sizes[:n]) >= most), len(sizes))
        assert (found.passages, found.bytes) == (taken, sum(sizes[:taken]))


@pytest.mark.parametrize("name", ["bytes", "patches"])
def test_a_stored_model_is_the_same_model(models, name, tmp_path):
    save_language_model(models[name], tmp_path)
    read = read_language_model(tmp_path)
    assert read.context == CONTEXT and not read.network.training
    texts = documents(5, 2)
    np.testing.assert_array_equal(passage_nats(read, texts), passage_nats(models[name], texts))


def test_folders_without_a_model_are_errors(models, tmp_path):
    with pytest.raises(InputError, match=r"language.json: no such file"):
        read_language_model(tmp_path)
    save_language_model(models["bytes"], tmp_path)
    (tmp_path / "coder" / "coder.json").unlink()
    with pytest.raises(InputError, match=r"coder.json: no such file"):
        read_language_model(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(InputError, match="no network that can be read"):
        read_language_model(tmp_path)
    (tmp_path / "language.json").write_text('{"context": "many"}')
    with pytest.raises(InputError, match="damaged"):
        read_language_model(tmp_path)
