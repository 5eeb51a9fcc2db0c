"""The byte code: a character is its bytes in UTF-8, each an atom; the baseline of section 4.1.3."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tokenlab.codes.base.corpus import CharacterCorpus
from tokenlab.codes.base.interface import Violation, atom, described
from tokenlab.core.errors import InputError

_ATOMS = [atom(byte) for byte in range(256)]
_BYTES = {character: byte for byte, character in enumerate(_ATOMS)}
_OF_LATIN_1 = dict(enumerate(_ATOMS))


@dataclass(frozen=True)
class ByteCode:
    """Every text has a code, so no character is unknown."""

    facts: dict[str, Any] = field(default_factory=dict, compare=False)

    kind = "byte"
    reversible = True
    contextual = False
    alphabet = tuple(f"{byte:02x}" for byte in range(256))

    def encode(self, text: str) -> str:
        """One atom for each byte of the text in UTF-8. Raises InputError for a lone surrogate."""
        try:
            return text.encode().decode("latin-1").translate(_OF_LATIN_1)
        except UnicodeEncodeError as error:
            raise InputError(f"{described(text[error.start])} is a lone surrogate, which has no bytes") from None

    def decode(self, atoms: str) -> str:
        """The text of a string of atoms. Raises InputError at the first violation."""
        try:
            return bytes(map(_BYTES.__getitem__, atoms)).decode()
        except (KeyError, UnicodeDecodeError):
            violation = self.check(atoms)
        assert violation
        raise InputError(violation.message)

    def check(self, atoms: str) -> Violation | None:
        """The first atom that is foreign or at which the bytes stop being UTF-8."""
        found = bytearray()
        foreign = None
        for position, character in enumerate(atoms):
            if character not in _BYTES:
                what = f"atom {position + 1}: {described(character)} is no atom of this code"
                foreign = Violation("foreign", position, what)
                break
            found.append(_BYTES[character])
        return utf8_violation(bytes(found)) or foreign

    def document(self) -> dict[str, Any]:
        """Nothing beside kind and facts."""
        return {}

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "ByteCode":
        """The code of a JSON document."""
        return cls(document["facts"])


def byte_code(corpus: CharacterCorpus) -> ByteCode:
    """The byte code with the corpus among its facts."""
    return ByteCode(corpus.facts())


def utf8_violation(found: bytes) -> Violation | None:
    """The first place at which bytes are not UTF-8; its position is that of a byte."""
    try:
        found.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return Violation("truncated", len(found), f"the last character lacks bytes after atom {len(found)}")
        return Violation("bytes", error.start, f"atom {error.start + 1}: bytes that are not UTF-8 ({error.reason})")
    return None
