"""The naive estimator: Definition 2.1, its bias in the paper's example, and where it is undefined."""

import numpy as np
import pytest
from brute_encodings import longest_match
from brute_probabilities import TableModel
from tokenizers import Tokenizer, models

from tokenlab.core.errors import ParameterError
from tokenlab.exact.adapters import from_tokenizer
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.encoders.every import EveryEncoding
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.options import ExactOptions
from tokenlab.exact.vocabulary import Vocabulary

TOKENS = [None, b"A", b"B", b"AA", b"BAAB", b"BBAA", b"BBBA", b"BA", b"BBA"]
NAIVE = ExactOptions(estimator="naive")


class Fixed(TableModel):
    """The same distribution after each context, and NaN after one token string."""

    def __init__(self, logits, undefined=None):
        super().__init__(len(logits), 0)
        self.row, self.undefined = np.array(logits, float), undefined

    def _logits(self, context):
        gone = self.undefined is not None and context[: len(self.undefined)] == self.undefined
        return np.full(self.size, np.nan) if gone else self.row


def test_next_bytes_are_the_tokens_that_begin_with_them():
    model = TableModel(9, 0, seed=5)
    chars = CharacterModel(model, MaximumPrefix(Vocabulary(TOKENS)), NAIVE)
    for text in (b"", b"A", b"BBA", b"ABAABBBA"):
        context = longest_match(TOKENS, text)
        p = model.probabilities(context)
        found = chars.next_byte(text)
        assert np.exp(found.log_probability[ord("A")]) == pytest.approx(p[[1, 3]].sum(), rel=1e-13)
        assert np.exp(found.log_probability[ord("B")]) == pytest.approx(p[[2, 4, 5, 6, 7, 8]].sum(), rel=1e-13)
        assert np.exp(found.end) == pytest.approx(p[0], rel=1e-13)
        assert found.total == pytest.approx(0, abs=1e-13)
        assert found.cost.contexts == 1
        steps = [model.probabilities(context[:k])[token] for k, token in enumerate(context)]
        assert np.exp(chars.log_probability(text).log_probability) == pytest.approx(np.prod(steps), rel=1e-13)


def test_undefined_where_the_encoding_has_probability_zero():
    model = Fixed([0.0] * 9, undefined=(7,))
    automaton = MaximumPrefix(Vocabulary(TOKENS))
    found = CharacterModel(model, automaton, NAIVE).next_byte(b"BA")
    assert np.isnan(found.log_probability).all() and np.isnan(found.end) and np.isnan(found.total)
    assert found.cost.undefined == 1
    exact = CharacterModel(model, automaton).next_byte(b"BA")
    assert np.exp([*exact.log_probability[list(b"AB")]]).sum() < 1 and exact.cost.undefined == 1


def test_mpc_refuses_other_encodings():
    vocabulary = Vocabulary([b"A", b"B", b"AB"])
    for automaton in (BytePair(vocabulary, [(0, 1, 2)]), EveryEncoding(vocabulary, lambda text: [])):
        with pytest.raises(ParameterError, match="incremental or bpc"):
            CharacterModel(TableModel(3), automaton, ExactOptions(estimator="mpc"))
    with pytest.raises(ParameterError, match="mpc"):
        CharacterModel(TableModel(3), MaximumPrefix(vocabulary), ExactOptions(estimator="mpc", encodings="all"))


@pytest.mark.parametrize("text", ["", "a", "é", "aéa", b"\xc3", b"a\xc3", "éaéé", b"\xa9", b"\xc3\xa9\xa9"])
def test_mpc_of_a_tokenizer_whose_characters_have_several_bytes(text):
    ids = {"[UNK]": 0, "a": 1, "é": 2, "aé": 3, "éaé": 4, "è": 5}
    tokenizer = Tokenizer(
        models.WordPiece(ids, unk_token="[UNK]", continuing_subword_prefix="", max_input_chars_per_word=10**6)
    )
    automaton, model = from_tokenizer(tokenizer).automaton, TableModel(6, 0, seed=4)
    found, exact = (CharacterModel(model, automaton, ExactOptions(estimator)) for estimator in ("mpc", "incremental"))
    np.testing.assert_allclose(found.next_byte(text).log_probability, exact.next_byte(text).log_probability, rtol=1e-12)
    assert found.next_byte(text).end == pytest.approx(exact.next_byte(text).end, rel=1e-12, nan_ok=True)
    assert found.next_character(text).characters == exact.next_character(text).characters
    whole, expected = found.log_probability(text), exact.log_probability(text)
    assert [whole.log_probability, whole.end] == pytest.approx(
        [expected.log_probability, expected.end], rel=1e-12, nan_ok=True
    )


def test_mpc_asks_about_contexts_after_the_anchor_alone():
    """The contexts are linear in what follows the last token of V* = {BAAB, BBAA, BBBA}, not in the text."""
    chars = CharacterModel(TableModel(9, 0), MaximumPrefix(Vocabulary(TOKENS)), ExactOptions(estimator="mpc"))
    costs = [chars.next_byte(b"BBBA" * repeats + b"AAB").cost.contexts for repeats in (1, 5, 25)]
    assert costs[0] == costs[1] == costs[2] <= 6
    linear = [chars.next_byte(b"BA" * repeats).cost.contexts for repeats in (4, 8, 16)]
    assert linear[2] - linear[1] <= 2 * (linear[1] - linear[0]) + 1


def test_a_character_is_the_tokens_that_begin_with_it():
    """Also where its first bytes are tokens: what could follow these is not asked."""
    e, a = "é".encode(), "è".encode()
    vocabulary = Vocabulary([None, e[:1], e[1:], a[1:], e + a, e, b"x"])
    model = TableModel(7, 0, seed=1)
    p = model.probabilities(())
    found = CharacterModel(model, EveryEncoding(vocabulary, lambda text: []), NAIVE).next_character("")
    shares = dict(zip(found.characters, np.exp(found.log_probability), strict=True))
    assert shares == pytest.approx({"é": p[4] + p[5], "x": p[6]}, rel=1e-12)
    assert np.exp(found.rest) == pytest.approx(p[1:4].sum(), rel=1e-12)
    assert np.exp(found.end) == pytest.approx(p[0], rel=1e-12)
