"""Unigram encodings against all texts of small alphabets, and against Hugging Face's `Unigram`."""

import random

import pytest
from brute_encodings import best_path, check_live_sequences, random_tokens, state_after
from tokenizers import Tokenizer, models

from tokenlab.core.errors import InputError
from tokenlab.exact.encoders.unigram import Unigram
from tokenlab.exact.vocabulary import Vocabulary


def random_case(seed):
    """Tokens and scores; every second case has whole scores, and so many ties."""
    rng = random.Random(seed)
    alphabet, tokens = random_tokens(rng, 10)
    return alphabet, tokens, [-float(rng.randint(1, 5)) if seed % 2 else -rng.uniform(1, 6) for _ in tokens]


@pytest.mark.parametrize("seed", range(24))
def test_live_sequences(seed):
    alphabet, tokens, scores = random_case(seed)
    automaton = Unigram(Vocabulary(tokens), scores)
    check_live_sequences(automaton, lambda text: best_path(tokens, scores, text), tokens, alphabet)


@pytest.mark.parametrize("seed", range(8))
def test_hugging_face(seed):
    """A vocabulary with characters of several bytes."""
    rng = random.Random(seed)
    singles = list("aé中")
    words = sorted({"".join(rng.choices("aé中", k=rng.randint(2, 3))) for _ in range(10)})
    pieces = singles + words
    scores = [-rng.uniform(1, 8) for _ in pieces]
    peer = Tokenizer(models.Unigram([("<unk>", -9.0), *zip(pieces, scores, strict=True)], 0, False))
    automaton = Unigram(Vocabulary([None, *(piece.encode() for piece in pieces)]), [-9.0, *scores])
    for _ in range(30):
        text = "".join(rng.choices("aé中", k=rng.randint(0, 12)))
        encoding = peer.encode(text).ids
        assert automaton.encode(text.encode()) == encoding
        state = state_after(automaton, encoding)
        assert automaton.may_end(state)
        whole = text.encode()
        for position, id in enumerate(automaton.vocabulary.ids.tolist()):
            following = automaton.vocabulary.tokens[id]
            if len(following) > 1 or following.isascii():
                valid = peer.encode((whole + following).decode()).ids == [*encoding, id]
                assert automaton.allowed(state)[position] == valid
                assert (automaton.step(state, id) is not None) == valid


def test_an_unknown_character_is_worse_than_the_unknown_token():
    """Without `<unk>` in the smallest score, `ab` and an unknown `é` would be the best path."""
    vocabulary = [("<unk>", -100.0), ("ab", -0.1), ("a", -50.0), ("bé", -50.0), ("b", -1.0)]
    automaton = Unigram(
        Vocabulary([None, *(piece.encode() for piece, _ in vocabulary[1:])]), [score for _, score in vocabulary]
    )
    encoding = Tokenizer(models.Unigram(vocabulary, 0, False)).encode("abé").ids
    assert encoding == [2, 3]
    assert automaton.encode("abé".encode()) == encoding
    assert state_after(automaton, encoding) is not None


def test_bad_input():
    with pytest.raises(InputError, match="score for each of the 2 ids"):
        Unigram(Vocabulary([b"a", b"b"]), [-1.0])
    automaton = Unigram(Vocabulary([b"a", b"b"]), [-1.0, -2.0])
    with pytest.raises(InputError, match="'c' at byte 1"):
        automaton.encode(b"ac")
    with pytest.raises(InputError, match="not UTF-8 at byte 1"):
        automaton.encode(b"a\xff")
