"""Codes of fixed length: every character is a block of N atoms, one of K at each digit (Latom, sections 3.1 and 3.4).

Learned codes (`latom`), random codes and the characters themselves (N = 1) are codebooks; they differ only in how the
characters were assigned.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tokenlab.codes.interface import (
    LARGEST_ALPHABET,
    Unknown,
    Violation,
    atom,
    atom_numbers,
    check_type,
    described,
    shown,
)
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.options import check_choice

_DIGITS = "abcdefghijklmnopqrstuvwxyz"
_MANY = 1 << 10
"""Number of atoms from which numpy decodes faster than a loop."""
_LARGEST_TABLE = 1 << 20
_NO_CHARACTER = sys.maxunicode + 1
LARGEST_CODE = 2**63 - 1
"""Codes are int64, places in lexicographic order."""


@dataclass(frozen=True)
class Codebook:
    """An injective mapping from characters to codes of N atoms, K at each digit; atom n K + k is atom k of digit n."""

    kind: str
    N: int
    K: int
    characters: str
    """Distinct characters, ascending by code point."""
    assigned: np.ndarray
    """int64[|C|]: the code of each character, as the place of (a_1, ..., a_N) in lexicographic order."""
    unknown: Unknown = "error"
    facts: dict[str, Any] = field(default_factory=dict)
    """How it was learned: corpus, seed, iterations, objective; plain JSON values."""

    reversible = True
    contextual = False

    def __post_init__(self) -> None:
        check_choice("unknown", self.unknown, Unknown)
        check_capacity(len(self.characters), self.N, self.K)
        if list(self.characters) != sorted(set(self.characters)):
            raise ParameterError("a codebook's characters must be distinct and ascend by code point")
        if len(self.assigned) != len(self.characters) or len(set(self.assigned.tolist())) < len(self.assigned):
            raise ParameterError("a codebook needs a different code for every character")
        if len(self.assigned) and not 0 <= self.assigned.min() <= self.assigned.max() < self.K**self.N:
            raise ParameterError(f"a codebook's codes must be below K^N = {self.K**self.N:,}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Codebook) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        """What equality compares: all but the facts."""
        return self.kind, self.N, self.K, self.characters, tuple(self.assigned.tolist()), self.unknown

    @cached_property
    def digits(self) -> np.ndarray:
        """int32[|C|, N]: the atom of each character at each digit, from 0 to K - 1."""
        return np.stack(np.unravel_index(self.assigned, (self.K,) * self.N), axis=1).astype(np.int32)

    @cached_property
    def alphabet(self) -> Sequence[str]:
        """`a0`..`a(K-1)`, `b0`..; the characters themselves where a code is one atom of the character code."""
        if self.kind == "character":
            return [shown(character) for character in self.characters]
        return [f"{_DIGITS[n]}{k}" for n in range(self.N) for k in range(self.K)]

    def encode(self, text: str) -> str:
        """The atoms of a text, N for each character."""
        return text.translate(self._blocks)

    def decode(self, atoms: str) -> str:
        """The text of a string of atoms. Raises InputError at the first violation."""
        N = self.N
        if len(atoms) >= _MANY and (text := self._decoded_at_once(atoms)) is not None:
            return text
        try:
            return "".join([self._characters[atoms[start : start + N]] for start in range(0, len(atoms), N)])
        except KeyError:  # Byte escapes, or a violation.
            pieces, violation = self._read(atoms)
        if violation:
            raise InputError(violation.message)
        return "".join(pieces)

    def check(self, atoms: str) -> Violation | None:
        """The first violation: of the two checks of section 3.4, a block without a character, or a foreign atom."""
        return self._read(atoms)[1]

    def document(self) -> dict[str, Any]:
        """The code as JSON values, without its kind and facts."""
        names = [self.alphabet[n * self.K : (n + 1) * self.K] for n in range(self.N)]
        codes = {
            character: [names[n][k] for n, k in enumerate(digits)]
            for character, digits in zip(self.characters, self.digits.tolist(), strict=True)
        }
        return {"N": self.N, "K": self.K, "unknown": self.unknown, "codes": codes}

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "Codebook":
        """The codebook of a JSON document.

        Raises KeyError, TypeError, ValueError, AttributeError or ParameterError for a damaged one.
        """
        for name, kind in {"N": int, "K": int, "codes": dict, "unknown": str}.items():
            check_type(document, name, kind)
        N, K, codes = document["N"], document["K"], document["codes"]
        if not codes:
            raise ValueError("no character has a code")
        characters = "".join(sorted(codes))
        names = cls(document["kind"], N, K, "", np.zeros(0, np.int64)).alphabet
        if document["kind"] == "character":
            names = [shown(character) for character in characters]
        atoms = {name: number for number, name in enumerate(names)}
        assigned = []
        for character in characters:
            check_type(codes, character, list)
            digits = [atoms.get(name, -1) - n * K for n, name in enumerate(codes[character])]
            if len(character) != 1 or len(digits) != N or not all(0 <= digit < K for digit in digits):
                raise ValueError(f"the code of {character!r} is {codes[character]}")
            assigned.append(sum(digit * K ** (N - 1 - n) for n, digit in enumerate(digits)))
        return cls(
            document["kind"], N, K, characters, np.array(assigned, np.int64), document["unknown"], document["facts"]
        )

    def _decoded_at_once(self, atoms: str) -> str | None:
        """The text, None where the atoms are not all blocks of characters, or a table of all codes would be large."""
        if len(atoms) % self.N or self.K**self.N > _LARGEST_TABLE:
            return None
        numbers = atom_numbers(atoms).reshape(-1, self.N)
        codes = np.zeros(len(numbers), np.int64)
        for n in range(self.N):
            digits = numbers[:, n] - n * self.K
            if not ((digits >= 0) & (digits < self.K)).all():
                return None
            codes *= self.K
            codes += digits
        points = self._point_of[codes]
        if (points == _NO_CHARACTER).any():
            return None
        return points.tobytes().decode("utf-32-le", "surrogatepass")

    @cached_property
    def _point_of(self) -> np.ndarray:
        """uint32[K^N]: the code point of the character that has each code."""
        points = np.full(self.K**self.N, _NO_CHARACTER, np.uint32)
        points[self.assigned] = [ord(character) for character in self.characters]
        return points

    @cached_property
    def _blocks(self) -> "Blocks":
        blocks = ["".join(atom(n * self.K + int(k)) for n, k in enumerate(code)) for code in self.digits]
        table = dict(zip(map(ord, self.characters), blocks, strict=True))
        return Blocks(table, self.unknown, escape_atoms(len(self.alphabet)))

    @cached_property
    def _characters(self) -> dict[str, str]:
        return {block: chr(point) for point, block in self._blocks.items()}

    @cached_property
    def _digit_of(self) -> dict[str, int]:
        return {atom(number): number // self.K for number in range(self.N * self.K)}

    def _read(self, atoms: str) -> tuple[list[str], Violation | None]:
        """Characters block by block, up to the first violation."""
        pieces: list[str] = []
        position = 0
        while position < len(atoms):
            escaped = self._escaped(atoms, position)
            if escaped:
                if violation := self._not_unknown(escaped, position):
                    return pieces, violation
                pieces.append(escaped.decode())
                position += len(escaped)
                continue
            block = atoms[position : position + self.N]
            if block not in self._characters:
                return pieces, self._violation(block, position)
            pieces.append(self._characters[block])
            position += self.N
        return pieces, None

    def _escaped(self, atoms: str, position: int) -> bytes:
        """The bytes of the run of escape atoms that begins here."""
        found = bytearray()
        while position < len(atoms) and atoms[position] in self._escapes:
            found.append(self._escapes[atoms[position]])
            position += 1
        return bytes(found)

    def _not_unknown(self, escaped: bytes, position: int) -> Violation | None:
        """The violation where the bytes of a run of escapes are not those of unknown characters."""
        try:
            text = escaped.decode()
        except UnicodeDecodeError as error:
            return _violation("bytes", position + error.start, "escaped bytes that are not UTF-8")
        for place, character in enumerate(text):
            if ord(character) in self._blocks:
                what = f"escaped bytes of {described(character)}, which has a code of its own"
                return _violation("bytes", position + len(text[:place].encode()), what)
        return None

    @cached_property
    def _escapes(self) -> dict[str, int]:
        return {character: byte for byte, character in enumerate(escape_atoms(len(self.alphabet)))}

    def _violation(self, block: str, position: int) -> Violation:
        for n, character in enumerate(block):
            if character in self._escapes:
                return _violation("truncated", position + n, f"a byte escape inside a block of {self.N} atoms")
            if character not in self._digit_of:
                return _violation("foreign", position + n, f"{described(character)} is no atom of this code")
            digit = self._digit_of[character]
            if digit != n:
                name = self.alphabet[digit * self.K]
                what = f"an atom of digit {digit + 1} (as {name}) where one of digit {n + 1} must stand"
                return _violation("digit", position + n, what)
        if len(block) < self.N:
            return _violation("truncated", position + len(block), f"the last block has {len(block)} of {self.N} atoms")
        return _violation("unassigned", position, "a code that stands for no character")


class Blocks(dict[int, str]):
    """A table of `str.translate` from characters to atoms, with the policy for unknown ones."""

    def __init__(self, blocks: Mapping[int, str], unknown: Unknown, escapes: str) -> None:
        """escapes: the 256 atoms of byte escapes."""
        super().__init__(blocks)
        self._unknown, self._escapes = unknown, escapes

    def __missing__(self, point: int) -> str:
        if self._unknown == "skip":
            return ""
        character = chr(point)
        if self._unknown == "byte" and not "\ud800" <= character <= "\udfff":
            return "".join(self._escapes[byte] for byte in character.encode())
        raise InputError(
            f"the code has no {described(character)}; learn it from text that has it, or choose `byte` or `skip`"
        )


def escape_atoms(size: int) -> str:
    """The 256 atoms of byte escapes, which follow an alphabet of `size` atoms."""
    return "".join(atom(size + byte) for byte in range(256))


def _violation(kind: Any, position: int, what: str) -> Violation:
    return Violation(kind, position, f"atom {position + 1}: {what}")


def smallest_K(characters: int, N: int) -> int:
    """The smallest K with K^N >= |C| (section 4.1.2)."""
    K = max(1, round(characters ** (1 / N)) - 1)
    while characters > K**N:
        K += 1
    return K


def check_capacity(characters: int, N: int, K: int) -> None:
    """Raises ParameterError where there are fewer codes than characters, or N or K is out of range."""
    if not 1 <= N <= len(_DIGITS):
        raise ParameterError(f"N is {N}; it must be from 1 to {len(_DIGITS)}")
    if K < 1:
        raise ParameterError(f"K is {K}; it must be at least 1")
    if N * K > LARGEST_ALPHABET or K**N > LARGEST_CODE:
        raise ParameterError(
            f"N = {N}, K = {K}; a code has at most {LARGEST_ALPHABET:,} atoms (N K) and 2^63 - 1 codes (K^N)"
        )
    if characters > K**N:
        raise ParameterError(
            f"{characters:,} characters need as many codes, and K^N = {K}^{N} = {K**N:,}; use a larger K or N"
        )


def atoms_per_digit(characters: str, N: int, K: int | None) -> int:
    """K, or the smallest K with enough codes where it is None.

    Raises:
        ParameterError: fewer codes than characters, or N or K out of range.
        InputError: only one character.
    """
    if len(characters) < 2:
        raise InputError(f"the corpus has one character, {characters!r}; a codebook needs at least two")
    check_capacity(1, N, 1)
    K = smallest_K(len(characters), N) if K is None else K
    check_capacity(len(characters), N, K)
    return K
