"""Streams of a bit-level code to text, with an error for every place that is no valid sequence.

A model may generate any tokens. First prefixes and payloads become bytes again (`stream.restore`), then all bytes are
put together and read as UTF-8. Every error names the token where it begins, and its kind.
"""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, get_args

import numpy as np

from tokenlab.codes.bits.kernels import mend, spell
from tokenlab.codes.bits.options import Emission
from tokenlab.codes.bits.stream import restore, restored_positions
from tokenlab.codes.bits.symbols import LONG, OTHER, as_symbols, symbol_name
from tokenlab.core.errors import InputError
from tokenlab.core.options import check_choice

OnError = Literal["error", "replace", "skip"]
Kind = Literal["prefix", "payload", "outside", "utf8"]

_WHAT = {
    "prefix": "the prefix {} is not followed by a first payload",
    "payload": "the first payload {} is not followed by a second",
    "outside": "the payload {} is outside a run, or not a first one",
    "utf8": "bytes that are not UTF-8 begin here",
}


class DecodeError(NamedTuple):
    """A place at which a stream is no valid sequence."""

    position: int
    """Index of the token, from 0. Bytes of one token can be undecodable at several places."""
    kind: Kind
    """`prefix`: not followed by a first payload; `payload`: a first not followed by a second; `outside`: a payload from
    100h up that is outside a run, or inside and not a first one; `utf8`: bytes that are not UTF-8 in the end, one error
    for each maximal subpart (Unicode, section 3.9), and one for an overlong character or a surrogate of payloads."""
    message: str
    """The error in a line, with the position from 1."""


class Decoded(NamedTuple):
    """The text of a stream."""

    text: str
    errors: list[DecodeError]
    """All of them, in order of position."""


class Spellings(NamedTuple):
    """The bytes of all tokens of a base vocabulary."""

    data: np.ndarray
    """uint8: the bytes of all tokens, in order of their ids."""
    offsets: np.ndarray
    """int64[tokens + 1]: where the bytes of each token begin."""


Spelled = Spellings | Callable[[int], bytes]
"""The bytes of a token of the base vocabulary by its id; a function may raise LookupError for one that is not there."""


def spellings(tokens: Iterable[bytes]) -> Spellings:
    """The bytes of tokens as arrays."""
    every = list(tokens)
    offsets = np.cumsum([0, *map(len, every)], dtype=np.int64)
    return Spellings(np.frombuffer(b"".join(every), np.uint8).copy(), offsets)


NO_TOKENS = spellings([])
"""A base vocabulary of bytes only."""


def decode(
    symbols: np.ndarray, spelled: Spelled = NO_TOKENS, on_error: OnError = "error", emission: Emission = "run"
) -> Decoded:
    """The text of any stream.

    Args:
        symbols: int32[n], see `tokenlab.codes.bits.symbols`.
        spelled: the bytes of the tokens of the base vocabulary.
        on_error: `error` raises for the first error, `replace` writes one U+FFFD for each maximal undecodable stretch,
            that is, without a decoded character inside; `skip` drops it.
        emission: of the options with which the stream was written.

    Raises:
        InputError: for the first error, where that is the policy; with any policy for a negative number, and for the
            token of an id that the base vocabulary does not have.
        ParameterError: no such policy.
    """
    check_choice("on_error", on_error, OnError)
    symbols = as_symbols(symbols)
    table, known = _table(symbols, spelled)
    restored = restore(known, emission)
    if not restored.damaged:
        try:
            return Decoded(_spell(restored.symbols, table, np.uint8).tobytes().decode(), [])
        except UnicodeDecodeError:
            pass
    positions = restored_positions(known, emission)
    units = _spell(restored.symbols, table, np.int16)
    out = np.empty(3 * units.size, np.uint8)
    places, kinds = np.empty(units.size, np.int64), np.empty(units.size, np.int8)
    written, count = mend(units, on_error == "replace", out, places, kinds)
    tokens = np.repeat(positions, _lengths(restored.symbols, table))[places[:count]]
    errors = [
        _error(int(position), get_args(Kind)[-1 - kind], symbols)
        for position, kind in zip(tokens, kinds[:count], strict=True)
    ]
    if on_error == "error":
        raise InputError(errors[0].message)
    return Decoded(out[:written].tobytes().decode(), errors)


def decode_bytes(symbols: np.ndarray, spelled: Spelled = NO_TOKENS, emission: Emission = "run") -> bytes:
    """The bytes of a stream, which need not be UTF-8: the inverse of `rewrite` for any bytes.

    Raises InputError for the first undecodable token, and as `decode`.
    """
    symbols = as_symbols(symbols)
    table, known = _table(symbols, spelled)
    restored = restore(known, emission)
    if restored.damaged:
        place = int(np.argmax(restored.symbols < 0))
        position = int(restored_positions(known, emission)[place])
        raise InputError(_error(position, get_args(Kind)[-1 - restored.symbols[place]], symbols).message)
    return _spell(restored.symbols, table, np.uint8).tobytes()


def _table(symbols: np.ndarray, spelled: Spelled) -> tuple[Spellings, np.ndarray]:
    """The spellings of the other tokens of a stream, and the stream with ids that are indices into them.

    Raises InputError for a token that has no spelling.
    """
    if isinstance(spelled, Spellings):
        return spelled, as_symbols(symbols, OTHER + spelled.offsets.size - 1)
    others = symbols >= OTHER
    if not others.any():
        return NO_TOKENS, symbols
    found, ranks = np.unique(symbols[others], return_inverse=True)
    bytes_of = []
    for symbol in found.tolist():
        try:
            bytes_of.append(spelled(symbol - OTHER))
        except LookupError:
            position = int(np.argmax(symbols == symbol))
            raise InputError(f"token {position + 1}: the vocabulary has no token {symbol - OTHER}") from None
    known = symbols.copy()
    known[others] = OTHER + ranks
    return spellings(bytes_of), known


def _lengths(symbols: np.ndarray, table: Spellings) -> np.ndarray:
    """int64[n]: the number of units that each symbol is spelled with."""
    lengths = np.ones(symbols.size, np.int64)
    others = symbols >= OTHER
    ids = symbols[others] - OTHER
    lengths[others] = table.offsets[ids + 1] - table.offsets[ids]
    return lengths


def _spell(symbols: np.ndarray, table: Spellings, kind: type) -> np.ndarray:
    """kind[n]: the bytes of symbols, and what is undecodable as it is."""
    if not (symbols >= OTHER).any():
        return symbols.astype(kind)
    out = np.empty(_lengths(symbols, table).sum(), kind)
    spell(symbols, table.data, table.offsets, out)
    return out


def _error(position: int, kind: Kind, symbols: np.ndarray) -> DecodeError:
    symbol = int(symbols[position])
    shown = symbol_name(symbol) if symbol >= LONG or kind != "payload" else f"N:{symbol:03X}"
    what = _WHAT[kind].format(shown)
    return DecodeError(position, kind, f"token {position + 1}: {what}")
