"""The bit-level code of a text: over known characters, and behind the interface of all character codes.

In `CharacterBits` each known character is a token, and every other character falls back to its bytes. In `BitCode`
every character does; its 517 atoms are the symbols 0 to 516 of `tokenlab.codes.bits.symbols`, in order.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tokenlab.codes.bits.decoding import Decoded, DecodeError, OnError, Spellings, decode, decode_bytes, spellings
from tokenlab.codes.bits.kernels import fall_back
from tokenlab.codes.bits.options import DEFAULT, BitOptions
from tokenlab.codes.bits.stream import rewrite
from tokenlab.codes.bits.symbols import OTHER, symbol_name
from tokenlab.codes.corpus import CharacterCorpus
from tokenlab.codes.interface import Violation, atom_numbers, atoms, foreign, utf8_violation
from tokenlab.core.errors import InputError
from tokenlab.text.code_points import code_points, utf8

_POINTS = 0x110000
_ATOMS = code_points(atoms(OTHER))


class CharacterBits:
    """Text to symbols and back.

    The base vocabulary is the 256 bytes and the known characters, whose ids are their ranks by code point.
    """

    def __init__(self, known: str = "", options: BitOptions = DEFAULT) -> None:
        """Duplicates among the known characters count once. Raises InputError for a surrogate among them."""
        self.known = "".join(sorted(set(known)))
        self.options = options
        utf8(self.known)

    @property
    def size(self) -> int:
        """The number of different symbols, whether or not they can occur."""
        return OTHER + len(self.known)

    @cached_property
    def spellings(self) -> Spellings:
        """The bytes of the known characters."""
        return spellings(character.encode() for character in self.known)

    @cached_property
    def _ranks(self) -> np.ndarray:
        """int32[0x110000]: the rank of each known character, -1 for others."""
        ranks = np.full(_POINTS, -1, np.int32)
        ranks[code_points(self.known)] = np.arange(len(self.known))
        return ranks

    def fallback(self, text: str) -> np.ndarray:
        """int32[n]: the symbols of plain byte fallback. Raises InputError for a lone surrogate."""
        data = utf8(text)
        if not self.known:
            return np.frombuffer(data, np.uint8).astype(np.int32)
        out = np.empty(len(data), np.int32)
        return out[: fall_back(code_points(text), self._ranks, out)].copy()

    def encode(self, text: str) -> np.ndarray:
        """int32[n]: the symbols of a text.

        Raises InputError for a lone surrogate and, in mode `paper`, for the first place that would be misread.
        """
        return rewrite(self.fallback(text), self.options)

    def decode(self, symbols: np.ndarray, on_error: OnError = "error") -> Decoded:
        """The text of any stream, see `tokenlab.codes.bits.decoding.decode`."""
        return decode(symbols, self.spellings, on_error, self.options.emission)


@dataclass(frozen=True)
class BitCode:
    """Every text has a code, so no character is unknown."""

    options: BitOptions = DEFAULT
    facts: dict[str, Any] = field(default_factory=dict, compare=False)

    kind = "bits"
    reversible = True
    contextual = True
    alphabet = tuple(map(symbol_name, range(OTHER)))

    def encode(self, text: str) -> str:
        """The symbols of a text, each an atom.

        Raises InputError for a lone surrogate and, in mode `paper`, for the first byte that would be misread.
        """
        return _ATOMS[CharacterBits(options=self.options).encode(text)].tobytes().decode("utf-32-le")

    def decode(self, atoms: str) -> str:
        """The text of a string of atoms. Raises InputError at the first violation."""
        violation = self.check(atoms)
        if violation:
            raise InputError(violation.message)
        return decode(atom_numbers(atoms), emission=self.options.emission).text

    def check(self, atoms: str) -> Violation | None:
        """The first atom that is foreign or undecodable.

        A prefix or a payload at a wrong place is of the kind `digit`.
        """
        symbols = atom_numbers(atoms)
        outside = (symbols < 0) | (symbols >= OTHER)
        end = int(np.argmax(outside)) if outside.any() else symbols.size
        errors = decode(symbols[:end], on_error="skip", emission=self.options.emission).errors
        if errors and end == symbols.size and self._is_truncated(symbols, errors[0]):
            return Violation("truncated", end, f"the last character lacks atoms after atom {end}")
        if errors:
            kind, message = errors[0].kind, errors[0].message.replace("token", "atom", 1)
            return Violation("bytes" if kind == "utf8" else "digit", errors[0].position, message)
        return foreign(atoms, end)

    def _is_truncated(self, symbols: np.ndarray, first: DecodeError) -> bool:
        """Whether the first error is that the last character is incomplete."""
        if first.kind != "utf8":
            return first.position == symbols.size - 1 and first.kind != "outside"
        try:
            violation = utf8_violation(decode_bytes(symbols, emission=self.options.emission))
        except InputError:
            return False
        return violation is not None and violation.kind == "truncated"

    def document(self) -> dict[str, Any]:
        """The options."""
        return {"options": asdict(self.options)}

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "BitCode":
        """The code of a JSON document. Raises KeyError, TypeError or ParameterError for a damaged one."""
        return cls(BitOptions(**document["options"]), document["facts"])


def bit_code(corpus: CharacterCorpus, options: BitOptions = DEFAULT) -> BitCode:
    """The bit-level code with the corpus among its facts."""
    return BitCode(options, corpus.facts())
