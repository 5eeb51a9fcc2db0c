"""The alphabet of byte-level BPE: each byte is written as one printable character, as GPT-2 does."""

from functools import lru_cache

PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
"""Bytes that are written as the character of the same number; the others are written from U+0100 upwards."""


@lru_cache(maxsize=1)
def byte_characters() -> tuple[str, ...]:
    """The character of each of the 256 bytes."""
    printable = set(PRINTABLE)
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte) if byte in printable else chr(next(others)) for byte in range(256))


@lru_cache(maxsize=1)
def _byte_of_character() -> dict[str, int]:
    return {character: byte for byte, character in enumerate(byte_characters())}


def spelled_bytes(token: str) -> bytes | None:
    """The bytes that a token in this alphabet spells, or None where it has a character of another alphabet."""
    table = _byte_of_character()
    try:
        return bytes([table[character] for character in token])
    except KeyError:
        return None


def written(data: bytes) -> str:
    """Bytes in this alphabet."""
    return "".join(map(byte_characters().__getitem__, data))
