"""Baselines of Latom: bytes, random codes, the characters themselves, and codes of components.

The byte code (section 4.1.3): a character is its bytes in UTF-8, each an atom.

Codes of components (Table 1 and section A.6): a character is a sequence of its components or strokes. `radical` takes
the components from the character's entry in cjkvi-ids, a table of ideographic description sequences: everything but the
description characters (⿰⿱..), of the first variant where regions differ. Components are not decomposed further. The
table writes a component without a code point as a circled number, its count of strokes; so does the code. `stroke`
takes the strokes from the character's first row in the table of rime-stroke, in five classes: horizontal, vertical,
left-falling, dot or right-falling, and turning. A character without an entry (kana, letters, punctuation) is its own
component. Different characters may have the same components, so neither code is reversible.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tokenlab.codes.codebook import Blocks, Codebook, atoms_per_digit, escape_atoms
from tokenlab.codes.corpus import CharacterCorpus
from tokenlab.codes.interface import Unknown, Violation, atom, atoms, foreign, shown, utf8_violation
from tokenlab.codes.options import CodeShape
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.options import check_choice
from tokenlab.text.code_points import utf8

BYTE_ATOMS = atoms(256)
BYTES = {character: byte for byte, character in enumerate(BYTE_ATOMS)}
_SHAPE = CodeShape()
_PERMUTED = 1 << 20
"""Largest number of codes that are permuted to draw some of them."""
Kind = Literal["radical", "stroke"]
TABLES: Mapping[Kind, str] = {"radical": "ids.txt", "stroke": "strokes.tsv"}
"""The file of each kind in the folder of the catalogue's source `ids`."""
STROKES: Mapping[str, str] = {"h": "㇐", "s": "㇑", "p": "㇒", "n": "㇔", "z": "㇕"}
"""The atom of each class of strokes: a stroke character, which no Latin letter of the text equals."""
_COMPONENT = re.compile("&[^;]+;|[^\u2ff0-\u2fff\u31ef]")  # CHISE names some components without a code point &CDP-8B5E;
_REMEDY = "fetch it with `dvc repro data/raw/dvc.yaml:tables@ids`, TOKENLAB_MIRROR naming the mirror if there is one"


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
        return utf8(text).decode("latin-1").translate(BYTE_ATOMS)

    def decode(self, atoms: str) -> str:
        """The text of a string of atoms. Raises InputError at the first violation."""
        try:
            return bytes(map(BYTES.__getitem__, atoms)).decode()
        except (KeyError, UnicodeDecodeError):
            violation = self.check(atoms)
        assert violation
        raise InputError(violation.message)

    def check(self, atoms: str) -> Violation | None:
        """The first atom that is foreign or at which the bytes stop being UTF-8."""
        found = bytes(map(BYTES.__getitem__, takewhile(BYTES.__contains__, atoms)))
        return utf8_violation(found) or foreign(atoms, len(found))

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


def random_codebook(corpus: CharacterCorpus, shape: CodeShape = _SHAPE, *, unknown: Unknown = "error") -> Codebook:
    """A codebook with codes drawn without replacement: the baseline of section 4.1.3 at the same N and K.

    The codes are the first of `default_rng(seed).permutation(K^N)`. Where K^N is above 2^20 they are drawn by
    `default_rng(seed).choice`, which does not list all codes.

    Raises ParameterError where K^N < |C|, and InputError for a corpus of one character.
    """
    N, K = shape.N, atoms_per_digit(corpus.characters, shape.N, shape.K)
    size = len(corpus.characters)
    random = np.random.default_rng(shape.seed)
    codes = random.permutation(K**N)[:size] if K**N <= _PERMUTED else random.choice(K**N, size, replace=False)
    facts = {**corpus.facts(), "N": N, "K": K, "seed": shape.seed}
    return Codebook("random", N, K, corpus.characters, codes.astype(np.int64), unknown, facts)


def character_codebook(corpus: CharacterCorpus, *, unknown: Unknown = "error") -> Codebook:
    """The codebook in which each character is an atom: N = 1, K = |C|, in the order of code points."""
    size = len(corpus.characters)
    return Codebook("character", 1, size, corpus.characters, np.arange(size), unknown, corpus.facts())


@dataclass(frozen=True)
class ComponentCode:
    """A mapping from characters to sequences of components; several characters may have the same sequence."""

    kind: Kind
    components: Mapping[str, Sequence[str]]
    """The names of each character's atoms, at least one, as `shown` prints them."""
    unknown: Unknown = "error"
    facts: dict[str, Any] = field(default_factory=dict, compare=False)
    """The corpus and the table it was learned from; plain JSON values."""

    reversible = False
    contextual = False

    def __post_init__(self) -> None:
        check_choice("unknown", self.unknown, Unknown)
        check_choice("kind", self.kind, Kind)
        for character, names in self.components.items():
            if len(character) != 1 or not names or not all(name and name == shown(name) for name in names):
                raise ParameterError(f"the components of {shown(character)!r} cannot be {list(names)}")

    @cached_property
    def alphabet(self) -> Sequence[str]:
        """The components, in the order of their code points; whitespace and controls as \\uXXXX."""
        return sorted({name for names in self.components.values() for name in names})

    def encode(self, text: str) -> str:
        """The atoms of a text: the components of each character in the order of the table."""
        return text.translate(self._blocks)

    def decode(self, atoms: str) -> str:
        """Raises InputError: several characters may have the same components."""
        raise InputError(f"the code `{self.kind}` is irreversible: several characters have the same components")

    def check(self, atoms: str) -> Violation | None:
        """The first atom that is foreign, or at which escaped bytes stop being UTF-8."""
        known = "".join(takewhile(self._known.__contains__, atoms))
        for run in self._escaped.finditer(known):
            if violation := utf8_violation(bytes(map(self._escapes.index, run[0]))):
                place = run.start() + violation.position
                return Violation("bytes", place, f"atom {place + 1}: escaped bytes that are not UTF-8")
        return foreign(atoms, len(known))

    def document(self) -> dict[str, Any]:
        """The code as JSON values, without its kind and facts."""
        return {
            "unknown": self.unknown,
            "codes": {character: list(names) for character, names in self.components.items()},
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "ComponentCode":
        """The code of a JSON document. Raises KeyError, TypeError or ParameterError for a damaged one."""
        codes = {character: tuple(names) for character, names in document["codes"].items()}
        return cls(document["kind"], codes, document["unknown"], document["facts"])

    @cached_property
    def _blocks(self) -> Blocks:
        atoms = {name: atom(number) for number, name in enumerate(self.alphabet)}
        blocks = {
            ord(character): "".join(atoms[name] for name in names) for character, names in self.components.items()
        }
        return Blocks(blocks, self.unknown, self._escapes)

    @cached_property
    def _escapes(self) -> str:
        return escape_atoms(len(self.alphabet))

    @cached_property
    def _escaped(self) -> re.Pattern[str]:
        return re.compile(f"[{self._escapes}]+")

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(atoms(len(self.alphabet) + 256))


def learn_radicals(corpus: CharacterCorpus, *, tables: str | Path, unknown: Unknown = "error") -> ComponentCode:
    """`learn_components` with the components of characters."""
    return learn_components("radical", corpus, tables, unknown)


def learn_strokes(corpus: CharacterCorpus, *, tables: str | Path, unknown: Unknown = "error") -> ComponentCode:
    """`learn_components` with the strokes of characters."""
    return learn_components("stroke", corpus, tables, unknown)


def learn_components(
    kind: Kind, corpus: CharacterCorpus, folder: str | Path, unknown: Unknown = "error"
) -> ComponentCode:
    """The code of a table for the characters of a corpus; a character missing from the table is its own component.

    Args:
        kind: "radical" or "stroke".
        corpus: only its characters get a code.
        folder: the folder of the catalogue's source `ids`.
        unknown: how characters missing from the corpus are encoded.

    Raises:
        InputError: no such table, or it is not UTF-8, or it has a malformed line; with file and line.
        ParameterError: another kind, or no such policy.
    """
    check_choice("kind", kind, Kind)
    path = Path(folder, TABLES[kind])
    entries = (_read_ids if kind == "radical" else _read_strokes)(path, frozenset(corpus.characters))
    facts = {
        "corpus": corpus.sha256,
        "table": hashlib.sha256(path.read_bytes()).hexdigest(),
        "characters": len(corpus.characters),
        "entries": len(entries),
    }
    components = {character: entries.get(character, (shown(character),)) for character in corpus.characters}
    return ComponentCode(kind, components, unknown, facts)


def _read_ids(path: Path, wanted: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """The components of the wanted characters; a line is U+XXXX, the character, and sequences[regions]."""
    entries: dict[str, tuple[str, ...]] = {}
    for where, line in _lines(path):
        if line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) < 3 or len(fields[1]) != 1 or fields[0] != f"U+{ord(fields[1]):04X}":
            raise InputError(f"{where}: not a code point, its character and a sequence between tabs; {_REMEDY}")
        found = tuple(_COMPONENT.findall(fields[2].partition("[")[0]))
        if not found:
            raise InputError(f"{where}: {fields[1]} has no component; {_REMEDY}")
        if fields[1] in wanted:
            entries.setdefault(fields[1], found)
    return entries


def _read_strokes(path: Path, wanted: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """The strokes of the wanted characters; a line is a character and letters of hspnz. A header ends with `...`."""
    entries: dict[str, tuple[str, ...]] = {}
    head = False
    for number, (where, line) in enumerate(_lines(path), 1):
        head = line != "..." and (head or (number == 1 and line.startswith("#")))
        if head or line in ("", "..."):
            continue
        character, _, letters = line.partition("\t")
        if len(character) != 1 or not letters:
            raise InputError(f"{where}: not a character and its strokes between tabs; {_REMEDY}")
        if character in wanted and character not in entries:
            # Checked only here: the table has mistakes at characters that hardly any corpus contains.
            if not set(letters) <= set(STROKES):
                raise InputError(
                    f"{where}: the strokes {letters} of {character} are not letters of hspnz; correct the line"
                )
            entries[character] = tuple(map(STROKES.__getitem__, letters))
    return entries


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a table, each with its file and number."""
    try:
        with path.open(encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                yield f"{path}, line {number}", line.rstrip("\r\n")
    except FileNotFoundError:
        raise InputError(f"{path}: not there; {_REMEDY}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason}); {_REMEDY}") from None
