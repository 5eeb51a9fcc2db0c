"""Probabilities of texts and next bytes against sums over all token strings, on small vocabularies."""

import re
from functools import cache

import numpy as np
import pytest
from brute_encodings import longest_match, merge_in_order, texts
from brute_probabilities import Encodings, SlowAutomaton, TableModel
from hashed_model import ByDefinition

from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.encoders.every import EveryEncoding
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.options import ExactOptions
from tokenlab.exact.vocabulary import Vocabulary

MPE = [None, b"A", b"B", b"AA", b"BAAB", b"BBAA", b"BBBA", b"BA", b"BBA"]
BPE = [None, b"A", b"B", b"BA", b"BAA", b"BBAA", b"AA", b"BABA", b"BB"]
MERGES = [(2, 1, 3), (3, 1, 4), (2, 4, 5), (1, 1, 6), (3, 3, 7), (2, 2, 8)]
END = 0
LONGEST = 5
"""Bytes of the texts; the sums over their covers then go up to 8."""


SPACED = [None, b"A", b" ", b"AA", b"  ", b" A", b"   ", None, None]


def look_ahead(text):
    """A pre-tokenizer that cuts off the last of several spaces before a word, as GPT-2's with newlines; longest match.

    No text has the token " A". Two encodings that go on can spell one text, against proposition H.6: "A  " is (1, 4),
    and "A  A" begins with (1, 2, 2).
    """
    words = re.findall(rb"A+| +(?!A)| +", text)
    return tuple(id for word in words for id in longest_match(SPACED, word))


def split():
    encodings = Encodings(SPACED, look_ahead, b"A ", reach=2)
    return SlowAutomaton(Vocabulary(SPACED), encodings), encodings


def prefixed():
    """MPE with an A before every text, as the space of SentencePiece."""
    encodings = Encodings(MPE, lambda text: longest_match(MPE, text), b"AB", prefix=b"A")
    return SlowAutomaton(Vocabulary(MPE), encodings), encodings


def maximum_prefix():
    return MaximumPrefix(Vocabulary(MPE)), Encodings(MPE, lambda text: longest_match(MPE, text), b"AB")


def byte_pair():
    return BytePair(Vocabulary(BPE), MERGES), Encodings(BPE, lambda text: merge_in_order(BPE, MERGES, text), b"AB")


def every():
    return EveryEncoding(Vocabulary(BPE), lambda text: list(merge_in_order(BPE, MERGES, text))), Encodings(
        BPE, None, b"AB"
    )


CASES = {"mpe": maximum_prefix(), "bpe": byte_pair(), "every": every(), "split": split(), "prefixed": prefixed()}
EACH = [("mpe", "mpc"), *((name, estimator) for name in CASES for estimator in ("incremental", "bpc"))]


@pytest.fixture(scope="module", params=[0.0, 0.3], ids=["positive", "with zeros"])
def model(request):
    return TableModel(9, END, seed=7, zeros=request.param)


@cache
def by_definition(name, model, truncate):
    brute = CASES[name][1]
    return ByDefinition(model, SlowAutomaton(Vocabulary(brute.tokens), brute), truncate)


@pytest.mark.parametrize(("name", "estimator"), EACH)
@pytest.mark.parametrize("truncate", [True, False])
def test_texts_and_next_bytes_are_the_sums_over_all_covers(name, estimator, truncate, model):
    automaton, brute = CASES[name]
    chars = CharacterModel(model, automaton, ExactOptions(estimator=estimator, truncate=truncate))
    definition = by_definition(name, model, truncate)
    for text in texts(brute.alphabet, LONGEST):
        found = chars.log_probability(text)
        whole = text_probability(definition, brute.prefix, text)
        ends = end_probability(definition, brute.prefix, text)
        assert np.exp(found.log_probability) == pytest.approx(whole, rel=1e-12, abs=0), text
        assert (np.exp(found.log_probability + found.end) if whole else 0.0) == pytest.approx(ends, rel=1e-12, abs=0)
        if len(text) == LONGEST:
            continue
        following = chars.next_byte(text)
        if not whole:
            assert np.isnan(following.log_probability).all() and np.isnan(following.end)
            continue
        truth = np.zeros(257)
        for byte in brute.alphabet:
            truth[byte] = text_probability(definition, brute.prefix, text + bytes([byte]))
        truth[256] = ends
        found = np.exp([*following.log_probability, following.end])
        assert found == pytest.approx(truth / whole, rel=1e-12, abs=0), text
        assert np.exp(following.total) == pytest.approx(truth.sum() / whole, rel=1e-12)
        if truncate and not model.zeros:
            assert abs(following.total) < 1e-12


def text_probability(definition, prefix, text):
    """P(a text starts with this one), given the prefix; an empty text may have no tokens, nor a prefix then."""
    return definition.starts_with(prefix + text) / given(definition, prefix) if text else 1.0


def end_probability(definition, prefix, text):
    nothing = definition.following(())[1] if prefix and not text else 0.0
    return (definition.is_text(prefix + text) + nothing) / given(definition, prefix)


def given(definition, prefix):
    """P(the text has the prefix, or no tokens)."""
    return definition.starts_with(prefix) + definition.following(())[1] if prefix else 1.0
