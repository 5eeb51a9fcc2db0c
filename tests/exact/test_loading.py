"""A saved model with its tokenizer: the ids that begin and end a text, and probabilities by brute force."""

import numpy as np
import pytest
import tiny_models

from tokenlab.core.errors import InputError
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.loading import load


def test_a_model_with_its_tokenizer(tmp_path):
    tiny_models.save_bytes(tmp_path, 300)
    model, real = load(tmp_path)
    assert (model.start, model.end, model.limit) == ((300,), 300, 63)
    assert real.automaton.encode("共同".encode()) == real.tokenizer.encode("共同").ids
    characters = CharacterModel(model, real.automaton)
    found = characters.next_byte("共同创造hel")
    assert abs(found.total) < 1e-10
    step = characters.log_probability("共同创造hell").log_probability
    before = characters.log_probability("共同创造hel").log_probability
    assert np.isclose(step - before, found.log_probability[ord("l")], atol=1e-4)


def test_end_by_the_configuration_of_the_model(tmp_path):
    tiny_models.save_bytes(tmp_path, 290)
    settings = tmp_path / "tokenizer_config.json"
    tiny_models.edit_json(settings, eos_token=None)
    tiny_models.edit_json(tmp_path / "config.json", eos_token_id=[290, 7])
    (tmp_path / "generation_config.json").unlink(missing_ok=True)
    assert load(tmp_path)[0].end == 290


def test_bad_input(tmp_path):
    tiny_models.save_bytes(tmp_path / "none", with_bos=False)
    with pytest.raises(InputError, match="no start token"):
        load(tmp_path / "none")
    with pytest.raises(InputError, match="no such folder"):
        load(tmp_path / "missing")
