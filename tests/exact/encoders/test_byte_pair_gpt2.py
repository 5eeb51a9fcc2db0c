"""BPE with the merges of GPT-2 against Hugging Face's BPE."""

import json
import random
from itertools import pairwise

import pytest
from tokenizers import Tokenizer, models

from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.encoders.maximum_prefix import anchors
from tokenlab.exact.vocabulary import Vocabulary

TEXT = "The quick brown fox can't jump over 12345 lazy dogs.\n\n  def f(x):\n\treturn x\n中文, émigré, 😀\n"


def byte_characters():
    """The character for each byte in the files of GPT-2."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in kept]
    return {byte: chr(byte) for byte in kept} | {byte: chr(256 + n) for n, byte in enumerate(others)}


CHARACTERS = byte_characters()


def written(text):
    return "".join(CHARACTERS[byte] for byte in text)


@pytest.fixture(scope="module")
def gpt2(mirror):
    """Hugging Face's BPE without pre-tokenizer, and the automaton."""
    ids = json.loads((mirror / "gpt2/encoder.json").read_text())
    lines = (mirror / "gpt2/vocab.bpe").read_text(encoding="utf-8").split("\n")[1:-1]
    pairs = [tuple(line.split(" ")) for line in lines]
    bytes_of = {character: byte for byte, character in CHARACTERS.items()}
    tokens = [None] * len(ids)
    for name, id in ids.items():
        if name != "<|endoftext|>":
            tokens[id] = bytes(bytes_of[character] for character in name)
    merges = [(ids[left], ids[right], ids[left + right]) for left, right in pairs]
    return Tokenizer(models.BPE(ids, pairs)), BytePair(Vocabulary(tokens), merges)


def test_pairs(gpt2):
    """10,000 pairs: frequent ones, random ones, and ones that are cut out of a token."""
    peer, automaton = gpt2
    tokens, rng = automaton.vocabulary.tokens, random.Random(0)
    frequent = automaton.encode(TEXT.encode())
    pairs = list(pairwise(frequent)) + [(rng.choice(frequent), rng.choice(frequent)) for _ in range(3000)]
    pairs += [(rng.randrange(50256), rng.randrange(50256)) for _ in range(3000)]
    for _ in range(4000):
        token = tokens[rng.randrange(256, 50256)]
        cut = rng.randrange(1, len(token))
        pairs.append((automaton.encode(token[:cut])[-1], automaton.encode(token[cut:])[0]))
    masks, position = {}, {id: p for p, id in enumerate(automaton.vocabulary.ids.tolist())}
    valid = 0
    for left, right in pairs:
        if left not in masks:
            masks[left] = automaton.allowed(automaton.step(automaton.start(), left))
        truth = peer.encode(written(tokens[left] + tokens[right])).ids == [left, right]
        assert masks[left][position[right]] == truth, (left, right)
        valid += truth
    assert 2500 < valid < 7500


def test_encode(gpt2):
    peer, automaton = gpt2
    rng = random.Random(1)
    for _ in range(100):
        text = bytes(rng.choices(TEXT.encode(), k=rng.randint(1, 60)))
        assert automaton.encode(text) == peer.encode(written(text)).ids


def test_ranks_and_merges_allow_the_same(gpt2):
    """The ids of GPT-2 are in the order of the merges; ties of ranks only matter where tokens overlap themselves."""
    _, automaton = gpt2
    by_rank = BytePair.from_ranks(automaton.vocabulary, [*range(50256), None])
    for token in random.Random(2).sample(range(50256), 60):
        first, second = (a.allowed(a.step(a.start(), token)) for a in (automaton, by_rank))
        assert (first == second).mean() > 0.9999


def test_anchors(gpt2):
    tokens = gpt2[1].vocabulary.tokens
    found = anchors(gpt2[1].vocabulary)
    text = b"\n".join(token for token in tokens if token is not None)
    for id in random.Random(3).sample(range(50256), 300):
        if text.count(tokens[id]) == 1:
            assert found[id]
        elif b"\n" not in tokens[id]:
            assert not found[id]
