"""V* against its definition."""

import random

from tokenlab.exact.encoders.maximum_prefix import anchors
from tokenlab.exact.vocabulary import Vocabulary


def test_the_vocabulary_of_the_paper():
    tokens = [b"A", b"B", b"AA", b"BAAB", b"BBAA", b"BBBA", b"BA", b"BBA"]
    found = anchors(Vocabulary(tokens))
    assert [token for token, anchor in zip(tokens, found, strict=True) if anchor] == [b"BAAB", b"BBAA", b"BBBA"]


def test_random_vocabularies():
    rng = random.Random(0)
    for _ in range(100):
        tokens = [bytes(rng.choices(b"ab", k=rng.randint(1, 5))) for _ in range(8)] + [None]
        rng.shuffle(tokens)
        truth = [
            token is not None and not any(other and token in other for j, other in enumerate(tokens) if i != j)
            for i, token in enumerate(tokens)
        ]
        assert anchors(Vocabulary(tokens)).tolist() == truth
