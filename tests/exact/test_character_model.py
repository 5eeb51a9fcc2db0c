"""One call for every estimator: texts as str and bytes, several at once, and errors."""

import pytest
from brute_probabilities import TableModel

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.options import ExactOptions
from tokenlab.exact.vocabulary import Vocabulary

ESTIMATORS = ("incremental", "bpc", "mpc", "naive")
TOKENS = [None, b"A", b"B", b"AA", b"BAAB", b"BBAA", b"BBBA", b"BA", b"BBA"]


@pytest.fixture
def model():
    return TableModel(9, 0, seed=2)


def character_model(model, estimator="incremental", **options):
    return CharacterModel(model, MaximumPrefix(Vocabulary(TOKENS)), ExactOptions(estimator=estimator, **options))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_str_and_bytes_are_the_same(model, estimator):
    chars = character_model(model, estimator)
    assert chars.log_probability("ABBA").log_probability == chars.log_probability(b"ABBA").log_probability
    assert list(chars.next_byte("ABBA").log_probability) == list(chars.next_byte(b"ABBA").log_probability)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_empty_text_is_certain(model, estimator):
    chars = character_model(model, estimator)
    assert chars.log_probability("").log_probability == 0
    assert chars.next_byte("").total == pytest.approx(0, abs=1e-13)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("ask", ["next_byte", "next_character", "log_probability"])
def test_a_character_outside_the_alphabet_is_named(model, estimator, ask):
    with pytest.raises(InputError, match=r"0x43 \('C'\) at byte 4, which no token has"):
        getattr(character_model(model, estimator), ask)("ABBC")


def test_a_lone_surrogate_is_refused(model):
    with pytest.raises(InputError, match="lone surrogate at character 2"):
        character_model(model).next_byte("A\ud800")


def test_a_vocabulary_larger_than_the_model_is_refused():
    with pytest.raises(InputError, match="ids up to 8 and the model only 5"):
        character_model(TableModel(5, 0))


def test_only_incremental_prunes(model):
    with pytest.raises(ParameterError, match=r"prune is .*, but the estimator .* drops nothing"):
        character_model(model, "bpc", prune=0.1)


def test_top_is_at_least_one(model):
    with pytest.raises(ParameterError, match="top is 0"):
        character_model(model).next_character("A", top=0)
