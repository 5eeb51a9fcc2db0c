"""Decoding many sequences of a bit-level code at once, with a table of what tokens spell.

`BitTokenizer.decode_batch` does the same for ids with the tokens of the base alone.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tokenlab.codes.bits.decoding import Decoded, OnError, Spellings, decode_bytes
from tokenlab.codes.bits.over.tokenizer import BitTokenizer
from tokenlab.codes.bits.symbols import RESET
from tokenlab.core.errors import InputError

_END = 0xFF
"""A byte that no text has."""


def joined(sequences: Sequence[Any]) -> np.ndarray:
    """int64[n]: the ids of some sequences, one after the other."""
    return np.concatenate([np.asarray(ids, np.int64) for ids in sequences])


def decode_joined(
    bits: BitTokenizer, symbols: np.ndarray, lengths: Sequence[int], table: Spellings, on_error: OnError
) -> list[Decoded]:
    """The text of each of some sequences of symbols, one after the other; see `BitTokenizer.decode` for errors.

    They are decoded at once where nothing is undecodable, else one by one.
    """
    ends = np.cumsum(lengths)
    texts = _valid(bits, symbols, ends, table)
    if texts is None:
        return [bits.decode_symbols(part, table, on_error) for part in np.split(symbols, ends[:-1])]
    return [Decoded(text.removeprefix(" ") if bits.base.prefix else text, []) for text in texts]


def _valid(bits: BitTokenizer, symbols: np.ndarray, ends: np.ndarray, table: Spellings) -> list[str] | None:
    """The texts of sequences, None where there are errors.

    After each sequence come a reset, so that no run goes on, and a byte that no text has.
    """
    ended = np.insert(symbols, np.repeat(ends, 2), np.tile([RESET, _END], len(ends)))
    try:
        parts = decode_bytes(ended, table, bits.options.emission).split(bytes([_END]))
        return [part.decode() for part in parts[:-1]] if len(parts) == len(ends) + 1 else None
    except (InputError, UnicodeDecodeError):
        return None
