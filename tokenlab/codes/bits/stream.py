"""The rewriting of runs of three-byte characters, and its inverse (Bit-level BPE, section 3.3, equations 3 to 8).

A run is a sequence of three-byte characters that fell back to bytes and have an enabled prefix. Deviations from the
paper: a byte that would be misread after a run gets a reset before it (`lossless`), as the published scheme loses it;
`rewrite` works on any bytes and leaves alone what is not UTF-8.
"""

from typing import NamedTuple

import numpy as np

from tokenlab.codes.bits.kernels import restore as restore_symbols
from tokenlab.codes.bits.kernels import rewrite as rewrite_symbols
from tokenlab.codes.bits.kernels import rewrite_texts
from tokenlab.codes.bits.options import DEFAULT, BitOptions, Emission
from tokenlab.codes.bits.symbols import LONG, LOWEST_PREFIX, OTHER, as_symbols, symbol_name
from tokenlab.core.errors import InputError


class Restored(NamedTuple):
    """A stream without prefixes, long payloads and resets."""

    symbols: np.ndarray
    """int32[n]: bytes, other tokens, and for what is undecodable the negative number of its kind (`decoding.Kind`)."""
    damaged: bool
    """Whether something is undecodable. What is left may still not be UTF-8."""


def rewrite(symbols: np.ndarray, options: BitOptions = DEFAULT) -> np.ndarray:
    """Rewrite the runs of a stream of plain byte fallback.

    Args:
        symbols: int32[n], bytes and other tokens (see `tokenlab.codes.bits.symbols`). Bytes that are no UTF-8 stay.

    Returns:
        int32[m]; m <= n in mode `paper`, m <= n + the number of runs in mode `lossless`.

    Raises:
        InputError: in mode `paper`, for the first byte that would be misread; for a symbol that is neither a byte nor
            another token.
    """
    symbols = _plain(symbols)
    out = np.empty(symbols.size + symbols.size // 4, np.int32)
    written = rewrite_symbols(symbols, *_switches(options), out)
    if written < 0:
        raise InputError(_ambiguous(f"token {-written}", symbols[-1 - written]))
    return out[:written].copy()


def rewrite_batch(
    symbols: np.ndarray, starts: np.ndarray, options: BitOptions = DEFAULT
) -> tuple[np.ndarray, np.ndarray]:
    """`rewrite` for many texts at once: no run and no prefix in force goes from one into the next.

    Args:
        symbols: int32[n], the texts one after the other.
        starts: int64[texts + 1]: where each begins, and the end of the last.

    Returns:
        The rewritten texts in the same form.

    Raises InputError as `rewrite`, naming the text too.
    """
    symbols = _plain(symbols)
    starts = np.ascontiguousarray(starts, np.int64)
    out = np.empty(symbols.size + symbols.size // 4, np.int32)
    out_starts = np.zeros(starts.size, np.int64)
    texts = rewrite_texts(symbols, starts, *_switches(options), out, out_starts)
    if texts < starts.size - 1:
        place = int(out_starts[0])
        raise InputError(_ambiguous(f"text {texts + 1}, token {place + 1}", symbols[starts[texts] + place]))
    return out[: out_starts[-1]].copy(), out_starts


def restore(symbols: np.ndarray, emission: Emission = "run") -> Restored:
    """Undo `rewrite`: int32[m] to the stream of plain byte fallback.

    An undecodable symbol ends the run, and the next is read afresh. An overlong character or a surrogate made of two
    payloads is one undecodable symbol, after which the run goes on. Every prefix is read, also one that is not enabled.

    Raises InputError for a negative number.
    """
    symbols = as_symbols(symbols)
    out = np.empty(_room(symbols), np.int32)
    written, damaged = restore_symbols(symbols, emission == "change", out, out[:0])
    return Restored(out[:written].copy(), damaged)


def restored_positions(symbols: np.ndarray, emission: Emission = "run") -> np.ndarray:
    """int32[n]: for each symbol of `restore`, the index of the token from which it was read."""
    symbols = as_symbols(symbols)
    out, where = np.empty((2, _room(symbols)), np.int32)
    written, _ = restore_symbols(symbols, emission == "change", out, where)
    return where[:written].copy()


def _room(symbols: np.ndarray) -> int:
    """The most symbols that `restore` writes: three for two payloads."""
    return symbols.size + symbols.size // 2 + 1


def _plain(symbols: np.ndarray) -> np.ndarray:
    """The symbols of a stream of byte fallback, checked."""
    symbols = as_symbols(symbols)
    rewritten = (symbols >= LONG) & (symbols < OTHER)
    if rewritten.any():
        position = int(np.argmax(rewritten))
        name = symbol_name(int(symbols[position]))
        raise InputError(f"token {position + 1}: {name} is no token of byte fallback; the stream is rewritten already")
    return symbols


def _switches(options: BitOptions) -> tuple[int, bool, bool]:
    """The lowest enabled prefix; whether a prefix stays in force; whether resets are written."""
    return LOWEST_PREFIX + 4 - options.prefixes, options.emission == "change", options.mode == "lossless"


def _ambiguous(where: str, byte: int) -> str:
    return (
        f"{where} of the byte fallback: the byte {byte:02X} after a run would be read as a payload; mode lossless"
        " writes a reset there"
    )
