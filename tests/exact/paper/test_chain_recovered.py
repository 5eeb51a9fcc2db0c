"""All estimators recover a chain from its exact tokenized model; the naive one is biased where the theory says."""

from itertools import product

import numpy as np
import pytest
from chain_vocabularies import maximum_prefix, paper, random_automaton

from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.encoders.maximum_prefix import anchors
from tokenlab.exact.options import ExactOptions
from tokenlab.exact.paper.chain import MarkovChain
from tokenlab.exact.paper.tokenized import TokenizedModel

TOLERANCE = 1e-12
EXACT = ("incremental", "bpc", "mpc")


def estimators(kind):
    """MPC is for maximum prefix encoding."""
    return EXACT if kind == "mpe" else EXACT[:2]


def contexts(chain, generator):
    """Every text of up to k characters, so that every transition is asked for; and longer ones at random."""
    texts = ["".join(text) for length in range(chain.order + 1) for text in product(chain.alphabet, repeat=length)]
    lengths = generator.integers(chain.order + 1, chain.order + 9, 4)
    return [*texts, *("".join(generator.choice(list(chain.alphabet), int(length))) for length in lengths)]


def distribution(model, chain, text):
    """float64[alphabet] of the next characters, none left for others."""
    found = model.next_byte(text)
    assert np.isnan(found.total) or abs(found.total) < 1e-10
    return np.exp(found.log_probability[[ord(character) for character in chain.alphabet]])


def check(chain, automaton, kind, generator):
    tokenized = TokenizedModel(chain, automaton)
    texts = contexts(chain, generator)
    for estimator in estimators(kind):
        model = CharacterModel(tokenized, automaton, ExactOptions(estimator=estimator))
        for text in texts:
            difference = np.abs(distribution(model, chain, text) - chain.next_character(text)).max()
            assert difference < TOLERANCE, (estimator, text)
        found = [model.log_probability(text) for text in texts]
        wanted = [chain.log_probability(text) for text in texts]
        assert np.allclose([one.log_probability for one in found], wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("kind", ["mpe", "bpe"])
def test_the_vocabularies_of_the_paper(kind, order):
    for seed in range(3):
        chain = MarkovChain.random(order, "AB", seed=seed)
        check(chain, paper(kind), kind, np.random.default_rng(seed))


@pytest.mark.parametrize(
    "first",
    [pytest.param(n, marks=pytest.mark.slow if n < 20 else pytest.mark.nightly) for n in range(0, 200, 10)],
)
def test_random_vocabularies(first):
    """200 of MPE and BPE, alphabets of 2 to 4 characters, orders 1 to 3."""
    for seed in range(first, first + 10):
        alphabet, order, automaton = random_automaton(seed)
        chain = MarkovChain.random(order, alphabet, seed=seed)
        check(chain, automaton, "bpe" if seed % 2 else "mpe", np.random.default_rng(seed))


def test_naive_after_a_token_that_would_have_merged():
    """Section 2.2: after "A" of {AA, A, B} a B follows always, after AA and B there is no bias."""
    chain = MarkovChain("AB", [[0.3, 0.7], [0.8, 0.2]], [0.6, 0.4])
    automaton = maximum_prefix(["AA", "A", "B"])
    model = CharacterModel(TokenizedModel(chain, automaton), automaton, ExactOptions(estimator="naive"))
    for text in ("A", "BA", "AAA", "ABA"):
        assert np.allclose(distribution(model, chain, text), [0, 1])
    for text in ("", "AA", "B", "AAB", "BAA", "AB"):
        assert np.allclose(distribution(model, chain, text), chain.next_character(text))


@pytest.mark.parametrize("seed", range(0, 16, 2))
def test_naive_has_no_bias_after_an_anchor(seed):
    """Corollary 3.2: after a token of V* the text before it is sure to be encoded so. Elsewhere there is bias."""
    alphabet, order, automaton = random_automaton(seed)
    chain = MarkovChain.random(order, alphabet, seed=seed)
    model = CharacterModel(TokenizedModel(chain, automaton), automaton, ExactOptions(estimator="naive"))
    is_anchor, largest = anchors(automaton.vocabulary), 0.0
    for text in chain.sample(np.random.default_rng(seed), 12, count=20):
        difference = np.abs(distribution(model, chain, text) - chain.next_character(text)).max()
        if is_anchor[automaton.encode(text.encode())[-1]]:
            assert difference < TOLERANCE
        largest = max(largest, float(np.nan_to_num(difference, nan=1.0)))
    assert largest > 0.01
