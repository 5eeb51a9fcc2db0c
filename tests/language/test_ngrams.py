"""N-gram models against a model of dictionaries, and probabilities that sum to 1."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from tokenlab.core.errors import ParameterError
from tokenlab.language.ngrams import fewest_nats, kneser_ney_nats

SYMBOLS = 5


def texts(seed, count):
    """Texts in which some n-grams are frequent, some rare and some missing; one is empty."""
    draws = np.random.default_rng(seed)
    weights = [0.5, 0.25, 0.15, 0.1, 0.0] if seed == 0 else [0.2] * SYMBOLS
    return [draws.choice(SYMBOLS, size, p=weights) for size in (0, *draws.integers(1, 30, count))]


def plain_probability(training, history, symbol, order):
    """By the definition, one n-gram at a time. history: the symbols before; a text begins with Nones."""

    def padded(n):
        return [[None] * n + text.tolist() for text in training]

    def counts(n, highest):
        longer = n if highest else n + 1
        found = [tuple(text[end - longer : end]) for text in padded(longer - 1) for end in range(longer, len(text) + 1)]
        return Counter(found) if highest else Counter(ngram[1:] for ngram in set(found))

    below = 1 / SYMBOLS
    for n in range(1, order + 1):
        counted, of_context = counts(n, n == order), defaultdict(list)
        for ngram, count in counted.items():
            of_context[ngram[:-1]].append(count)
        once, twice = (sum(count == few for count in counted.values()) for few in (1, 2))
        discount = once / (once + 2 * twice) if once else 0.5
        context = tuple(([None] * n + list(history))[len(history) + 1 :])
        if context in of_context:
            found = of_context[context]
            own = max(counted[(*context, symbol)] - discount, 0)
            below = (own + discount * len(found) * below) / sum(found)
    return below


@pytest.mark.parametrize("largest", [1, 4])
def test_probabilities_are_those_of_the_definition(largest):
    training, evaluated = texts(0, 12), texts(1, 6)
    nats = kneser_ney_nats(training, evaluated, SYMBOLS, largest)
    expected = [
        [
            -np.log(plain_probability(training, text[:place].tolist(), int(text[place]), order))
            for text in evaluated
            for place in range(len(text))
        ]
        for order in range(1, largest + 1)
    ]
    assert nats == pytest.approx(np.array(expected))


def test_probabilities_sum_to_one_after_any_history():
    """Also after symbols that training lacks, at the beginning, and where every n-gram is counted twice."""
    once = texts(0, 12)
    for training in (once, once * 2):
        for history in (*texts(2, 8), *once):
            asked = [np.append(history, symbol) for symbol in range(SYMBOLS)]
            nats = kneser_ney_nats(training, asked, SYMBOLS, 5)
            last = nats.reshape(5, SYMBOLS, -1)[:, :, -1]
            assert np.exp(-last).sum(axis=1) == pytest.approx(np.ones(5))


def test_orders_that_do_not_fit_are_refused():
    assert kneser_ney_nats([np.array([255])], [np.array([0])], 256, 7).shape == (7, 1)
    with pytest.raises(ParameterError, match=r"largest is 8; .* at most 7"):
        kneser_ney_nats([np.array([255])], [np.array([0])], 256, 8)
    with pytest.raises(ParameterError, match="largest"):
        kneser_ney_nats([np.array([1])], [np.array([0])], 256, 0)


def test_fewest_nats_are_those_of_the_best_order():
    training, evaluated = ["abracadabra\n", "candelabra\n"] * 3, ["cadabra\n", "ü\n"]
    coded = [[np.frombuffer(text.encode(), np.uint8) for text in some] for some in (training, evaluated)]
    by_order = kneser_ney_nats(*coded, 256, 4).sum(axis=1)
    assert fewest_nats(training, evaluated, 4) == pytest.approx(by_order.min()) and by_order.argmin() > 0
