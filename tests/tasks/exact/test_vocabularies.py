"""Vocabularies of the Markov experiments: tokenizer, automaton and the definitions of the paper agree."""

import itertools

import pytest

from tasks.exact.markov_experiment import checked_automaton
from tasks.exact.vocabularies import MarkovVocabulary, tokenizer_of
from tokenlab.core.errors import ParameterError

MPE = MarkovVocabulary(encoder="maximum-prefix", tokens=("A", "B", "AA", "BAAB", "BBAA", "BBBA", "BA", "BBA"))
BPE = MarkovVocabulary(
    encoder="byte-pair", merges=(("B", "A"), ("BA", "A"), ("B", "BAA"), ("A", "A"), ("BA", "BA"), ("B", "B"))
)
TEXTS = ["".join(letters) for length in range(1, 10) for letters in itertools.product("AB", repeat=length)]


def longest_prefixes(text):
    found = []
    while text:
        token = max((token for token in MPE.tokens if text.startswith(token)), key=len)
        found.append(token)
        text = text[len(token) :]
    return found


def algorithm_3(text):
    """Merge after merge, each from left to right."""
    tokens = list(text)
    for left, right in BPE.merges:
        merged, place = [], 0
        while place < len(tokens):
            together = tokens[place : place + 2] == [left, right]
            merged.append(left + right if together else tokens[place])
            place += 1 + together
        tokens = merged
    return tokens


@pytest.mark.parametrize(("vocabulary", "encoded"), [(MPE, longest_prefixes), (BPE, algorithm_3)], ids=["mpe", "bpe"])
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
