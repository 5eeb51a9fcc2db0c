"""Tokens over atoms as text that people can read, at growing vocabulary sizes (Latom, Table 4)."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tokenlab.codes.codebook import Codebook
from tokenlab.codes.interface import atom_numbers, names_of, shown
from tokenlab.core.errors import InputError
from tokenlab.tokenizers.merges import token_widths, tokenize

_SIZES = 6


class TracedText(NamedTuple):
    """A text cut into tokens: a row of Table 4."""

    vocabulary: int
    """Entries of the vocabulary, the alphabet included."""
    tokens: int
    """Number of tokens."""
    text: str
    """The tokens, as `trace_tokens` prints them."""


def trace_sizes(
    code: Codebook, text: str, atoms: np.ndarray, merges: np.ndarray, largest: int, steps: int = _SIZES
) -> list[TracedText]:
    """A text cut by BPE at vocabulary sizes from the alphabet to `largest`.

    Args:
        text: characters of the codebook.
        atoms: the number of the atom of each symbol 0, 1, ... of the merges.
        merges: int32[merges, 2] of `bpe_sweep` over these symbols.
        largest: the last vocabulary size, such as |C|; the alphabet where that is larger.
        steps: sizes at equal distances; equal ones are traced once.
    """
    encoded = code.encode(text)
    symbols = np.searchsorted(atoms, atom_numbers(encoded)).astype(np.int32)
    offsets = np.array([0, len(symbols)])
    alphabet = len(atoms)
    widths = token_widths(alphabet, merges)
    rows = []
    for size in sorted({round(size) for size in np.linspace(alphabet, max(largest, alphabet), steps)}):
        tokens = tokenize(symbols, offsets, alphabet, merges[: size - alphabet])[0]
        rows.append(TracedText(size, len(tokens), trace_tokens(code, encoded, widths[tokens].tolist())))
    return rows


def trace_tokens(code: Codebook, encoded: str, lengths: Iterable[int]) -> str:
    """Tokens with spaces between them: whole characters as themselves (a space as ␣), and atoms of a character that the
    token holds only in part as ⟨a2⟩.

    Args:
        encoded: atoms of whole characters, without byte escapes.
        lengths: atoms of each token, in order.

    Raises InputError where the lengths do not add up to that of `encoded`.
    """
    names, tokens, start = names_of(code), [], 0
    for length in lengths:
        tokens.append(_token(code, encoded, start, start + length, names))
        start += length
    if start != len(encoded):
        raise InputError(f"tokens of {start} atoms do not cover a text of {len(encoded)}")
    return " ".join(tokens)


def _token(code: Codebook, encoded: str, start: int, end: int, names: dict[str, str]) -> str:
    pieces, position = [], start
    while position < end:
        if position % code.N == 0 and position + code.N <= end:
            character = code.decode(encoded[position : position + code.N])
            pieces.append("␣" if character == " " else shown(character))
            position += code.N
        else:
            pieces.append(f"⟨{names[encoded[position]]}⟩")
            position += 1
    return "".join(pieces)
