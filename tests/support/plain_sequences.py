"""Sequences of symbols: as arrays, as strings, and their bigram bits token by token."""

import math
from itertools import pairwise

import numpy as np


def flat(sequences):
    """Lists of symbols as (symbols, offsets)."""
    offsets = np.cumsum([0] + [len(sequence) for sequence in sequences])
    return np.array([symbol for sequence in sequences for symbol in sequence], np.int32), offsets.astype(np.int64)


def unflat(symbols, offsets):
    """The lists again."""
    return [symbols[begin:end].tolist() for begin, end in pairwise(offsets)]


def private(sequence):
    """A sequence as a string, one private-use character a symbol."""
    return "".join(chr(0xE000 + symbol) for symbol in sequence)


def plain_bits(sequences):
    """- sum log2 c(before, token) / c(before), as the definition says."""
    pairs, contexts = {}, {}
    for sequence in sequences:
        for pair in pairwise(["BOS", *sequence]):
            pairs[pair] = pairs.get(pair, 0) + 1
            contexts[pair[0]] = contexts.get(pair[0], 0) + 1
    return -sum(count * math.log2(count / contexts[before]) for (before, _), count in pairs.items())


def texts_as_sequences(texts, atoms=1):
    """Texts as sequences over `atoms` symbols a character by a random code, and the size of its alphabet."""
    characters = sorted(set("".join(texts)))
    base = len(characters) if atoms == 1 else math.ceil(len(characters) ** (1 / atoms))
    codes = np.random.default_rng(0).permutation(base**atoms)[: len(characters)].tolist()
    digits = {
        character: [digit * base + code // base**digit % base for digit in range(atoms)]
        for character, code in zip(characters, sorted(codes) if atoms == 1 else codes, strict=True)
    }
    return [[symbol for character in text for symbol in digits[character]] for text in texts], atoms * base
