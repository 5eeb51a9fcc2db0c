"""Byte-level BPE as GPT-2 writes it: the alphabet, in which a byte is one printable character, and the pair of files, a
vocabulary as JSON and the merges, one a line."""

import json
from functools import lru_cache
from pathlib import Path

from tokenlab.core.errors import InputError
from tokenlab.formats.reading import as_utf8, read_bounded

LARGEST_ID = 1 << 22
Merges = list[tuple[str, str]]
PAIRS = {"vocab.json": "merges.txt", "encoder.json": "vocab.bpe"}
"""The names of GPT-2's pair of files: vocabulary -> merges."""
END = "<|endoftext|>"
"""The special token of GPT-2."""

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


def read_gpt2(vocabulary: str | Path, merges: str | Path) -> tuple[dict[str, int], Merges]:
    """The ids of the tokens, and the merges in order of rank.

    Args:
        vocabulary: `encoder.json`, also called `vocab.json`: token in the byte-level alphabet -> id.
        merges: `vocab.bpe`, also called `merges.txt`: left and right part of a merge on each line.

    Raises InputError for files of another format, an id twice, and a merge of or into something that is no token.
    """
    try:
        ids = json.loads(as_utf8(vocabulary, read_bounded(vocabulary)))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{vocabulary}: not JSON; expected a mapping from tokens to ids") from error
    if not isinstance(ids, dict) or not all(type(id) is int and 0 <= id < LARGEST_ID for id in ids.values()):
        raise InputError(f"{vocabulary}: expected a mapping from tokens to ids from 0 to {LARGEST_ID - 1}")
    if len(set(ids.values())) < len(ids):
        raise InputError(f"{vocabulary}: an id stands for two tokens; give each token its own")
    pairs: Merges = []
    for number, line in enumerate(as_utf8(merges, read_bounded(merges)).split("\n"), start=1):
        if (number == 1 and line.startswith("#version")) or not line.strip("\r"):
            continue
        parts = line.rstrip("\r").split(" ")
        if len(parts) != 2 or parts[0] not in ids or parts[1] not in ids or parts[0] + parts[1] not in ids:
            raise InputError(f"{merges}, line {number}: not a merge of two tokens of {vocabulary} into a third")
        pairs.append((parts[0], parts[1]))
    return ids, pairs
