"""Vocabularies of the Markov experiments: tokenizer, automaton and the definitions of the paper agree."""

import brute_encodings
import pytest
from chain_vocabularies import PAPER_MERGES, PAPER_MPE
from plain_bpe import merged

from tasks.exact.markov_experiment import checked_automaton
from tasks.exact.vocabularies import MarkovVocabulary, tokenizer_of
from tokenlab.core.errors import ParameterError

MPE = MarkovVocabulary(encoder="maximum-prefix", tokens=tuple(PAPER_MPE))
BPE = MarkovVocabulary(encoder="byte-pair", merges=tuple(PAPER_MERGES))
TEXTS = [text.decode() for text in brute_encodings.texts(b"AB", 9, 1)]


def longest_match(text):
    tokens = [token.encode() for token in PAPER_MPE]
    return [PAPER_MPE[id] for id in brute_encodings.longest_match(tokens, text.encode())]


def algorithm_3(text):
    """Merge after merge, each from left to right."""
    tokens = list(text)
    for pair in PAPER_MERGES:
        tokens = merged(tokens, pair, "".join(pair))
    return tokens


@pytest.mark.parametrize(("vocabulary", "encoded"), [(MPE, longest_match), (BPE, algorithm_3)], ids=["mpe", "bpe"])
def test_the_tokenizer_encodes_as_the_paper_does(vocabulary, encoded):
    tokenizer = tokenizer_of(vocabulary, "AB").tokenizer
    for text in TEXTS:
        assert tokenizer.encode(text, add_special_tokens=False).tokens == encoded(text)


@pytest.mark.parametrize("vocabulary", [MPE, BPE], ids=["mpe", "bpe"])
def test_the_automaton_encodes_as_the_tokenizer(vocabulary):
    automaton = checked_automaton(vocabulary, "AB", TEXTS)
    assert not automaton.has_end and automaton.vocabulary.tokens[0] is None
    tokenizer = tokenizer_of(vocabulary, "AB").tokenizer
    assert [automaton.vocabulary.tokens[id].decode() for id in range(1, 9)] == [
        tokenizer.id_to_token(id) for id in range(1, 9)
    ]


@pytest.mark.parametrize(
    ("tokens", "complaint"),
    [(("A", "AA"), "lack 'B'"), (("A", "B", "AC"), "hold 'C'"), (("A", "B", "A"), "twice")],
)
def test_tokens_have_to_fit_the_alphabet(tokens, complaint):
    with pytest.raises(ParameterError, match=complaint):
        MarkovVocabulary(encoder="maximum-prefix", tokens=tokens).spelled("AB")
