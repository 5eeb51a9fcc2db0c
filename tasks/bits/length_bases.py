"""The base vocabularies over which lengths are measured: known characters, and tokenizers that fall back to bytes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tokenlab.codes.bits.bit_code import CharacterBits
from tokenlab.codes.bits.over.bases import Base
from tokenlab.codes.bits.over.tokenizer import bit_ids
from tokenlab.codes.bits.symbols import ADDED

CHARACTERS = "characters"
"""The name of the bases of known characters."""
NO_BASE = "none"
"""What stands for it in the rows of codes that have no base vocabulary."""


class LengthBase(NamedTuple):
    """A base vocabulary."""

    name: str
    known: int | None
    """How many of the most frequent characters were to be tokens; None for tokenizers."""
    size: int
    """Nominal |V| of plain byte fallback."""
    size_with_bits: int
    """Nominal |V| of a bit-level code over it."""
    others: int
    """Ids of tokens other than bytes are below it."""
    whole_characters: bool
    """Whether a character falls back as a whole; in byte-level BPE merges may leave single bytes."""
    symbols: Callable[[Sequence[str]], list[np.ndarray]]
    """Plain byte fallback of texts, int32 symbols (`tokenlab.codes.bits.symbols`)."""


def over_characters(known: str, number: int) -> LengthBase:
    """The 256 bytes and known characters."""
    bits = CharacterBits(known)

    def symbols(texts: Sequence[str]) -> list[np.ndarray]:
        return [bits.fallback(text) for text in texts]

    return LengthBase(CHARACTERS, number, bits.size - ADDED, bits.size, len(bits.known), True, symbols)


def over_tokenizer(base: Base, name: str) -> LengthBase:
    """The vocabulary of a tokenizer, which encodes without special tokens around a text."""
    ids = bit_ids(base.size, base.byte_ids)

    def symbols(texts: Sequence[str]) -> list[np.ndarray]:
        return [ids.base[found] for found in base.encode_batch(texts)]

    return LengthBase(name, None, base.size, ids.size, base.size, base.whole_characters, symbols)
