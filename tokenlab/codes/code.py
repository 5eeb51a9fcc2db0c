"""What every character code has: text to atoms and back, an alphabet, a check.

An encoded text is a string of atoms, each a single private-use code point, so that every tokenizer library works on it.
People see atoms by their names: `a3` for the learned and random codes, two hexadecimal digits for bytes, the character
or component itself for the others. A character that the code does not know is an error, skipped, or escaped as its
UTF-8 bytes (`<0xE8>`); the 256 atoms of those stand behind the code's own.
"""

import unicodedata
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np

from tokenlab.errors import InputError, ParameterError

Unknown = Literal["error", "byte", "skip"]

_PRIVATE_USE = [range(0xE000, 0xF900), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE)]
LARGEST_ALPHABET = sum(map(len, _PRIVATE_USE)) - 256
"""Atoms that a code may have, so that those of the byte escapes still have a place."""


class Violation(NamedTuple):
    """The first place at which a string of atoms is no encoded text."""

    kind: Literal["foreign", "digit", "unassigned", "truncated", "bytes"]
    """`foreign`: no atom of this code; `digit`: an atom at a digit that is not its own; `unassigned`: a well-formed
    block that stands for no character; `truncated`: the last block is too short; `bytes`: bytes that are not UTF-8, or
    those of a character that has a code of its own."""
    position: int
    """Of the atom, from 0; the length of the stream where it ends too early."""
    message: str


class Code(Protocol):
    """A mapping from text to atoms. Encoding never normalises the text."""

    @property
    def kind(self) -> str:
        """`latom`, `random`, `character`, `byte`, `radical`, `stroke` or `myte`."""

    @property
    def reversible(self) -> bool:
        """Whether `decode` gives the text back."""

    @property
    def alphabet(self) -> Sequence[str]:
        """The names of the atoms; atom i is the character `atom(i)`."""

    @property
    def facts(self) -> dict[str, Any]:
        """From which corpus it was learned (`corpus`: SHA-256), and how; plain JSON values."""

    def encode(self, text: str) -> str:
        """The atoms of a text. Raises InputError for a character that the code does not know, if that is the policy."""

    def decode(self, atoms: str) -> str:
        """The text of a string of atoms. Raises InputError at the first violation, or if the code is irreversible."""

    def check(self, atoms: str) -> Violation | None:
        """The first violation, if any."""


def atom(number: int) -> str:
    """The private-use character of an atom."""
    for points in _PRIVATE_USE:
        if number < len(points):
            return chr(points[number])
        number -= len(points)
    raise ParameterError(f"an alphabet of more than {LARGEST_ALPHABET + 256:,} atoms; use a smaller K")


def atoms(count: int) -> str:
    """The first `count` atoms."""
    return "".join(map(atom, range(count)))


def atom_numbers(encoded: str) -> np.ndarray:
    """int32[length]: the number of each atom of an encoded text, -1 for what is no atom."""
    points = np.frombuffer(encoded.encode("utf-32-le", "surrogatepass"), np.int32)
    numbers, before = points - _PRIVATE_USE[0].start, len(_PRIVATE_USE[0])
    others = (numbers < 0) | (numbers >= before)
    if not others.any():
        return numbers
    numbers[others] = -1
    for part in _PRIVATE_USE[1:]:
        inside = (points >= part.start) & (points < part.stop)
        numbers[inside] = points[inside] - part.start + before
        before += len(part)
    return numbers


BYTE_NAMES = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""The names of the atoms of byte escapes."""


def check_unknown(policy: str) -> None:
    """Raises ParameterError where there is no such policy for unknown characters."""
    if policy not in get_args(Unknown):
        raise ParameterError(f"unknown: {policy!r} is none of {', '.join(get_args(Unknown))}")


def shown(text: str) -> str:
    """Text that stands between spaces on one line: whitespace, controls and unassigned code points as \\uXXXX."""
    return "".join(_escape(c) if c.isspace() or unicodedata.category(c)[0] in "CZ" else c for c in text)


def _escape(character: str) -> str:
    point = ord(character)
    return f"\\u{point:04X}" if point < 0x10000 else f"\\U{point:08X}"


def described(character: str) -> str:
    """A character in an error message."""
    return f"{shown(character)!r} (U+{ord(character):04X})".replace("\\\\", "\\")


def names_of(code: Code) -> dict[str, str]:
    """The name of every atom that may stand in an encoded text, those of byte escapes included."""
    return {atom(number): name for number, name in enumerate([*code.alphabet, *BYTE_NAMES])}


def print_atoms(encoded: str, names: dict[str, str]) -> str:
    """The names of atoms, a space between them. Raises InputError for what is no atom."""
    try:
        return " ".join([names[character] for character in encoded])
    except KeyError as error:
        raise InputError(f"{described(error.args[0])} is no atom of this code; encode the text first") from None


def parse_atoms(line: str, atoms_of: dict[str, str]) -> str:
    """The atoms that stand in a line by their names; `atoms_of` is `names_of` turned round.

    Raises InputError for a name that the code does not have.
    """
    found = []
    for place, name in enumerate(line.split(), 1):
        if name not in atoms_of:
            raise InputError(f"token {place}: {name!r} is no atom of this code; `tokenlab codes show` lists them")
        found.append(atoms_of[name])
    return "".join(found)
