"""Symbols of a bit-level code: a stream of tokens as int32, whatever the base vocabulary.

0 to 255     a raw byte, or a payload below 100h: they are one token
256 to 511   a payload of nine bits with its highest bit set, 100h to 1FFh
512 to 515   a prefix, 38h to 3Bh: the first six bits of the lead bytes E0-E3, E4-E7, E8-EB, EC-EF
516          the reset
517 + id     token `id` of the base vocabulary, other than the tokens of single bytes
"""

from typing import Any

import numpy as np

from tokenlab.codes.bits.options import DEFAULT, BitOptions
from tokenlab.core.errors import InputError

LONG = 0x100
"""The smallest payload with a token of its own; its symbol is the payload itself."""
PREFIX = 0x200
"""The symbol of prefix 38h."""
RESET = 0x204
"""The symbol of the reset."""
OTHER = 0x205
"""The symbol of token 0 of the base vocabulary."""
ADDED = OTHER - LONG
"""Number of tokens that the code adds to a vocabulary with byte fallback."""
LOWEST_PREFIX = 0x38
"""The first six bits of E0 to E3."""


def as_symbols(numbers: Any, stop: int = 2**31) -> np.ndarray:
    """int32[n]: integers as a stream of symbols.

    Raises InputError naming the first that is negative, or at least `stop`.
    """
    found = np.asarray(numbers)
    if not found.size:
        return np.zeros(0, np.int32)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise InputError(f"symbols are one sequence of integers below 2^31, not {found.dtype} of shape {found.shape}")
    if found.min() < 0 or found.max() >= stop:
        position = int(np.argmax((found < 0) | (found >= stop)))
        raise InputError(f"token {position + 1}: {found[position]} is no symbol; symbols are 0 to {stop - 1}")
    return np.ascontiguousarray(found, np.int32)


def is_first(symbol: Any) -> Any:
    """Whether a symbol, or each of an array, can be the first payload of a character: 40-5F, C0-DF, 140-15F, 1C0-1DF.

    These are the values bb10cdefg (see `tokenlab.codes.bits.kernels`). Raw bytes among them are ambiguous after a run.
    """
    return symbol & ~0x19F == 0x40


def is_second(symbol: Any) -> Any:
    """Whether a symbol, or each of an array, can be the second payload of a character: 80-BF, 180-1BF."""
    return symbol & ~0x13F == 0x80


def symbol_name(symbol: int) -> str:
    """The printed name of a symbol below `OTHER`: `B:5C`, `N:1A0`, `P:39` or `R`."""
    if symbol < LONG:
        return f"B:{symbol:02X}"
    if symbol < PREFIX:
        return f"N:{symbol:03X}"
    return f"P:{symbol - PREFIX + LOWEST_PREFIX:02X}" if symbol < RESET else "R"


def dead_symbols(options: BitOptions = DEFAULT, *, whole: bool = True) -> dict[int, str]:
    """The bytes, payloads, prefixes and the reset that can never occur in an encoded text, in order, and the reasons.

    128 of the 256 long payloads have bits that no three-byte character has. Text means valid UTF-8: other bytes, which
    stay raw, may be any.

    Args:
        whole: whether tokens of the base vocabulary are whole characters. If not, as in byte-level BPE, the lead byte
            of a three-byte character may stand before a token of its other bytes, so that it is not rewritten.
    """
    found = {byte: reason for byte in range(LONG) if (reason := _reason(byte, options, whole))}
    for payload in range(LONG, PREFIX):
        if not is_first(payload) and not is_second(payload):
            found[payload] = "no three-byte character has these nine bits"
    if options.prefixes == 3:
        found[PREFIX] = "the prefix is not enabled"
    if options.mode == "paper":
        found[RESET] = "mode paper writes no reset"
    return found


def live_payloads() -> np.ndarray:
    """int32[128]: the long payloads that can occur, in order."""
    payloads = np.arange(LONG, PREFIX, dtype=np.int32)
    return payloads[is_first(payloads) | is_second(payloads)]


def _reason(byte: int, options: BitOptions, whole: bool) -> str | None:
    """Why a byte is neither a raw byte of a text nor a payload."""
    if is_first(byte) or is_second(byte):
        return None
    if byte >= 0xF5:
        return "no byte of UTF-8, and no payload"
    if whole and byte < 0xF0 and byte >> 2 >= LOWEST_PREFIX + 4 - options.prefixes:
        return "the lead byte of characters that are rewritten"
    return None
