"""Texts that may end inside a character: bytes of UTF-8, whole characters and beginnings of them."""

import codecs
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError


def as_bytes(text: bytes | str) -> bytes:
    """A text in UTF-8. Raises InputError for a lone surrogate, which has no UTF-8."""
    if isinstance(text, bytes):
        return text
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"the text has a lone surrogate at character {error.start + 1} (U+{ord(text[error.start]):04X}); "
            "remove or replace it"
        ) from None


def open_character(text: bytes) -> bytes:
    """The bytes at the end of a text that begin a character and do not complete it, mostly none.

    Raises InputError if the text before them is not UTF-8.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(text)
    except UnicodeDecodeError as error:
        raise InputError(
            f"the text is not UTF-8 (byte 0x{text[error.start]:02X} at byte {error.start + 1}); only its last "
            "character may be incomplete"
        ) from None
    return decoder.getstate()[0]


@lru_cache
def utf8_following(opened: bytes) -> NDArray[np.bool_]:
    """[256] the bytes that may follow in valid UTF-8 (Unicode, table 3-7). Do not change it.

    opened: the incomplete character at the end of the text, as from `open_character`.
    """
    allowed = np.zeros(256, bool)
    if not opened:
        allowed[:0x80] = allowed[0xC2:0xF5] = True
        return allowed
    low, high = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}.get(
        opened[0] if len(opened) == 1 else -1, (0x80, 0xBF)
    )
    allowed[low : high + 1] = True
    return allowed


@lru_cache(maxsize=1 << 16)
def character_status(spelled: bytes) -> Literal["whole", "begun", "invalid"]:
    """Whether bytes are a "whole" character in UTF-8, have "begun" one, or are "invalid"."""
    try:
        return "whole" if len(spelled.decode()) == 1 else "invalid"
    except UnicodeDecodeError as error:
        return "begun" if error.reason == "unexpected end of data" and error.start == 0 else "invalid"


def unfinished(text: bytes) -> bytes:
    """The bytes at the end of a text that begin a character and do not complete it; none in most texts."""
    for length in range(1, min(4, len(text) + 1)):
        if character_status(text[-length:]) == "begun":
            return text[-length:]
    return b""
