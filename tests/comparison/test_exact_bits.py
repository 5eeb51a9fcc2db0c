"""Exact bits of a network over tokens: against a sum over all token strings of a tiny vocabulary."""

from itertools import product

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models

from tokenlab.comparison.exact_bits import NetworkModel, exact_score
from tokenlab.exact.adapters.real import UnsupportedTokenizer
from tokenlab.networks.options import StackShape, TokenShape
from tokenlab.networks.stored import build_network

VOCABULARY = {"a": 0, "b": 1, "ab": 2, "aba": 3}
TOKENIZER = Tokenizer(models.BPE(VOCABULARY, [("a", "b"), ("ab", "a")]))
SPELLINGS = {id: token for token, id in VOCABULARY.items()}
NETWORK = build_network(TokenShape(4, StackShape(1, 16, 2, 16)), seed=3)
with torch.no_grad():  # Far from uniform.
    NETWORK.embedding.mul_(30)


def valid(ids):
    """Whether a text's encoding begins so: of this tokenizer, where the text ends there."""
    return TOKENIZER.encode("".join(SPELLINGS[id] for id in ids)).ids == list(ids)


def next_token(ids):
    """float64[4]: the model's probabilities after a context, computed alone; those of impossible tokens removed."""
    logits = NetworkModel(NETWORK).forward([[4, *ids]])[0, -1].double().numpy()
    found = np.exp(logits - logits.max()) * [valid([*ids, token]) for token in range(4)]
    return found / found.sum()


def by_enumeration(text):
    """P(text...): the sum over all token strings whose last token alone reaches the end of the text, or beyond it."""
    total = 0.0
    for length in range(1, len(text) + 1):
        for ids in product(range(4), repeat=length):
            spelled = "".join(SPELLINGS[id] for id in ids)
            before = len(spelled) - len(SPELLINGS[ids[-1]])
            if valid(ids) and spelled.startswith(text) and before < len(text):
                total += np.prod([next_token(ids[:place])[id] for place, id in enumerate(ids)])
    return total


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    TOKENIZER.save(str(path))
    return path


@pytest.mark.parametrize("text", ["a", "b", "ab", "aab", "abab", "babba"])
def test_exact_bits_are_those_of_all_token_strings(tokenizer, text):
    score = exact_score(NETWORK, tokenizer, [text])
    assert score.exact == pytest.approx(-np.log(by_enumeration(text)), rel=1e-5)
    ids = TOKENIZER.encode(text).ids
    logits = NetworkModel(NETWORK).forward([[4, *ids]])[0].double()
    plain = torch.log_softmax(logits, -1)[range(len(ids)), ids].sum().item()
    assert score.naive == pytest.approx(-plain, rel=1e-5) and score.bytes == len(text)


def test_texts_are_added_up_and_other_tokenizers_refused(tokenizer, tmp_path):
    both, one, other = (exact_score(NETWORK, tokenizer, texts) for texts in (["ab", "bab"], ["ab"], ["bab"]))
    assert both.exact == pytest.approx(one.exact + other.exact) and both.bytes == 5
    Tokenizer(models.BPE(VOCABULARY, [], end_of_word_suffix="b")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(UnsupportedTokenizer, match="depend on their place"):
        exact_score(NETWORK, tmp_path / "tokenizer.json", ["ab"])
