"""Characters from bytes, against products of the probabilities of their bytes."""

import numpy as np
import pytest
from brute_probabilities import TableModel

from tokenlab.core.errors import ParameterError
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.options import ExactOptions
from tokenlab.exact.utf8 import unfinished
from tokenlab.exact.vocabulary import Vocabulary

CHARACTERS = ["a", "b", "é", "è", "你", "好", "們", "😀", "😁"]
WHOLE = [None, *(character.encode() for character in CHARACTERS), "你好".encode(), b"ab"]
BYTES = [None, *(bytes([byte]) for byte in range(256)), "你".encode()[:2], "你".encode(), "é".encode()]
BYTE_MERGES = [(0xE4 + 1, 0xBD + 1, 257), (257, 0xA0 + 1, 258), (0xC3 + 1, 0xA9 + 1, 259)]


def whole_characters():
    return BytePair(Vocabulary(WHOLE), [(5, 6, 10), (1, 2, 11)]), TableModel(len(WHOLE), 0, seed=1)


def single_bytes():
    return BytePair(Vocabulary(BYTES), BYTE_MERGES), TableModel(len(BYTES), 0, seed=1, spread=3)


@pytest.mark.parametrize("text", ["", "a", "你", "a你", "😀é"])
def test_all_characters_of_a_small_alphabet(text):
    automaton, model = whole_characters()
    chars = CharacterModel(model, automaton)
    found = chars.next_character(text)
    assert sorted(found.characters) == sorted(CHARACTERS)
    assert np.exp(found.log_probability).sum() + np.exp(found.end) == pytest.approx(1, abs=1e-12)
    assert found.rest == -np.inf
    assert list(found.log_probability) == sorted(found.log_probability, reverse=True)
    given = chars.log_probability(text).log_probability
    for character, share in zip(found.characters, found.log_probability, strict=True):
        assert share == pytest.approx(chars.log_probability(text + character).log_probability - given, abs=1e-12)


@pytest.mark.parametrize("estimator", ["incremental", "bpc"])
@pytest.mark.parametrize("text", [b"", "你a".encode(), "a你".encode()[:-1], "😀".encode()[:1], b"a\xc3", b"\xff"])
def test_the_top_characters_of_a_vocabulary_of_bytes(text, estimator):
    automaton, model = single_bytes()
    chars = CharacterModel(model, automaton, ExactOptions(estimator=estimator))
    found = chars.next_character(text, top=5)
    exact = CharacterModel(model, automaton)
    given, begun = exact.log_probability(text).log_probability, unfinished(text)
    shares = np.exp(found.log_probability)
    assert len(found.characters) == 5
    assert shares.sum() + np.exp(found.end) + np.exp(found.rest) == pytest.approx(1, abs=1e-10)
    for character, share in zip(found.characters, shares, strict=True):
        spelled = character.encode()
        assert spelled.startswith(begun)
        longer = exact.log_probability(text + spelled[len(begun) :]).log_probability
        assert share == pytest.approx(np.exp(longer - given), rel=1e-10)
    for other in (*CHARACTERS, *map(chr, range(0x80, 0x300))):
        spelled = other.encode()
        if other not in found.characters and spelled.startswith(begun):
            longer = exact.log_probability(text + spelled[len(begun) :]).log_probability
            assert np.exp(longer - given) <= shares[-1] * (1 + 1e-12)


def test_all_characters_of_a_vocabulary_of_bytes_are_too_many():
    automaton, model = single_bytes()
    with pytest.raises(ParameterError, match="set top"):
        CharacterModel(model, automaton).next_character("a")


def test_bytes_that_tokens_share_take_no_context():
    """你, 好 and 們 begin with three different bytes or with the same: the tokens are known before the second byte."""
    automaton, model = whole_characters()
    chars = CharacterModel(model, automaton)
    assert chars.next_character("a").cost.contexts == 2


@pytest.mark.parametrize("text", [b"abc", "你好".encode(), b"\x80", b"\xff\xfe", b"a\xc3\xa9"])
def test_nothing_is_unfinished(text):
    assert unfinished(text) == b""


@pytest.mark.parametrize(("text", "end"), [(b"a\xe4", 1), (b"\xe4\xbd", 2), (b"x\xf0\x9f\x98", 3), (b"\xc3\xc3", 1)])
def test_unfinished_bytes(text, end):
    assert unfinished(text) == text[-end:]
