"""Bit-level codes by their definition, a token at a time, without speed: the twin of `tokenlab.codes.bits`.

A token is (kind, value): T a known character, B a raw byte, N a payload, P a prefix (38h to 3Bh), R a reset (value 0).
A symbol is the number that the library gives it; a payload below 100h and the raw byte are one symbol.
"""

import unicodedata
from contextlib import suppress
from itertools import groupby

FIRST = {v for v in range(0x200) if v & 0xFF in {*range(0x40, 0x60), *range(0xC0, 0xE0)}}
SECOND = {v for v in range(0x200) if v & 0xFF in range(0x80, 0xC0)}
AMBIGUOUS = {v for v in FIRST if v < 0x100}
"""Raw bytes that can be misread as first payloads."""
ENABLED = {3: {0x39, 0x3A, 0x3B}, 4: {0x38, 0x39, 0x3A, 0x3B}}


class AmbiguousError(Exception):
    """The place in the input at which mode `paper` raises."""


def fallback(text, known):
    """Byte fallback: the known characters, and the bytes of all others."""
    tokens = []
    for character in text:
        tokens += [("T", character)] if character in known else spell(character.encode())
    return tokens


def spell(data):
    """Bytes as raw tokens."""
    return [("B", byte) for byte in data]


def encode(tokens, mode="lossless", prefixes=4, emission="run"):
    """Rewrite the three-byte characters among raw bytes with an enabled prefix."""
    coded, in_force, place = [], None, 0  # in_force: the prefix under which a first payload could come next
    while place < len(tokens):
        data = three_bytes(tokens[place : place + 3])
        if data and data[0] >> 2 in ENABLED[prefixes]:
            prefix, first, second = split(data)
            coded += [("P", prefix)] if prefix != in_force else []
            coded += [("N", first), ("N", second)]
            in_force, place = prefix, place + 3
            continue
        # Continuation bytes of this character cannot be a character themselves, so one byte at a time will do.
        if in_force and tokens[place][0] == "B" and tokens[place][1] in AMBIGUOUS:
            if mode == "paper":
                raise AmbiguousError(place)
            coded.append(("R", 0))
            in_force = None
        if emission == "run":
            in_force = None
        coded.append(tokens[place])
        place += 1
    return coded


def three_bytes(tokens):
    """The bytes of three tokens that are one valid character of UTF-8, or None."""
    if len(tokens) < 3 or any(kind != "B" for kind, _ in tokens):
        return None
    data = bytes(value for _, value in tokens)
    try:
        return data if len(data.decode()) == 1 else None
    except UnicodeDecodeError:
        return None


def split(data):
    """24 bits into 6, 9 and 9."""
    bits = "".join(f"{byte:08b}" for byte in data)
    return int(bits[:6], 2), int(bits[6:15], 2), int(bits[15:], 2)


def join(prefix, first, second):
    """The three bytes that a prefix and two payloads spell."""
    bits = f"{prefix:06b}{first:09b}{second:09b}"
    return bytes(int(bits[place : place + 8], 2) for place in (0, 8, 16))


def symbol(token, known):
    """The number of a token; `known` is the string of known characters, whose numbers follow their code points."""
    kind, value = token
    if kind == "T":
        return 517 + sorted(set(known)).index(value)
    return value + {"B": 0, "N": 0, "P": 512 - 0x38, "R": 516}[kind]


def restore(symbols, emission):
    """What the symbols spell: lists of (position, bytes) and (position, kind of error), in order."""
    spelled, errors = [], []
    prefix, place = None, 0
    while place < len(symbols):
        value = symbols[place]
        following = symbols[place + 1] if place + 1 < len(symbols) else None
        if value >= 517:
            spelled.append((place, value - 517))
            prefix = prefix if emission == "change" else None
        elif value == 516:
            prefix = None
        elif value >= 512:
            prefix = 0x38 + value - 512 if following in FIRST else None
            if prefix is None:
                errors.append((place, "prefix"))
        elif prefix is not None and value in FIRST:
            if following in SECOND:
                spelled.append((place, join(prefix, value, following)))
                place += 1
            else:
                errors.append((place, "payload"))
                prefix = None
        elif value >= 256:
            errors.append((place, "outside"))
            prefix = None
        else:
            spelled.append((place, bytes([value])))
            prefix = prefix if emission == "change" else None
        place += 1
    return spelled, errors


def decode(symbols, known="", emission="run", on_error="replace"):
    """The text, and the errors as (position, kind) in order of position."""
    spelled, errors = restore(symbols, emission)
    # Every byte with the position of its token, and None for every token that spells nothing because of an error.
    names = sorted(set(known))
    parts = [(place, names[part].encode() if isinstance(part, int) else part) for place, part in spelled]
    stream = [(place, byte) for place, part in parts for byte in part] + [(place, None) for place, _ in errors]
    stream.sort(key=lambda item: item[0])  # It is stable: the bytes of a token stay in order.
    by_payloads = {place for place, part in spelled if isinstance(part, bytes) and len(part) == 3}
    text, broken = "", False
    for lost, group in groupby(stream, key=lambda item: item[1] is None):
        for place, part in [(None, None)] if lost else characters(list(group)):
            if isinstance(part, str):
                text += part
            elif place is not None and not (place in by_payloads and (place, "utf8") in errors):
                errors.append((place, "utf8"))
            if part is None and not broken:
                text += "\ufffd" if on_error == "replace" else ""
            broken = part is None
    return text, sorted(errors, key=lambda error: error[0])


def characters(stream):
    """Of (position, byte) pairs the (position, character) pairs; for each ill-formed sequence (position, None)."""
    found, data = [], bytes(byte for _, byte in stream)
    place = 0
    while place < len(data):
        try:
            length, character = next(whole(data[place:]))
        except StopIteration:
            length, character = ill_formed(data[place:]), None
        found.append((stream[place][0], character))
        place += length
    return found


def whole(data):
    """The character at the start of some bytes, with its length, if there is one."""
    for length in (1, 2, 3, 4):
        with suppress(UnicodeDecodeError):
            yield length, data[:length].decode()


def ill_formed(data):
    """The length of the ill-formed sequence at the start of some bytes: a maximal subpart, as Unicode defines it."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.end
    raise AssertionError("it is well-formed")


def print_token(token):
    """A token as the command prints it."""
    kind, value = token
    if kind == "T":
        return f"T:{escape(value)}"
    return {"B": f"B:{value:02X}", "N": f"N:{value:03X}", "P": f"P:{value:02X}", "R": "R"}[kind]


def escape(character):
    """Whitespace, controls (Cc and Cf) and the backslash as escapes."""
    if not character.isspace() and unicodedata.category(character) not in {"Cc", "Cf"} and character != "\\":
        return character
    return f"\\u{ord(character):04X}" if character < "\U00010000" else f"\\U{ord(character):08X}"
