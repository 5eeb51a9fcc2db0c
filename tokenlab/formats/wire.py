"""The wire format of protocol buffers: the fields of a message, by number. No schema and no package is needed."""

import struct
from collections.abc import Iterator

from tokenlab.core.errors import InputError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def fields(message: bytes, where: str) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field: an int for a varint and fixed widths (as written), bytes for the others.

    Raises InputError where the message is cut off or has a type of field that is not among the four in use.
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at, where)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise InputError(f"{where}: not a message of protocol buffers, at byte {at}")
        value: int | bytes
        if kind == VARINT:
            value, at = _varint(message, at, where)
        elif kind in (FIXED32, FIXED64):
            size = 4 if kind == FIXED32 else 8
            value = int.from_bytes(_cut(message, at, size, where), "little")
            at += size
        elif kind == BYTES:
            size, at = _varint(message, at, where)
            value = _cut(message, at, size, where)
            at += size
        else:
            raise InputError(f"{where}: not a message of protocol buffers, at byte {at}")
        yield number, value


def as_float(value: int | bytes, where: str) -> float:
    """A fixed 32-bit value as a float."""
    if not isinstance(value, int) or value >= 1 << 32:
        raise InputError(f"{where}: a number was expected")
    return float(struct.unpack("<f", value.to_bytes(4, "little"))[0])


def as_int(value: int | bytes, where: str) -> int:
    """A varint as a signed number of 32 bits."""
    if not isinstance(value, int):
        raise InputError(f"{where}: a number was expected")
    low = value & 0xFFFFFFFF
    return low - (1 << 32) if low >= 1 << 31 else low


def as_text(value: int | bytes, where: str) -> str:
    """A field of bytes as text."""
    if isinstance(value, int):
        raise InputError(f"{where}: text was expected")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: text that is not UTF-8") from error


def _cut(message: bytes, at: int, size: int, where: str) -> bytes:
    if size > len(message) - at:
        raise InputError(f"{where}: cut off at byte {len(message)}, or not a message of protocol buffers")
    return message[at : at + size]


def _varint(message: bytes, at: int, where: str) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise InputError(f"{where}: cut off at byte {len(message)}, or not a message of protocol buffers")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & ((1 << 64) - 1), at
    raise InputError(f"{where}: not a message of protocol buffers, at byte {at}")
