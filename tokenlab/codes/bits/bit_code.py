"""The bit-level code behind the interface of all character codes: every character falls back to its bytes.

Its 517 atoms are the symbols 0 to 516 of `tokenlab.codes.bits.symbols`, in order.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tokenlab.codes.base.corpus import CharacterCorpus
from tokenlab.codes.base.interface import Violation, atom, atom_numbers, described
from tokenlab.codes.baselines.byte import utf8_violation
from tokenlab.codes.bits.characters import CharacterBits
from tokenlab.codes.bits.decoding import DecodeError, decode, decode_bytes
from tokenlab.codes.bits.options import DEFAULT, BitOptions
from tokenlab.codes.bits.symbols import OTHER, symbol_name
from tokenlab.core.errors import InputError

_POINTS = np.array([ord(atom(symbol)) for symbol in range(OTHER)], np.uint32)


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
        return _POINTS[CharacterBits(options=self.options).encode(text)].tobytes().decode("utf-32-le")

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
        foreign = (symbols < 0) | (symbols >= OTHER)
        end = int(np.argmax(foreign)) if foreign.any() else symbols.size
        errors = decode(symbols[:end], on_error="skip", emission=self.options.emission).errors
        if errors and end == symbols.size and self._is_truncated(symbols, errors[0]):
            return Violation("truncated", end, f"the last character lacks atoms after atom {end}")
        if errors:
            kind, message = errors[0].kind, errors[0].message.replace("token", "atom", 1)
            return Violation("bytes" if kind == "utf8" else "digit", errors[0].position, message)
        if end < symbols.size:
            return Violation("foreign", end, f"atom {end + 1}: {described(atoms[end])} is no atom of this code")
        return None

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
