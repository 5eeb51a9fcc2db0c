"""What each symbol of an encoded text stands for: a byte or a payload, and of which character."""

import numpy as np

from tokenlab.codes.bits.options import Emission
from tokenlab.codes.bits.symbols import LONG, OTHER, PREFIX, RESET, is_first, is_second


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
