"""Three ways to complete a prompt, against all token sequences of tiny vocabularies."""

from itertools import product

import numpy as np
import pytest
from brute_probabilities import TableModel
from hashed_model import ByDefinition, character_model

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.completion import complete
from tokenlab.exact.encoders.every import EveryEncoding
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.options import CompletionOptions
from tokenlab.exact.vocabulary import Vocabulary

END = 8
VOCABULARY = Vocabulary([b"A", b"B", b"AA", b"BAAB", b"BBAA", b"BBBA", b"BA", b"BBA", None])
WORDS = Vocabulary([b"t", b"h", b"e", b"th", b"the", b" ", b"r", b"there", None])


@pytest.fixture(scope="module")
def model():
    return character_model(MaximumPrefix(VOCABULARY), END, seed=6)


class Favourite(TableModel):
    """A model of `the there there there`; it knows nothing after other tokens than these."""

    def _logits(self, tokens):
        found = np.zeros(self.size)
        if not tokens or tokens[-1] in (4, 5, 7):  # the, space, there
            found[4 if not tokens else 7 if tokens[-1] == 5 else 5] = 12
        return found


@pytest.mark.parametrize("method", ["greedy", "sample", "beam"])
@pytest.mark.parametrize("prompt", ["", "A", "BB", "ABBA"])
def test_exact_probabilities_are_those_of_the_texts(model, method, prompt):
    truth = ByDefinition(model.model, model.automaton)
    for seed in range(3):
        for found in complete(model, prompt, CompletionOptions(length=3, method=method, seed=seed)):
            text = (prompt + found.text).encode()
            p = truth.is_text(text) if found.ended else truth.starts_with(text)
            assert found.exact == pytest.approx(np.log(p / truth.starts_with(prompt.encode())), abs=1e-9)
            assert len(found.text) == 3 or found.ended


def test_greedy_takes_the_most_probable_character_each_time(model):
    found, text = complete(model, "AB", CompletionOptions(length=5)).exact, b"AB"
    truth = ByDefinition(model.model, model.automaton)
    for character in found.text:
        p = {choice: truth.starts_with(text + choice) for choice in (b"A", b"B")} | {b"": truth.is_text(text)}
        assert character.encode() == max(p, key=p.get)
        text += character.encode()
    assert found.log_probability == pytest.approx(found.exact, abs=1e-9)
    assert found.tokens == ()


def test_a_wide_beam_finds_the_most_probable_tokens(model):
    truth = ByDefinition(model.model, model.automaton)
    for prompt in (b"", b"BB", b"AB"):
        best = (-np.inf, b"")
        for tokens in (t for length in range(6) for t in product(range(END), repeat=length)):
            text = b"".join(VOCABULARY.tokens[token] for token in tokens)
            before = b"".join(VOCABULARY.tokens[token] for token in tokens[:-1])
            if not text.startswith(prompt[: len(text)]) or len(before) >= len(prompt) + 2:
                continue
            p = 1.0
            for place, token in enumerate(tokens):
                p *= truth.following(tokens[:place])[0].get(token, 0.0)
                if not p:
                    break
            else:
                if len(text) >= len(prompt):
                    best = max(best, (np.log(p * truth.following(tokens)[1]), text))
                if len(text) >= len(prompt) + 2:
                    best = max(best, (np.log(p), text))
        found = complete(model, prompt, CompletionOptions(length=2, method="beam", beams=200)).exact
        given = np.log(truth.starts_with(prompt))
        assert (prompt.decode() + found.text) == best[1][: len(prompt) + 2].decode()
        assert found.log_probability == pytest.approx(best[0] - given, abs=1e-9)


def test_plain_and_healing_by_definition(model):
    """Greedy tokens after the encoding, and after it without its last token."""
    every = ByDefinition(model.model, EveryEncoding(VOCABULARY, model.automaton.encode))
    prompt = "ABB"
    tokens = model.automaton.encode(prompt.encode())
    found = complete(model, prompt, CompletionOptions(length=1))
    following, end = every.following(tuple(tokens))
    best = max(following, key=following.get)
    assert following[best] > end
    assert found.plain.text == VOCABULARY.tokens[best].decode()[:1]
    assert found.plain.log_probability == pytest.approx(np.log(following[best]), abs=1e-9)
    dropped = VOCABULARY.tokens[tokens[-1]]
    following, _ = every.following(tuple(tokens[:-1]))
    fitting = {token: p for token, p in following.items() if VOCABULARY.tokens[token].startswith(dropped)}
    best = max(fitting, key=fitting.get)
    assert found.healing.tokens[0] == VOCABULARY.tokens[best]
    if len(VOCABULARY.tokens[best]) > len(dropped):
        expected = np.log(fitting[best] / sum(fitting.values()))
        assert found.healing.log_probability == pytest.approx(expected, abs=1e-9)


def test_a_prompt_that_ends_inside_a_word():
    """After the token `th` the model knows nothing, so plain prompting goes astray, and the two others do not."""
    favourite = CharacterModel(Favourite(9, end=8), MaximumPrefix(WORDS))
    for method in ("greedy", "beam"):
        found = complete(favourite, "the th", CompletionOptions(length=7, method=method))
        assert found.exact.text == found.healing.text == "ere the"
        assert found.plain.text != "ere the" and found.plain.exact < found.exact.exact - 5
        assert found.healing.tokens == (b"there", b" ", b"there")
        assert found.exact.exact == pytest.approx(0, abs=0.01)


def test_a_prompt_that_ends_inside_a_character():
    vocabulary = Vocabulary([b"a", b"\xc3", b"\xa9", b"\xc3\xa9", b"a\xc3", b"\xa9a", None])
    model = character_model(MaximumPrefix(vocabulary), 6)
    for method in ("greedy", "sample", "beam"):
        for found in complete(model, b"a\xc3", CompletionOptions(length=2, method=method)):
            assert found.text[0] == "é"


def test_bad_input(model):
    for prompt, message in [("A\ud800", "surrogate"), (b"\xff", "not UTF-8"), ("Ax", "'x'")]:
        with pytest.raises(InputError, match=message):
            complete(model, prompt)
    for options in ({"length": 0}, {"beams": 0}, {"healed": 0}, {"seed": -1}, {"method": "best"}):
        with pytest.raises(ParameterError, match=next(iter(options))):
            CompletionOptions(**options)
