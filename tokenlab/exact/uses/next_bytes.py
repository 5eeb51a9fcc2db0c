"""What the uses ask of a model: the distribution of the next byte. And what keeps a text in UTF-8."""

import codecs
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.results import NextBytes, NextCharacters, TextProbability


class ByteModel(Protocol):
    """A distribution of texts, byte by byte: a `CharacterModel`, or a combination of several.

    A text is str, or bytes where it may end inside a character. Asking about longer and longer texts is cheap.
    """

    def next_byte(self, text: bytes | str) -> NextBytes:
        """The distribution of the byte after a text."""
        ...

    def next_character(self, text: bytes | str, top: int | None = None) -> NextCharacters:
        """The `top` most probable characters after a text, or all of them."""
        ...

    def log_probability(self, text: bytes | str) -> TextProbability:
        """The probability that a text starts with this one, and that it ends after it."""
        ...


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


def is_whole(opened: bytes) -> bool:
    """Whether bytes that began a character now complete it."""
    length = 1 + (opened[0] >= 0xC0) + (opened[0] >= 0xE0) + (opened[0] >= 0xF0)
    return len(opened) == length
