"""BPE against all texts of small alphabets, and against Hugging Face's BPE."""

import json
import random
from itertools import product

import pytest
from brute_encodings import (
    beginnings,
    check_endless,
    check_live_sequences,
    live_sequences,
    merge_lowest,
    random_merges,
    spelled,
    state_after,
    texts,
)
from tokenizers import Tokenizer, models, trainers
from unicode_text import is_utf8

from tokenlab.core.errors import InputError
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.vocabulary import Vocabulary

PAPER = [b"A", b"B", b"BA", b"BAA", b"BBAA", b"AA", b"BABA", b"BB"]
PAPER_MERGES = [(1, 0, 2), (2, 0, 3), (1, 3, 4), (0, 0, 5), (2, 2, 6), (1, 1, 7)]


def random_case(seed, shuffled=False):
    rng = random.Random(seed)
    alphabet = b"abcd"[: rng.choice([2, 2, 3, 4])]
    tokens, merges = random_merges(rng, alphabet, rng.randint(1, 10))
    if shuffled:
        rng.shuffle(merges)
    return alphabet, tokens, merges


def paper_or_random(seed, shuffled=False):
    return (b"AB", PAPER, PAPER_MERGES) if seed is None else random_case(seed, shuffled)


@pytest.mark.parametrize(("seed", "shuffled"), [(None, False), *product(range(40), (False, True))])
def test_live_sequences(seed, shuffled):
    """Shuffled, a merge may use a token that only a later merge makes: then ranks go up and down while one is made."""
    alphabet, tokens, merges = paper_or_random(seed, shuffled)
    automaton = BytePair(Vocabulary(tokens), merges)
    check_live_sequences(automaton, lambda text: merge_lowest(tokens, merges, text), tokens, alphabet)


@pytest.mark.parametrize("seed", range(12))
def test_pairs_of_many_merges(seed):
    """Every pair of tokens, with equal ranks and ranks in any order."""
    rng = random.Random(seed)
    tokens, merges = random_merges(rng, b"abc"[: rng.choice([1, 2, 3])], 20)
    ranks = [rng.randrange(12) for _ in merges]
    automaton = BytePair(Vocabulary(tokens), merges, ranks=ranks)
    for left, first in enumerate(tokens):
        state = automaton.step(automaton.start(), left)
        assert (state is not None) == (merge_lowest(tokens, merges, first, ranks) == (left,))
        for right, second in enumerate(tokens if state is not None else []):
            valid = merge_lowest(tokens, merges, first + second, ranks) == (left, right)
            assert (automaton.step(state, right) is not None) == valid


@pytest.mark.parametrize("seed", range(20))
def test_ranks(seed):
    """Ranks in an order that has nothing to do with how tokens are made, and equal ranks."""
    alphabet, tokens, _ = random_case(seed)
    ranks = [random.Random(seed).randrange(8) for _ in tokens]
    pairs = [(left, right) for left in range(len(tokens)) for right in range(len(tokens))]
    merges = [(x, y, tokens.index(tokens[x] + tokens[y])) for x, y in pairs if tokens[x] + tokens[y] in tokens]
    automaton = BytePair.from_ranks(Vocabulary(tokens), ranks)

    def encode(text):
        return merge_lowest(tokens, merges, text, [ranks[new] for _, _, new in merges])

    check_live_sequences(automaton, encode, tokens, alphabet)


@pytest.mark.parametrize("seed", [None, *range(12)])
def test_live_sequences_of_endless_texts(seed):
    alphabet, tokens, merges = paper_or_random(seed)
    automaton = BytePair(Vocabulary(tokens), merges, has_end=False)
    lengths = {2: (4, 11), 3: (3, 8), 4: (2, 6)}
    check_endless(automaton, lambda text: merge_lowest(tokens, merges, text), tokens, alphabet, lengths)


@pytest.mark.parametrize("seed", range(20))
def test_whole_words(seed):
    """Tokens that merging does not make are produced as whole words, and other spellings of them cannot end."""
    alphabet, tokens, merges = random_case(seed, shuffled=True)
    rng = random.Random(seed)
    for _ in range(3):
        atom = bytes(rng.choices(alphabet, k=rng.randint(2, 4)))
        if atom not in tokens:
            tokens.append(atom)
    longest = {2: 6, 3: 4, 4: 3}[len(alphabet)]

    def encode(text):
        return (tokens.index(text),) if text in tokens else merge_lowest(tokens, merges, text)

    automaton = BytePair(Vocabulary(tokens), merges, whole_words=True)
    truth = beginnings(encode, tokens, texts(alphabet, longest + 3), longest)
    found = live_sequences(automaton, longest)
    assert set(found) == truth
    for sequence, state in found.items():
        assert automaton.may_end(state) == (encode(spelled(tokens, sequence)) == sequence)
    assert all(tuple(automaton.encode(text)) == encode(text) for text in texts(alphabet, longest))


def trained(seed, alphabet, **options):
    """A tokenizer of Hugging Face trained on random text, without pre-tokenizer."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(alphabet, k=rng.randint(1, 5))) for _ in range(12)]
    text = ["".join(rng.choices(words, k=30)) for _ in range(20)]
    peer = Tokenizer(models.BPE(**options))
    peer.train_from_iterator(text, trainers.BpeTrainer(vocab_size=40, show_progress=False))
    return peer, rng


def parts(peer):
    """Tokens as bytes, and merges as ids."""
    model = json.loads(peer.to_str())["model"]
    ids = model["vocab"]
    tokens = [token.encode() for token, _ in sorted(ids.items(), key=lambda item: item[1])]
    return tokens, [(ids[left], ids[right], ids[left + right]) for left, right in model["merges"]]


@pytest.mark.parametrize("whole_words", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_trained_tokenizers(seed, whole_words):
    peer, rng = trained(seed, "abé中", ignore_merges=whole_words)
    tokens, merges = parts(peer)
    automaton = BytePair(Vocabulary(tokens), merges, whole_words=whole_words)
    walk_encodings(automaton, peer, ["".join(rng.choices("abé中", k=rng.randint(0, 25))) for _ in range(150)])
    for left, first in enumerate(tokens):
        state = automaton.step(automaton.start(), left)
        for right, second in enumerate(tokens):
            valid = peer.encode((first + second).decode()).ids == [left, right]
            assert (automaton.step(state, right) is not None) == valid


def walk_encodings(automaton, peer, strings):
    for text in strings:
        encoding = peer.encode(text).ids
        assert automaton.encode(text.encode()) == encoding
        assert automaton.may_end(state_after(automaton, encoding))


def with_byte_tokens(seed):
    peer, rng = trained(seed, "abé")
    tokens, merges = parts(peer)
    names = [*(token.decode() for token in tokens), *(f"<0x{byte:02X}>" for byte in range(256))]
    pairs = [(names[left], names[right]) for left, right, _ in merges]
    peer = Tokenizer(models.BPE({name: id for id, name in enumerate(names)}, pairs, byte_fallback=True))
    byte_ids = range(len(tokens), len(tokens) + 256)
    return peer, rng, Vocabulary(tokens + [bytes([byte]) for byte in range(256)]), merges, byte_ids


@pytest.mark.parametrize("seed", range(4))
def test_byte_fallback(seed):
    peer, rng, vocabulary, merges, byte_ids = with_byte_tokens(seed)
    automaton = BytePair(vocabulary, merges, byte_fallback=byte_ids)
    strings = ["".join(rng.choices("abéñ中😀\n", k=rng.randint(0, 12))) for _ in range(150)]
    walk_encodings(automaton, peer, strings)
    truth = {tuple(encoding[:n]) for text in strings for encoding in [peer.encode(text).ids] for n in range(99)}
    for sequence in rng.sample(sorted(truth), 100):
        state = state_after(automaton, sequence)
        whole = b"".join(vocabulary.tokens[token] or b"" for token in sequence)
        assert automaton.may_end(state) == is_utf8(whole)
        for position, id in enumerate(vocabulary.ids.tolist() if is_utf8(whole) else []):
            following = vocabulary.tokens[id]
            if len(following) > 1 or following.isascii():
                valid = peer.encode((whole + following).decode()).ids == [*sequence, id]
                assert automaton.allowed(state)[position] == valid


def test_bytes_of_a_character():
    """Byte tokens spell whole characters, and none that is a token."""
    tokens = ["é".encode(), b"a"]
    automaton = BytePair(Vocabulary(tokens + [bytes([b]) for b in range(256)]), [], byte_fallback=range(2, 258))
    state = automaton.start()
    first = [id - 2 for id in automaton.vocabulary.ids[automaton.allowed(state)].tolist() if id >= 2]
    assert first == [b for b in range(256) if (b < 0x80 or 0xC2 <= b < 0xF5) and b != ord("a")]
    state = automaton.step(state, 2 + 0xC3)
    assert automaton.step(state, 1) is None and not automaton.may_end(state)
    second = [id - 2 for id in automaton.vocabulary.ids[automaton.allowed(state)].tolist()]
    assert second == [b for b in range(0x80, 0xC0) if b != 0xA9]
    surrogate = automaton.step(automaton.start(), 2 + 0xED)
    assert max(automaton.vocabulary.ids[automaton.allowed(surrogate)].tolist()) == 2 + 0x9F
    with pytest.raises(InputError, match="not UTF-8 at byte 1"):
        automaton.encode(b"a\xff")


def test_absent_characters():
    automaton = BytePair(
        Vocabulary([b" ", *(bytes([b]) for b in range(256))]), [], byte_fallback=range(1, 257), absent=["▁".encode()]
    )
    state = state_after(automaton, [1 + byte for byte in "▁".encode()[:-1]])
    assert automaton.step(state, 1 + "▁".encode()[-1]) is None and automaton.allowed(state).sum() == 63


def test_wrong_merges():
    vocabulary = Vocabulary([b"a", b"b", b"ab", b"ba"])
    with pytest.raises(InputError, match=r"merge 1 .*does not spell"):
        BytePair(vocabulary, [(0, 1, 2), (0, 1, 3)])
    with pytest.raises(InputError, match="outside the vocabulary"):
        BytePair(vocabulary, [(0, 1, 4)])
    with pytest.raises(InputError, match="'c' at byte 1"):
        BytePair(vocabulary, [(0, 1, 2)]).encode(b"ac")


def test_byte_tokens_that_are_special_are_never_allowed():
    """They spell no text. No other token may be allowed in their place."""
    tokens = [None] * 256 + [b"a", b"b", b"ab"]
    automaton = BytePair(Vocabulary(tokens), [(256, 257, 258)], byte_fallback=range(256))
    state = automaton.step(automaton.start(), 256)
    assert automaton.vocabulary.ids[automaton.allowed(state)].tolist() == [256, 258]
    assert automaton.step(state, 257) is None
