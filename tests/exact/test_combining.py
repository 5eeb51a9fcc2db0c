"""Combined models against sums and products over all bytes of tiny alphabets."""

import numpy as np
import pytest
from hashed_model import ByDefinition, character_model
from scipy.stats import chisquare

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.exact.combining import Combination
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.sampling import sample
from tokenlab.exact.scoring import score_texts
from tokenlab.exact.vocabulary import Vocabulary

ONE = MaximumPrefix(Vocabulary([b"A", b"B", b"AA", b"BAAB", b"BA", None]))
TWO = MaximumPrefix(Vocabulary([None, b"B", b"A", b"ABB", b"BB"]))
WEIGHTS = (0.3, 0.9)
TEXTS = ["", "A", "AB", "BBA", "ABAAB"]


@pytest.fixture(scope="module")
def models():
    return character_model(ONE, 5, seed=1), character_model(TWO, 0, seed=2)


@pytest.fixture(scope="module")
def truths(models):
    return [ByDefinition(model.model, model.automaton) for model in models]


def outcomes(truth, text):
    """P(A), P(B), P(end) after a text, and P(text)."""
    starts = truth.starts_with(text)
    return np.array([truth.starts_with(text + b"A"), truth.starts_with(text + b"B"), truth.is_text(text)]) / starts


def combined(truths, rule, text):
    p = np.array([outcomes(truth, text) for truth in truths])
    if rule == "product":
        joined = np.prod(p ** np.array(WEIGHTS)[:, None], 0)
        return joined / joined.sum()
    weights = np.array(WEIGHTS) / sum(WEIGHTS)
    if rule == "mixture":
        weights = weights * [truth.starts_with(text) for truth in truths]
        weights /= weights.sum()
    return weights @ p


@pytest.mark.parametrize("rule", ["product", "mean", "mixture"])
@pytest.mark.parametrize("text", TEXTS)
def test_the_next_byte_by_definition(models, truths, rule, text):
    found = Combination(models, rule, WEIGHTS).next_byte(text)
    expected = combined(truths, rule, text.encode())
    np.testing.assert_allclose(np.exp([*found.log_probability[[65, 66]], found.end]), expected, atol=1e-12)
    assert np.exp([*found.log_probability, found.end]).sum() == pytest.approx(1, abs=1e-12)
    assert found.total == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("rule", ["product", "mean", "mixture"])
def test_the_probability_of_a_text_is_the_product_of_its_steps(models, truths, rule):
    combination = Combination(models, rule, WEIGHTS)
    for text in [*TEXTS, *reversed(TEXTS)]:
        expected = sum(np.log(combined(truths, rule, text[:i].encode())["AB".index(c)]) for i, c in enumerate(text))
        found = combination.log_probability(text)
        assert found.log_probability == pytest.approx(expected, abs=1e-10)
        assert found.end == pytest.approx(np.log(combined(truths, rule, text.encode())[2]), abs=1e-10)


def test_characters(models):
    combination = Combination(models, "mean", WEIGHTS)
    found, bytes_found = combination.next_character("A", 5), combination.next_byte("A")
    assert set(found.characters) == {"A", "B"} and found.end == bytes_found.end
    for character, log_p in zip(found.characters, found.log_probability, strict=True):
        assert log_p == pytest.approx(bytes_found.log_probability[ord(character)])


def test_samples(models, truths):
    combination, generator = Combination(models, "product", WEIGHTS), np.random.default_rng(0)
    drawn = [sample(combination, "AB", 1, seed=generator).text for _ in range(600)]
    observed = [drawn.count(outcome) for outcome in ("A", "B", "")]
    assert chisquare(observed, combined(truths, "product", b"AB") * len(drawn)).pvalue > 1e-3


def test_models_without_a_character_in_common():
    one = character_model(MaximumPrefix(Vocabulary([b"A", b"AA"])))
    two = character_model(MaximumPrefix(Vocabulary([b"B", b"A", b"BB", None])), 3)
    with pytest.raises(InputError, match="nothing in common"):
        other = character_model(MaximumPrefix(Vocabulary([b"B", b"BB"])))
        Combination([one, other], "product").next_byte("")
    found = Combination([one, two], "product").next_byte("A")
    assert found.end == -np.inf and np.exp(found.log_probability).sum() == pytest.approx(1)
    mixed = Combination([one, two], "mixture")
    assert mixed.log_probability("A").log_probability > -np.inf


def test_bad_parameters(models):
    for arguments, message in [
        (([],), "models is empty"),
        ((models, "sum"), "rule is 'sum'"),
        ((models, "mean", [1]), "weights has 1 numbers for 2 models"),
        ((models, "mean", [1, 0]), "above 0"),
        ((models, "mean", [1, float("nan")]), "above 0"),
    ]:
        with pytest.raises(ParameterError, match=message):
            Combination(*arguments)
    with pytest.raises(InputError, match="surrogate"):
        Combination(models).next_byte("\ud800")


@pytest.mark.parametrize("rule", ["product", "mean", "mixture"])
def test_a_combination_scores_texts(models, rule):
    joined = Combination(models, rule, WEIGHTS)
    for text, score in zip(TEXTS, score_texts(joined, TEXTS), strict=True):
        found = joined.log_probability(text)
        assert (score.exact, score.end) == pytest.approx((-found.log_probability, -found.end), abs=1e-12)
        assert (score.characters, score.tokens) == (len(text), 0) and np.isnan(score.naive)
    with pytest.raises(InputError, match="line 2: "):
        list(score_texts(joined, ["A", "\ud800"], where="line "))
