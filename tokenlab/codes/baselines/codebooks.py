"""Codebooks without training: random codes, and the characters themselves (Latom, section 4.1.3)."""

import numpy as np

from tokenlab.codes.base.codebook import Codebook, atoms_per_digit
from tokenlab.codes.base.corpus import CharacterCorpus
from tokenlab.codes.base.interface import Unknown
from tokenlab.codes.options import CodeShape

_SHAPE = CodeShape()
_PERMUTED = 1 << 20
"""Largest number of codes that are permuted to draw some of them."""


def random_codebook(corpus: CharacterCorpus, shape: CodeShape = _SHAPE, *, unknown: Unknown = "error") -> Codebook:
    """A codebook with codes drawn without replacement: the baseline of section 4.1.3 at the same N and K.

    The codes are the first of `default_rng(seed).permutation(K^N)`. Where K^N is above 2^20 they are drawn by
    `default_rng(seed).choice`, which does not list all codes.

    Raises ParameterError where K^N < |C|, and InputError for a corpus of one character.
    """
    N, K = shape.N, atoms_per_digit(corpus.characters, shape.N, shape.K)
    size = len(corpus.characters)
    random = np.random.default_rng(shape.seed)
    codes = random.permutation(K**N)[:size] if K**N <= _PERMUTED else random.choice(K**N, size, replace=False)
    facts = {**corpus.facts(), "N": N, "K": K, "seed": shape.seed}
    return Codebook("random", N, K, corpus.characters, codes.astype(np.int64), unknown, facts)


def character_codebook(corpus: CharacterCorpus, *, unknown: Unknown = "error") -> Codebook:
    """The codebook in which each character is an atom: N = 1, K = |C|, in the order of code points."""
    size = len(corpus.characters)
    return Codebook("character", 1, size, corpus.characters, np.arange(size), unknown, corpus.facts())
