"""The interface of all character codes: text to atoms and back, an alphabet, a check, a JSON document.

An encoded text is a string of atoms, each a single private-use code point, so that every tokenizer library works on it.
People read atoms by their names: `a3` in learned and random codes, two hexadecimal digits for bytes, the character or
component itself in the others. An unknown character is an error, or skipped, or escaped as its UTF-8 bytes (`<0xE8>`);
the 256 atoms of these bytes follow the code's own atoms.

A document has the kind of the code, its facts (the SHA-256 of the corpus it was learned from, and how), and what the
code's class adds; a codebook lists the code of every character by the names of its atoms. `read_code` is in `registry`.
"""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import write_text
from tokenlab.formats.pieces import BYTE_PIECES
from tokenlab.text.lines import read_whole

Unknown = Literal["error", "byte", "skip"]

_PRIVATE_USE = [range(0xE000, 0xF900), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE)]
LARGEST_ALPHABET = sum(map(len, _PRIVATE_USE)) - 256
"""Largest number of atoms of a code; the byte escapes take the other private-use code points."""
_FORMAT = "tokenlab code 1"


ViolationKind = Literal["foreign", "digit", "unassigned", "truncated", "bytes"]
"""`foreign`: not an atom of this code; `digit`: an atom at another digit than its own; `unassigned`: a well-formed
block without a character; `truncated`: the last block is too short; `bytes`: bytes that are not UTF-8, or the bytes of
a character that has a code."""


class Violation(NamedTuple):
    """The first place at which a string of atoms is not an encoded text."""

    kind: ViolationKind
    position: int
    """Index of the atom, from 0; the length of the stream where it ends too early."""
    message: str


class Code(Protocol):
    """A mapping from text to atoms. Encoding never normalises the text."""

    @property
    def kind(self) -> str:
        """The name of its kind in `tokenlab.codes.registry`."""

    @property
    def reversible(self) -> bool:
        """Whether `decode` gives the text back."""

    @property
    def contextual(self) -> bool:
        """Whether the atoms of a character depend on the text before it. If not, the atoms of two texts, concatenated,
        are the atoms of the concatenated texts."""

    @property
    def alphabet(self) -> Sequence[str]:
        """The names of the atoms; atom i is the character `atom(i)`."""

    @property
    def facts(self) -> dict[str, Any]:
        """The corpus it was learned from (`corpus`: SHA-256), and how; plain JSON values."""

    def encode(self, text: str) -> str:
        """The atoms of a text. Raises InputError for an unknown character, if that is the policy."""

    def decode(self, atoms: str) -> str:
        """The text of a string of atoms. Raises InputError at the first violation, or if the code is irreversible."""

    def check(self, atoms: str) -> Violation | None:
        """The first violation, if any."""

    def document(self) -> dict[str, Any]:
        """The code as JSON values, without its kind and facts; the class method `of_document` reads all of them."""


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
    """int32[length]: the number of each atom of an encoded text, -1 for other characters."""
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


def shown(text: str) -> str:
    """Text that stands between spaces on one line: whitespace, controls and unassigned code points as \\uXXXX."""
    return "".join(_escape(c) if c.isspace() or unicodedata.category(c)[0] in "CZ" else c for c in text)


def _escape(character: str) -> str:
    point = ord(character)
    return f"\\u{point:04X}" if point < 0x10000 else f"\\U{point:08X}"


def described(character: str) -> str:
    """A character, as error messages show it."""
    return f"{shown(character)!r} (U+{ord(character):04X})".replace("\\\\", "\\")


def foreign(atoms: str, position: int) -> Violation | None:
    """The violation of the first character that is no atom of a code; None where that is the end of the text."""
    if position == len(atoms):
        return None
    return Violation("foreign", position, f"atom {position + 1}: {described(atoms[position])} is no atom of this code")


def utf8_violation(found: bytes) -> Violation | None:
    """The first place at which bytes are not UTF-8; its position is that of a byte."""
    try:
        found.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return Violation("truncated", len(found), f"the last character lacks bytes after atom {len(found)}")
        return Violation("bytes", error.start, f"atom {error.start + 1}: bytes that are not UTF-8 ({error.reason})")
    return None


def names_of(code: Code) -> dict[str, str]:
    """The name of every atom that an encoded text may contain, byte escapes included."""
    return {atom(number): name for number, name in enumerate([*code.alphabet, *BYTE_PIECES])}


def print_atoms(encoded: str, names: dict[str, str]) -> str:
    """The names of atoms, separated by spaces. Raises InputError for a character that is not an atom."""
    try:
        return " ".join([names[character] for character in encoded])
    except KeyError as error:
        raise InputError(f"{described(error.args[0])} is no atom of this code; encode the text first") from None


def parse_atoms(line: str, atoms_of: dict[str, str]) -> str:
    """The atoms whose names a line lists, separated by whitespace; `atoms_of` is `names_of` inverted.

    Raises InputError for a name that the code does not have.
    """
    found = []
    for place, name in enumerate(line.split(), 1):
        if name not in atoms_of:
            raise InputError(f"token {place}: {name!r} is no atom of this code; `tokenlab codes show` lists them")
        found.append(atoms_of[name])
    return "".join(found)


def write_code(code: Code, path: str | Path) -> None:
    """Write a code as JSON, atomically; equal codes give equal bytes."""
    head = {"format": _FORMAT, "kind": code.kind, "reversible": code.reversible, "facts": code.facts}
    text = json.dumps(head | code.document(), ensure_ascii=False, indent=1)
    write_text(path, text + "\n")


def read_document(path: str | Path) -> dict[str, Any]:
    """Read the document of a code. Only its format is checked here.

    Raises InputError where there is no such file, or it is not the document of a code.
    """
    if not Path(path).exists():
        raise InputError(f"{path}: no such file; make one with `tokenlab codes learn`")
    try:
        document = json.loads(read_whole(path))
    except (ValueError, RecursionError) as error:  # Not UTF-8, malformed, a number of thousands of digits, too deep.
        raise InputError(f"{path}: not JSON ({error}); make it again with `tokenlab codes learn`") from None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise InputError(f"{path}: not a code of this program ({_FORMAT!r}); make it with `tokenlab codes learn`")
    return document


def check_type(document: Mapping[str, Any], name: str, kind: type) -> None:
    """Raises ValueError where an entry of a document has another type, and KeyError where it is missing."""
    value = document[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name} cannot be {json.dumps(value, ensure_ascii=False)[:40]}")
