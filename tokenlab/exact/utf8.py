"""Texts that may end inside a character: bytes of UTF-8, whole characters and beginnings of them."""

import codecs
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError

CODE_POINTS = 0x110000
SURROGATES = (0xD800, 0xE000)


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


def as_text(text: bytes) -> str:
    """Bytes as the text that a tokenizer reads. Raises InputError where they are not UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"the text is not UTF-8 at byte {error.start}; the tokenizer reads characters") from None


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
    return np.array([_characters(opened + bytes([byte])) > 0 for byte in range(256)])


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


def character_at(text: bytes, at: int) -> bytes:
    """The UTF-8 character that begins at a position. Raises InputError where there is none."""
    for end in range(at + 1, min(at + 4, len(text)) + 1):
        if character_status(text[at:end]) == "whole":
            return text[at:end]
    raise InputError(f"the text is not UTF-8 at byte {at} ({text[at]:#04x}); the tokenizer reads characters")


def code_points_beginning_with(first: bytes) -> tuple[int, int]:
    """The range [low, high) of code points whose UTF-8 begins with `first`, empty where there are none."""
    lead = first[0]
    length = 1 if lead < 0x80 else 2 if 0xC2 <= lead < 0xE0 else 3 if 0xE0 <= lead < 0xF0 else 4
    if 0x80 <= lead < 0xC2 or lead > 0xF4 or len(first) > length:
        return 0, 0
    low = lead if length == 1 else lead & (0x7F >> length)
    for byte in first[1:]:
        if byte & 0xC0 != 0x80:
            return 0, 0
        low = low << 6 | byte & 0x3F
    missing = 6 * (length - len(first))
    low, high = low << missing, low + 1 << missing
    least = (0, 0x80, 0x800, 0x10000)[length - 1]
    return max(low, least), max(least, min(high, CODE_POINTS))


class ByteFallback:
    """Which byte tokens (SentencePiece's `<0x41>`) go on with a character that is no token.

    known: the characters that byte tokens do not spell, in UTF-8.
    """

    def __init__(self, known: Iterable[bytes]) -> None:
        self._known = Counter(character[:n] for character in known for n in range(len(character) + 1))
        self.following = cache(self._following)

    def _following(self, partial: bytes) -> bytes:
        """The bytes that can follow the begun character, ascending."""
        return bytes(
            byte for byte in range(256) if _characters(begun := partial + bytes([byte])) > self._known.get(begun, 0)
        )


def _characters(prefix: bytes) -> int:
    """Number of characters whose UTF-8 begins with a prefix of at least one byte; surrogates are none."""
    low, high = code_points_beginning_with(prefix)
    return high - low - max(0, min(high, SURROGATES[1]) - max(low, SURROGATES[0]))
