"""Cuts of sentences, and the distance of naive from exact."""

import numpy as np
import pytest

from tasks.exact.evaluate import END, INSIDE, cuts, distances, naive_characters, summary
from tokenlab.exact.encoders.every import EveryEncoding
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.interface import Cost, NextBytes
from tokenlab.exact.vocabulary import Vocabulary


def next_bytes(probabilities, end=0.0, total=1.0):
    values = np.full(256, 0.0)
    for character, probability in probabilities.items():
        values[ord(character)] = probability
    with np.errstate(divide="ignore"):
        return NextBytes(np.log(values), np.log(end), np.log(total), 0.0, Cost())


def test_cuts_know_the_tokens_of_the_sentence():
    vocabulary = Vocabulary([b"a", b"b", b"aba", b"\xe4", b"\xb8", b"\x80", "一".encode()])
    found = list(cuts("aba一b", MaximumPrefix(vocabulary)))
    assert [(prompt.text, prompt.true, prompt.place, prompt.depth) for prompt in found] == [
        ("a", "b", INSIDE, 1),
        ("ab", "a", INSIDE, 2),
        ("aba", "一", END, 0),
        ("aba一", "b", END, 0),
    ]
    automaton = EveryEncoding(Vocabulary([b" ", b"a", b" a", b" aa"]), lambda text: [3, 1], prefix=b" ")
    assert [prompt.depth for prompt in cuts("aaa", automaton)] == [1, 0]  # Bytes before a text do not count.


def test_distances_are_those_of_normalised_distributions():
    exact, naive = next_bytes({"a": 0.75, "b": 0.25}), next_bytes({"a": 0.125, "b": 0.375}, total=0.5)
    found = distances(exact, naive)
    assert found["kl"] == pytest.approx(0.75 * np.log2(3) + 0.25 * np.log2(1 / 3))
    assert found["total_variation"] == pytest.approx(0.5) and found["differs"]
    assert distances(exact, exact) == {"kl": 0.0, "total_variation": 0.0, "differs": False}


def test_naive_characters_are_sums_over_tokens():
    vocabulary = Vocabulary([b"a", b"ab", "一".encode(), "一b".encode(), b"\xe4", None])
    assert naive_characters(_Fixed(), vocabulary, [0], 2) == [
        ("一", pytest.approx(0.4)),
        ("a", pytest.approx(0.3)),
    ]


class _Fixed:
    """A model that always says the same."""

    logits = np.log([0.1, 0.2, 0.15, 0.25, 0.2, 0.1])

    def tree(self):
        return self

    def root(self):
        return self.logits

    def extend(self, parents, tokens):
        assert list(parents) == list(range(len(tokens)))
        return np.array([self.logits] * len(tokens))


def row(**values):
    given = {"place": INSIDE, "depth": 1, "bytes": 10, "undefined": False, "calls": 4, "tokens": 4, "naive_calls": 1}
    numbers = {"missing": 0.1, "exact": -1.0, "naive": -2.0, "kl": 1.0, "total_variation": 0.5, "differs": True}
    return given | numbers | values


def test_undefined_prompts_are_counted_and_left_out_of_means():
    nothing = dict.fromkeys(("naive", "kl", "total_variation", "differs"))
    found = summary([row(), row(undefined=True, exact=-3.0, **nothing)], 4)
    assert (found["texts"], found["share"], found["undefined"]) == (2, 0.5, 0.5)
    assert (found["kl"], found["naive_next_bits"], found["exact_next_bits"]) == (1.0, 2.0, 2.0)
    assert found["exact_next_probability"] == pytest.approx((0.5 + 0.125) / 2)
    assert found["calls_per_byte"] == 0.4
    nobody = summary([], 4)
    assert (nobody["texts"], nobody["share"], nobody["kl"], nobody["missing_max"]) == (0, 0.0, None, None)
