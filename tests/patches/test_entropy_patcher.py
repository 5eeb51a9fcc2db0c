"""The entropy patcher: entropies byte by byte, windows, streams that equal whole texts, decisions within rounding."""

from functools import cache

import numpy as np
import plain_patches
import pytest
import torch
import unicode_text
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.networks.options import SIZES, TokenShape
from tokenlab.networks.stored import build_network
from tokenlab.patches import entropy_patcher as module
from tokenlab.patches.entropy_patcher import EntropyPatcher, text_entropies, window_of, windows
from tokenlab.patches.options import EntropyOptions

CONTEXT = 24
TEXTS = [
    b"",
    b"a",
    b"It is a truth universally acknowledged, that a single man",
    "我们在北京大学学习。".encode(),
    b"x" * 25,
    unicode_text.SYMBOLS["emoji"].encode(),
]


@cache
def network():
    """Random weights, with an output so large that entropies differ."""
    made = build_network(TokenShape(256, SIZES["tiny"][0]), 0)
    with torch.no_grad():
        made.embedding.mul_(15)
    return made


@cache
def patcher():
    return EntropyPatcher(network(), CONTEXT)


def options():
    """One of each rule, with about every third byte beginning a patch."""
    values = np.concatenate(patcher().entropies(TEXTS))
    middle, rise = float(np.quantile(values, 0.65)), float(np.quantile(np.diff(values), 0.65))
    return [
        EntropyOptions(threshold=middle),
        EntropyOptions(threshold=middle, cap=4),
        EntropyOptions("monotone", rise=rise),
        EntropyOptions("both", threshold=middle, rise=0.0, cap=6),
    ]


def plain_entropy(text, place):
    """Of the byte at a place, from the window that the module describes, read by the network on its own."""
    half = CONTEXT // 2
    start = 0
    while place >= start + CONTEXT:
        start += half
    logits = network().begin([list(text[start:place])], CONTEXT)[0][0].double()
    probabilities = torch.softmax(logits, 0)
    return -(probabilities * probabilities.log()).sum().item()


def test_entropies_are_those_of_the_network_at_each_byte():
    for text, found in zip(TEXTS, patcher().entropies(TEXTS), strict=True):
        expected = [plain_entropy(text, place) for place in range(len(text))]
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, np.array(expected, np.float32), atol=2e-5)
    assert np.concatenate(patcher().entropies(TEXTS)).std() > 0.05


@given(size=st.integers(0, 300), context=st.integers(2, 40))
def test_windows_give_each_byte_once_after_at_least_half_a_window(size, context):
    seen = []
    for start, first, end in windows(size, context):
        assert end - start <= context
        assert first - start >= context - context // 2 or first == start == 0
        assert all(window_of(place, context) == start for place in range(first, end))
        seen += range(first, end)
    assert seen == list(range(size))


@pytest.mark.parametrize("number", range(4))
def test_streams_give_the_patches_of_whole_texts(number):
    chosen = patcher().with_options(options()[number])
    found = chosen.starts(TEXTS)
    assert 0.15 < sum(map(len, found)) / sum(map(len, TEXTS)) < 0.6
    for text, starts in zip(TEXTS, found, strict=True):
        if number % 2:
            assert plain_patches.causally(chosen.stream(), text) == starts.tolist()
        else:
            assert plain_patches.streamed(chosen.stream(), text, seed=number) == starts.tolist()


@settings(max_examples=8)
@given(text=unicode_text.text, number=st.integers(0, 3))
def test_any_text(text, number):
    data = text.encode()
    chosen = patcher().with_options(options()[number])
    starts = chosen.starts([data])[0].tolist()
    assert starts[:1] == [0][: len(data)]
    assert plain_patches.streamed(chosen.stream(), data) == starts
    assert chosen.starts([TEXTS[2], data])[1].tolist() == starts


def test_known_entropies_serve_several_options():
    entropies = patcher().entropies(TEXTS)
    for some in options():
        chosen = patcher().with_options(some)
        given_starts = chosen.starts(TEXTS, entropies)
        assert [starts.tolist() for starts in given_starts] == [starts.tolist() for starts in chosen.starts(TEXTS)]


@pytest.mark.parametrize("rule", ["threshold", "monotone", "both"])
def test_rounding_decides_nothing(rule, monkeypatch):
    """Thresholds that are entropies themselves, with entropies that err in either direction."""
    text = TEXTS[2][:45]
    exact = np.array([patcher().exact(text, place)[1] for place in range(1, len(text))])
    for place in (11, 40):
        rise = float(np.float32(exact[place - 1] - exact[place - 2]))
        chosen = patcher().with_options(EntropyOptions(rule, float(exact[place - 1]) - (rule == "both"), rise))
        assert plain_patches.causally(chosen.stream(), text) == chosen.starts([text])[0].tolist()
        for error in (-3e-6, 3e-6):
            with monkeypatch.context() as patched:
                patched.setattr(
                    module,
                    "text_entropies",
                    lambda *given, error=error: [some + np.float32(error) for some in text_entropies(*given)],
                )
                starts = chosen.starts([text])[0].tolist()
            assert place not in starts  # The comparison is strict.
            assert starts == chosen.starts([text])[0].tolist()


def test_another_network_is_refused():
    with pytest.raises(InputError, match="no Transformer over bytes"):
        EntropyPatcher(build_network(TokenShape(300, SIZES["tiny"][0]), 0), CONTEXT)
    with pytest.raises(ParameterError, match="context is 1"):
        EntropyPatcher(network(), 1)
