"""Tokens of bit-level codes as people read them: `T:x B:E4 P:39 N:05C R`.

`T:` is a known character, `B:` a raw byte, `N:` a payload, `P:` a prefix, `R` a reset; numbers are upper-case
hexadecimal. On lines of text, whitespace, controls and backslashes in `T:` are \\uXXXX or \\UXXXXXXXX; in JSON, `T:`
holds the character itself. `N:05C` and `B:5C` are one symbol: which is printed depends on the symbols before it.
"""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tokenlab.codes.bits.options import Emission
from tokenlab.codes.bits.symbols import LONG, OTHER, PREFIX, RESET, is_first, is_second, symbol_name
from tokenlab.core.errors import InputError

_ESCAPE = re.compile(r"\\u([0-9A-F]{4})|\\U([0-9A-F]{8})")
_TOKENS = "tokens are T:x, B:00 to B:FF, N:000 to N:1FF, P:38 to P:3B and R"


def payload_places(symbols: np.ndarray, emission: Emission = "run") -> np.ndarray:
    """Which symbols of an encoded text are payloads, bool[n].

    First and second payloads alternate from a prefix on, until a symbol is not what comes next. With the emission
    "change", all that look like first payloads while a prefix is in force are, since bytes have a reset before them.
    """
    place, first, second = np.arange(len(symbols)), is_first(symbols), is_second(symbols)
    prefix = _last((symbols >= PREFIX) & (symbols < RESET))
    if emission == "change":
        first &= prefix > _last(symbols == RESET)
        second[1:] &= first[:-1]
        second[:1] = False
        return first | second
    expected = np.where((place - prefix) % 2 == 1, first, second)
    unexpected = np.cumsum(~expected)
    return (symbols < PREFIX) & (prefix >= 0) & (unexpected == unexpected[prefix])


def tokens_of_characters(symbols: np.ndarray, starts: np.ndarray, emission: Emission = "run") -> np.ndarray:
    """The number of tokens that each character is encoded with, int64[characters].

    A prefix or reset counts with the character after it.

    Args:
        symbols: int32[n], encoded texts one after the other; all of them valid UTF-8.
        starts: int64[texts + 1]: where each begins and the last ends.
    """
    ends = starts[1:-1]
    separated = np.insert(symbols, ends, RESET)  # No run goes from one text into the next.
    payload = payload_places(separated, emission)
    begins_bytes = (separated < LONG) & (separated & 0xC0 != 0x80)
    begins = (separated >= OTHER) | np.where(payload, is_first(separated), begins_bytes)
    ahead = (separated >= PREFIX) & (separated < OTHER)
    character = np.delete(np.cumsum(begins) - 1 + ahead, ends + np.arange(len(ends)))
    return np.bincount(character)


def _last(marked: np.ndarray) -> np.ndarray:
    """The last marked place up to each place, int64[n]; -1 where there is none."""
    return np.maximum.accumulate(np.where(marked, np.arange(len(marked)), -1))


class TokenPrinter:
    """Prints the symbols of one vocabulary.

    Args:
        known: the known characters, in the order of their ids.
        emission: how the symbols were encoded.
        escaped: False leaves every character in `T:` as it is, for JSON.
    """

    def __init__(self, known: str, emission: Emission = "run", *, escaped: bool = True) -> None:
        self._names = [symbol_name(symbol) for symbol in range(OTHER)]
        self._names += ["T:" + (_escaped(character) if escaped else character) for character in known]
        self._short_payloads = len(self._names)
        self._names += map(_payload_name, range(LONG))
        self._emission = emission

    def print(self, symbols: NDArray[np.int32]) -> list[str]:
        """The tokens of an encoded text; int32[n] symbols."""
        short = (symbols < LONG) & payload_places(symbols, self._emission)
        return [self._names[place] for place in (symbols + self._short_payloads * short).tolist()]


def _payload_name(payload: int) -> str:
    return f"N:{payload:03X}"


def _escaped(character: str) -> str:
    # Controls of text format (Cf) are as invisible as the others. Unassigned and private characters stay: which these
    # are depends on the version of Unicode.
    if character != "\\" and not character.isspace() and unicodedata.category(character) not in ("Cc", "Cf"):
        return character
    point = ord(character)
    return f"\\u{point:04X}" if point < 0x10000 else f"\\U{point:08X}"


class TokenParser:
    """Reads printed tokens.

    Args:
        known: the known characters, in the order of their ids. None takes every character; its id is its code point.
        escaped: False takes what stands in `T:` as it is, for JSON.
    """

    def __init__(self, known: str | None = None, *, escaped: bool = True) -> None:
        self._symbols = _Symbols(known, escaped)

    def parse(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        """The symbols of tokens, int32[n].

        Raises InputError for what is no token, with its place, counted from 1.
        """
        symbols = self._symbols
        try:
            return np.array([symbols[token] for token in tokens], np.int32)
        except InputError as error:  # Look-up goes from left to right.
            place, token = next((place, token) for place, token in enumerate(tokens, 1) if token not in symbols)
            name = token if len(token) <= 20 else token[:20] + "..."
            raise InputError(f"token {place}: {name!r} {error}") from None


class _Symbols(dict[str, int]):
    """The symbol of every token; those of characters are added when they are first seen."""

    def __init__(self, known: str | None, escaped: bool) -> None:
        super().__init__((symbol_name(symbol), symbol) for symbol in range(OTHER))
        self.update((_payload_name(payload), payload) for payload in range(LONG))
        self._ids = None if known is None else {character: number for number, character in enumerate(known)}
        self._escaped = escaped

    def __missing__(self, token: str) -> int:
        """Raises InputError with the reason alone where there is none."""
        if not token.startswith("T:"):
            raise InputError(f"is no token; {_TOKENS}")
        text = token.removeprefix("T:")
        if self._escaped and text.startswith("\\"):
            found = _ESCAPE.fullmatch(text)
            point = int(found[1] or found[2], 16) if found else -1
            if not 0 <= point <= 0x10FFFF:
                raise InputError("is no escape; write \\uXXXX or \\UXXXXXXXX in upper-case hexadecimal")
            text = chr(point)
        if len(text) != 1:
            raise InputError(f"holds {len(text):,} characters; a token is one, with whitespace as \\uXXXX")
        if "\ud800" <= text <= "\udfff":
            raise InputError("holds a lone surrogate, which is no character; remove it")
        if self._ids is not None and text not in self._ids:
            raise InputError("is not among the known characters; add it to --known, or leave --known out")
        self[token] = OTHER + (ord(text) if self._ids is None else self._ids[text])
        return self[token]
