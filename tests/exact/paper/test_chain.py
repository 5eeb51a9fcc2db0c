"""Markov chains: probabilities by definition, samples by their frequencies."""

from itertools import product

import numpy as np
import pytest

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.exact.paper.chain import MarkovChain


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_probabilities_of_texts(order):
    chain = MarkovChain.random(order, "AB漢", seed=order)
    for length in range(order + 3):
        total = 0.0
        for text in map("".join, product(chain.alphabet, repeat=length)):
            indices = ["AB漢".index(character) for character in text]
            wanted = 3.0 ** -min(order, length)
            for i in range(order, length):
                wanted *= chain.transitions[tuple(indices[i - order : i + 1])]
            assert np.isclose(chain.log_probability(text), np.log(wanted), rtol=1e-13)
            following = [chain.log_probability(text + c) - chain.log_probability(text) for c in chain.alphabet]
            assert np.allclose(np.exp(following), chain.next_character(text), rtol=1e-12)
            total += wanted
        assert np.isclose(total, 1)


def test_beginning_of_its_own():
    chain = MarkovChain(b"AB", [[[0.1, 0.9], [0.2, 0.8]], [[0.3, 0.7], [0.4, 0.6]]], [[0.5, 0.3], [0.2, 0.0]])
    assert np.allclose(chain.next_character(""), [0.8, 0.2])
    assert np.allclose(chain.next_character("B"), [1.0, 0.0])
    assert np.isclose(chain.log_probability("ABA"), np.log(0.3 * 0.2))
    assert chain.log_probability("BB") == -np.inf


@pytest.mark.parametrize("order", [0, 1, 3])
def test_samples_follow_the_transitions(order):
    chain = MarkovChain.random(order, "AB😀", seed=5)
    texts = chain.sample(np.random.default_rng(0), 40, count=3000)
    assert len(texts) == 3000
    assert {len(text) for text in texts} == {40}
    counts = np.zeros_like(chain.transitions)
    for text in texts:
        indices = ["AB😀".index(character) for character in text]
        for i in range(order, 40):
            counts[tuple(indices[i - order : i + 1])] += 1
    seen = counts.sum(-1, keepdims=True)
    deviation = (counts / np.maximum(seen, 1) - chain.transitions) * np.sqrt(seen)
    assert np.abs(deviation).max() < 3  # of at most 0.5 standard deviation
    assert texts == chain.sample(np.random.default_rng(0), 40, count=3000)
    assert [len(text) for text in chain.sample(np.random.default_rng(0), 2, count=2)] == [2, 2]


def test_bad_input():
    with pytest.raises(InputError, match="'A' is in the alphabet twice"):
        MarkovChain("AA", [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(InputError, match="shape"):
        MarkovChain("AB", np.ones((2, 3)) / 3)
    with pytest.raises(InputError, match="no distributions"):
        MarkovChain("AB", [[0.5, 0.6], [0.5, 0.5]])
    with pytest.raises(InputError, match=r"'C' is not in the alphabet \(A, B\)"):
        MarkovChain.random(1, "AB", seed=0).log_probability("ABC")
    with pytest.raises(ParameterError, match="order -1"):
        MarkovChain.random(-1, "AB", seed=0)
