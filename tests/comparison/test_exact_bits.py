"""Exact bits of a network over tokens: against a sum over all token strings of a tiny vocabulary."""

import numpy as np
import pytest
import torch
from brute_probabilities import Encodings, SlowAutomaton
from hashed_model import ByDefinition
from tokenizers import Tokenizer, models

from tokenlab.comparison.exact_bits import NetworkModel, exact_score
from tokenlab.exact.adapters.real import UnsupportedTokenizer
from tokenlab.exact.vocabulary import Vocabulary
from tokenlab.networks.options import StackShape, TokenShape
from tokenlab.networks.stored import build_network

VOCABULARY = {"a": 0, "b": 1, "ab": 2, "aba": 3}
TOKENIZER = Tokenizer(models.BPE(VOCABULARY, [("a", "b"), ("ab", "a")]))
NETWORK = build_network(TokenShape(4, StackShape(1, 16, 2, 16)), seed=3)
with torch.no_grad():  # Far from uniform.
    NETWORK.embedding.mul_(30)


class Alone:
    """The network, asked for one context after the other."""

    end = None

    def probabilities(self, ids):
        return torch.softmax(NetworkModel(NETWORK).forward([[4, *ids]])[0, -1].double(), -1).numpy()


ENCODINGS = Encodings(
    [token.encode() for token in VOCABULARY], lambda text: tuple(TOKENIZER.encode(text.decode()).ids), b"ab"
)
BY_DEFINITION = ByDefinition(Alone(), SlowAutomaton(Vocabulary(ENCODINGS.tokens), ENCODINGS))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    TOKENIZER.save(str(path))
    return path


@pytest.mark.parametrize("text", ["a", "b", "ab", "aab", "abab", "babba"])
def test_exact_bits_are_those_of_all_token_strings(tokenizer, text):
    score = exact_score(NETWORK, tokenizer, [text])
    assert score.exact == pytest.approx(-np.log(BY_DEFINITION.starts_with(text.encode())), rel=1e-5)
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
