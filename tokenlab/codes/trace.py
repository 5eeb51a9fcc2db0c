"""Tokens over atoms, shown as people can read them (Latom, Table 4)."""

from collections.abc import Iterable

from tokenlab.codes.code import names_of, shown
from tokenlab.codes.codebook import Codebook
from tokenlab.errors import InputError


def trace_tokens(code: Codebook, encoded: str, lengths: Iterable[int]) -> str:
    """Tokens with spaces between them: whole characters as such (a space as ␣), atoms that a token holds of a character
    that it does not hold whole as ⟨a2⟩.

    encoded: atoms of whole characters, without byte escapes. lengths: atoms of each token, in order; they must cover
    `encoded`, or InputError is raised.
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
