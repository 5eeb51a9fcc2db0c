"""Symbols that no text is encoded with, and why: they cost rows of a model's tables and are never trained."""

from typing import NamedTuple

import numpy as np

from tokenlab.codes.bits.options import DEFAULT, BitOptions
from tokenlab.codes.bits.symbols import LONG, LOWEST_PREFIX, PREFIX, RESET, is_first, is_second


class Dead(NamedTuple):
    """A symbol that cannot occur in an encoded text."""

    symbol: int
    """Below `tokenlab.codes.bits.symbols.OTHER`."""
    reason: str


def dead_symbols(options: BitOptions = DEFAULT, *, whole: bool = True) -> list[Dead]:
    """The bytes, payloads, prefixes and the reset that can never occur in an encoded text, in order.

    128 of the 256 long payloads have bits that no three-byte character has. Text means valid UTF-8: other bytes, which
    stay raw, may be any.

    Args:
        whole: whether tokens of the base vocabulary are whole characters. If not, as in byte-level BPE, the lead byte
            of a three-byte character may stand before a token of its other bytes, so that it is not rewritten.
    """
    found = [Dead(byte, reason) for byte in range(LONG) if (reason := _reason(byte, options, whole))]
    found += [
        Dead(payload, "no three-byte character has these nine bits")
        for payload in range(LONG, PREFIX)
        if not is_first(payload) and not is_second(payload)
    ]
    if options.prefixes == 3:
        found.append(Dead(PREFIX, "the prefix is not enabled"))
    if options.mode == "paper":
        found.append(Dead(RESET, "mode paper writes no reset"))
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
