"""One call for every estimator: characters against products of the probabilities of their bytes, str, bytes, errors."""

import numpy as np
import pytest
from brute_probabilities import TableModel

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.options import ExactOptions
from tokenlab.exact.utf8 import unfinished
from tokenlab.exact.vocabulary import Vocabulary

CHARACTERS = ["a", "b", "é", "è", "你", "好", "們", "😀", "😁"]
WHOLE = [None, *(character.encode() for character in CHARACTERS), "你好".encode(), b"ab"]
BYTES = [None, *(bytes([byte]) for byte in range(256)), "你".encode()[:2], "你".encode(), "é".encode()]
BYTE_MERGES = [(0xE4 + 1, 0xBD + 1, 257), (257, 0xA0 + 1, 258), (0xC3 + 1, 0xA9 + 1, 259)]
ESTIMATORS = ("incremental", "bpc", "mpc", "naive")
LETTERS = [None, b"A", b"B", b"AA", b"BAAB", b"BBAA", b"BBBA", b"BA", b"BBA"]


@pytest.fixture
def model():
    return TableModel(9, 0, seed=2)


def character_model(model, estimator="incremental", **options):
    return CharacterModel(model, MaximumPrefix(Vocabulary(LETTERS)), ExactOptions(estimator=estimator, **options))


def single_bytes():
    return BytePair(Vocabulary(BYTES), BYTE_MERGES), TableModel(len(BYTES), 0, seed=1, spread=3)


@pytest.mark.parametrize("text", ["", "a", "你", "a你", "😀é"])
def test_all_characters_of_a_small_alphabet(text):
    automaton = BytePair(Vocabulary(WHOLE), [(5, 6, 10), (1, 2, 11)])
    chars = CharacterModel(TableModel(len(WHOLE), 0, seed=1), automaton)
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


def test_unfinished_bytes():
    for text in (b"abc", "你好".encode(), b"\x80", b"\xff\xfe", b"a\xc3\xa9"):
        assert unfinished(text) == b""
    for text, count in ((b"a\xe4", 1), (b"\xe4\xbd", 2), (b"x\xf0\x9f\x98", 3), (b"\xc3\xc3", 1)):
        assert unfinished(text) == text[-count:]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_str_and_bytes_are_the_same(model, estimator):
    chars = character_model(model, estimator)
    assert chars.log_probability("ABBA").log_probability == chars.log_probability(b"ABBA").log_probability
    assert list(chars.next_byte("ABBA").log_probability) == list(chars.next_byte(b"ABBA").log_probability)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("ask", ["next_byte", "next_character", "log_probability"])
def test_a_character_outside_the_alphabet_is_named(model, estimator, ask):
    with pytest.raises(InputError, match=r"0x43 \('C'\) at byte 4"):
        getattr(character_model(model, estimator), ask)("ABBC")


def test_bad_input(model):
    automaton, of_bytes = single_bytes()
    with pytest.raises(ParameterError, match="set top"):  # All characters of all bytes are too many.
        CharacterModel(of_bytes, automaton).next_character("a")
    with pytest.raises(InputError, match="lone surrogate at character 2"):
        character_model(model).next_byte("A\ud800")
    with pytest.raises(InputError, match=r"ids up to 8 .* 5"):
        character_model(TableModel(5, 0))
    with pytest.raises(ParameterError, match="prune"):
        character_model(model, "bpc", prune=0.1)
    with pytest.raises(ParameterError, match="top is 0"):
        character_model(model).next_character("A", top=0)


@pytest.mark.parametrize("estimator", ["incremental", "bpc", "naive"])
def test_a_text_without_tokens_is_refused(estimator):
    """The bytes of é are in è and ©, but no token is é."""
    tokens = [None, *(character.encode() for character in "nè©"), b"nn"]
    chars = CharacterModel(TableModel(5, 0, seed=2), MaximumPrefix(Vocabulary(tokens)), ExactOptions(estimator))
    assert np.isfinite(chars.log_probability("nè©").log_probability)
    for ask in (chars.next_byte, chars.next_character, chars.log_probability):
        with pytest.raises(InputError, match=r"no token|cannot be encoded|byte 2"):
            ask("né")
