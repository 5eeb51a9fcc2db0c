"""Thresholds calibrated to a mean patch length: the nearest that any threshold comes, and what cannot be reached."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.patches.by_bytes import entropy_starts
from tokenlab.patches.entropy_patcher import calibrated, mean_length
from tokenlab.patches.options import EntropyOptions

RULES = [EntropyOptions(), EntropyOptions(cap=6), EntropyOptions("monotone"), EntropyOptions("both", rise=-0.5, cap=8)]


def corpus(seed=0, texts=40):
    random = np.random.default_rng(seed)
    return [random.exponential(1.5, random.integers(0, 300)).astype(np.float32) for _ in range(texts)]


@pytest.mark.parametrize("options", RULES)
@pytest.mark.parametrize("target", [2.5, 4.0])
def test_the_mean_is_the_target(options, target):
    found = calibrated(corpus(), options, target)
    patches = sum(len(entropy_starts(text, found)) for text in corpus())
    mean = sum(map(len, corpus())) / patches
    assert mean == pytest.approx(target, abs=0.02)
    assert mean_length(corpus(), found) == mean
    changed = "rise" if options.rule == "monotone" else "threshold"
    assert replace(found, **{changed: getattr(options, changed)}) == options


@given(seed=st.integers(0, 200), target=st.floats(1, 8), rule=st.sampled_from(RULES))
def test_no_other_threshold_comes_nearer(seed, target, rule):
    texts = corpus(seed, 2)
    assume(sum(map(len, texts)) > 3)
    texts = [text[:25] for text in texts]
    compared = np.concatenate([np.diff(text) if rule.rule == "monotone" else text[1:] for text in texts])
    assume(len(compared))
    name = "rise" if rule.rule == "monotone" else "threshold"
    every = [replace(rule, **{name: float(value)}) for value in [-100.0, *compared]]
    best = min(abs(mean_length(texts, options) - target) for options in every)
    found = calibrated(texts, rule, target, tolerance=100)
    assert abs(mean_length(texts, found) - target) == pytest.approx(best, abs=1e-9)


def test_rounding_errors_change_no_patch():
    found = calibrated(corpus(), EntropyOptions())
    gap = min(np.abs(text - np.float32(found.threshold)).min() for text in corpus() if len(text))
    assert gap > 0
    for error in (-0.9, 0.9):
        moved = [text + np.float32(error * gap) for text in corpus()]
        assert mean_length(moved, found) == mean_length(corpus(), found)


def test_a_target_that_cannot_be_reached():
    with pytest.raises(InputError, match=r"2\.9\d bytes come nearest to 4"):
        calibrated(corpus(), EntropyOptions(cap=3))
    with pytest.raises(ParameterError, match=r"target is 0\.5"):
        calibrated(corpus(), EntropyOptions(), 0.5)
    with pytest.raises(InputError, match="nothing to calibrate on"):
        calibrated([np.zeros(1, np.float32)], EntropyOptions())
