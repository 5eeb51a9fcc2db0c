"""Unigram encodings against all texts of small alphabets, and against Hugging Face's `Unigram`."""

import random

import pytest
from brute_encodings import best_path, check_endless, check_live_sequences, random_tokens, state_after
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_live_sequences_of_endless_texts(seed):
    alphabet, tokens, scores = random_case(seed)
    automaton = Unigram(Vocabulary(tokens), scores, has_end=False)
    lengths = {2: (4, 12), 3: (3, 8), 4: (2, 7)}
    check_endless(automaton, lambda text: best_path(tokens, scores, text), tokens, alphabet, lengths)


def with_peer(seed, byte_fallback):
    """A vocabulary with characters of several bytes; with byte tokens, some characters of its tokens are no tokens."""
    rng = random.Random(seed)
    alphabet = "aéñ中" if byte_fallback else "aé中"
    singles = list("aé中")
    words = sorted({"".join(rng.choices(alphabet, k=rng.randint(2, 3))) for _ in range(10)})
    pieces = singles + words
    scores = [-rng.uniform(1, 8) for _ in pieces]
    if byte_fallback:
        pieces, scores = [*pieces, *(f"<0x{b:02X}>" for b in range(256))], scores + [0.0] * 256
    tokens = [piece.encode() for piece in singles + words] + [bytes([b]) for b in range(256)] * byte_fallback
    peer = Tokenizer(models.Unigram([("<unk>", -9.0), *zip(pieces, scores, strict=True)], 0, byte_fallback))
    vocabulary = Vocabulary([None, *tokens])
    byte_ids = range(len(vocabulary.tokens) - 256, len(vocabulary.tokens)) if byte_fallback else None
    unknown = min(-9.0, *scores) - 10
    return rng, peer, Unigram(vocabulary, [-9.0, *scores], byte_fallback=byte_ids, unknown=unknown)


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_hugging_face(seed, byte_fallback):
    rng, peer, automaton = with_peer(seed, byte_fallback)
    alphabet = "aéñ中😀" if byte_fallback else "aé中"
    for _ in range(30):
        text = "".join(rng.choices(alphabet, k=rng.randint(0, 12)))
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


def test_steps_and_masks_agree_inside_characters():
    _, _, automaton = with_peer(0, True)
    state = automaton.start()
    for byte in "😀".encode():
        assert automaton.allowed(state).tolist() == [
            automaton.step(state, id) is not None for id in automaton.vocabulary.ids.tolist()
        ]
        state = automaton.step(state, len(automaton.vocabulary.tokens) - 256 + byte)
        assert automaton.may_end(state) == (byte == "😀".encode()[-1])


def test_bad_input():
    with pytest.raises(InputError, match="score for each of the 2 ids"):
        Unigram(Vocabulary([b"a", b"b"]), [-1.0])
    automaton = Unigram(Vocabulary([b"a", b"b"]), [-1.0, -2.0])
    with pytest.raises(InputError, match="'c' at byte 1"):
        automaton.encode(b"ac")
    with pytest.raises(InputError, match="not UTF-8 at byte 1"):
        automaton.encode(b"a\xff")
