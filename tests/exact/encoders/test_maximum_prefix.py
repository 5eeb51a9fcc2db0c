"""Maximum prefix encoding against all texts of small alphabets, and WordPiece; V* against its definition."""

import random

import pytest
from brute_encodings import check_endless, check_live_sequences, longest_match, random_tokens, state_after
from tokenizers import Tokenizer, models

from tokenlab.core.errors import InputError
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix, anchors
from tokenlab.exact.vocabulary import Vocabulary

PAPER = [b"A", b"B", b"AA", b"BAAB", b"BBAA", b"BBBA", b"BA", b"BBA"]


def paper_or_random(seed):
    return (b"AB", PAPER) if seed is None else random_tokens(random.Random(seed), 9)


@pytest.mark.parametrize("seed", [None, *range(20)])
def test_live_sequences(seed):
    alphabet, tokens = paper_or_random(seed)
    check_live_sequences(MaximumPrefix(Vocabulary(tokens)), lambda text: longest_match(tokens, text), tokens, alphabet)


@pytest.mark.parametrize("seed", [None, *range(12)])
def test_live_sequences_of_endless_texts(seed):
    alphabet, tokens = paper_or_random(seed)
    automaton = MaximumPrefix(Vocabulary(tokens), has_end=False)
    lengths = {2: (5, 12), 3: (3, 8), 4: (2, 6)}
    check_endless(automaton, lambda text: longest_match(tokens, text), tokens, alphabet, lengths)


@pytest.mark.parametrize("seed", range(6))
def test_encode_is_that_of_wordpiece(seed):
    rng = random.Random(seed)
    alphabet = "aé中"
    words = {"".join(rng.choices(alphabet, k=rng.randint(2, 4))) for _ in range(6)}
    tokens = [*alphabet, *sorted(words)]
    model = models.WordPiece(
        {token: id for id, token in enumerate([*tokens, "[UNK]"])}, unk_token="[UNK]", continuing_subword_prefix=""
    )
    peer, automaton = Tokenizer(model), MaximumPrefix(Vocabulary([token.encode() for token in tokens]))
    for _ in range(50):
        text = "".join(rng.choices(alphabet, k=rng.randint(0, 12)))
        encoding = automaton.encode(text.encode())
        assert encoding == peer.encode(text).ids
        state_after(automaton, encoding)


def test_of_equal_tokens_the_first_is_produced():
    automaton = MaximumPrefix(Vocabulary([b"a", b"b", b"ab", b"ab"]))
    assert automaton.encode(b"abab") == [2, 2]
    assert automaton.step(automaton.start(), 3) is None
    assert automaton.allowed(automaton.start()).tolist() == [True, True, False, True]


def test_alphabet_not_contained_in_the_vocabulary():
    with pytest.raises(InputError, match=r"not contained .*: 'b', 'é';"):
        MaximumPrefix(Vocabulary([b"a", b"ab", "é!".encode(), b"!"]))
    with pytest.raises(InputError, match="byte 0xff"):
        MaximumPrefix(Vocabulary([b"a", b"a\xff"]))
    MaximumPrefix(Vocabulary([b"\xff", b"a", b"a\xff"]))


def test_text_outside_the_alphabet():
    with pytest.raises(InputError, match=r"at byte 2 .'中'."):
        MaximumPrefix(Vocabulary([b"a", b"aa"])).encode("aa中".encode())


def test_anchors_of_the_paper():
    found = anchors(Vocabulary(PAPER))
    assert [token for token, anchor in zip(PAPER, found, strict=True) if anchor] == [b"BAAB", b"BBAA", b"BBBA"]


def test_anchors_by_definition():
    rng = random.Random(0)
    for _ in range(100):
        tokens = [bytes(rng.choices(b"ab", k=rng.randint(1, 5))) for _ in range(8)] + [None]
        rng.shuffle(tokens)
        truth = [
            token is not None and not any(other and token in other for j, other in enumerate(tokens) if i != j)
            for i, token in enumerate(tokens)
        ]
        assert anchors(Vocabulary(tokens)).tolist() == truth
