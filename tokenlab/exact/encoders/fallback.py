"""Units of text: bytes, characters, and the bytes of characters that are no token (SentencePiece's `<0x41>`)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from tokenlab.core.errors import InputError

_FIRST_OF_LENGTH = (0, 0, 0x80, 0x800, 0x10000)
_LAST = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)


class ByteFallback:
    """Which byte tokens go on with a character that is no token.

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


def character_at(text: bytes, at: int) -> bytes:
    """The UTF-8 character that begins at a position. Raises InputError where there is none."""
    character = text[at : at + max(_length(text[at]), 1)]
    if _length(text[at]) != len(character) or not _characters(character):
        raise InputError(f"the text is not UTF-8 at byte {at} ({text[at]:#04x}); the tokenizer reads characters")
    return character


def is_complete(partial: bytes) -> bool:
    """Whether the begun character ends here."""
    return len(partial) == _length(partial[0])


def cut_units(text: bytes, base: Mapping[bytes, int], byte_ids: Sequence[int] = ()) -> list[int]:
    """Ids of the units of a text: bytes that are tokens, else characters, else byte tokens, if there are any.

    base: tokens of one byte or one character. Raises InputError for what is none of them.
    """
    units, at = [], 0
    while at < len(text):
        unit = text[at : at + 1]
        if unit not in base:
            unit = character_at(text, at)
        if unit in base:
            units.append(base[unit])
        elif byte_ids:
            units += [byte_ids[byte] for byte in unit]
        else:
            raise InputError(f"the text has {unit.decode()!r} at byte {at}, which is not in the alphabet; remove it")
        at += len(unit)
    return units


def _length(lead: int) -> int:
    """Bytes of a character by its first byte, 0 for none."""
    return 1 if lead < 0x80 else 0 if lead < 0xC2 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4 * (lead < 0xF5)


def _characters(prefix: bytes) -> int:
    """Number of characters whose UTF-8 begins with a prefix of at least one byte."""
    length = _length(prefix[0])
    if len(prefix) > length or any(byte >> 6 != 2 for byte in prefix[1:]):
        return 0
    low = prefix[0] if length == 1 else prefix[0] & (0x7F >> length)
    for byte in prefix[1:]:
        low = low << 6 | byte & 0x3F
    missing = 6 * (length - len(prefix))
    low, high = low << missing, ((low + 1) << missing) - 1
    low, high = max(low, _FIRST_OF_LENGTH[length]), min(high, _LAST)
    surrogates = max(0, min(high, _SURROGATES[1]) - max(low, _SURROGATES[0]) + 1)
    return max(0, high - low + 1 - surrogates)
