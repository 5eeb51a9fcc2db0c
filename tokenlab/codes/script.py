"""SCRIPT encoding without merges (Land & Arnett 2025, "BPE Stays on SCRIPT", section 3.1): two atoms a character.

The first atom names the block, characters of one script and one supercategory in the order of their code points; the
second the character's place in it. Every text has a code, of twice as many atoms as characters, in every script.

Supercategories are letters and marks (LM), numbers (N), punctuation and symbols (PS), separators (Z), all others (C).
`script_blocks.tsv` has them for Unicode 18.0; it is part of the code, so that no other version of Python or of a
library makes another one. Code points that are unassigned there or private are of the script Unknown. Large blocks are
cut into pieces as long as the largest of the others, Latin letters, so that an index stays small.

Deviation from the paper, whose code covers the assigned characters: here unassigned and private code points have codes,
too. They need 582 of the block atoms.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.codes.corpus import CharacterCorpus
from tokenlab.codes.interface import Violation, atom, atom_numbers, foreign
from tokenlab.core.errors import InputError
from tokenlab.text.code_points import code_points

_TABLE = "script_blocks.tsv"
_POINTS = 0x110000
_SURROGATES = slice(0xD800, 0xE000)
_REST = ("Unknown", "C")
_LARGE = 2048
"""Blocks of more characters are cut: Han, Hangul, Seal, Tangut, Egyptian hieroglyphs, common symbols, and Unknown."""
_FIRST_ATOM = ord(atom(0))


class Blocks(NamedTuple):
    """The blocks of all code points but surrogates."""

    names: list[str]
    """`Latin:LM`; pieces of a large block have numbers: `Han:LM:0`."""
    block: NDArray[np.int32]
    """int32[0x110000]: the block of each code point; -1 for surrogates."""
    place: NDArray[np.int32]
    """int32[0x110000]: its place in the block, from 0."""
    starts: NDArray[np.int64]
    """int64[blocks + 1]: the characters of block b are points[starts[b]:starts[b + 1]]."""
    points: NDArray[np.int32]
    """int32[scalar values]: the code points, block by block."""
    largest: int
    """Characters of the largest block: the number of different indices."""


@lru_cache(maxsize=1)
def script_blocks() -> Blocks:
    """The blocks in alphabetical order of script and supercategory."""
    names, class_of = _classes()
    sizes = np.bincount(class_of[class_of >= 0], minlength=len(names))
    largest = int(sizes[sizes <= _LARGE].max())
    order = np.argsort(class_of, kind="stable")[np.count_nonzero(class_of < 0) :].astype(np.int32)
    rank = np.concatenate([np.arange(size) for size in sizes])
    pieces = -(-sizes // largest)
    first_piece = np.cumsum(pieces) - pieces
    block, index = np.full(_POINTS, -1, np.int32), np.full(_POINTS, -1, np.int32)
    block[order] = first_piece[class_of[order]] + rank // largest
    index[order] = rank % largest
    named = [
        f"{name}:{piece}" if count > 1 else name
        for name, count in zip(names, pieces.tolist(), strict=True)
        for piece in range(count)
    ]
    starts = np.concatenate([[0], np.cumsum(np.bincount(block[order], minlength=len(named)))])
    return Blocks(named, block, index, starts, order, largest)


def _classes() -> tuple[list[str], NDArray[np.int64]]:
    """Script and supercategory: the names, and int64[0x110000], the number of each code point's name."""
    text = files(__package__).joinpath(_TABLE).read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    pairs = sorted({(script, category) for _, _, script, category in rows} | {_REST})
    number = {pair: place for place, pair in enumerate(pairs)}
    class_of = np.full(_POINTS, number[_REST], np.int64)
    for first, last, script, category in rows:
        class_of[int(first, 16) : int(last, 16) + 1] = number[script, category]
    class_of[_SURROGATES] = -1
    return [f"{script}:{category}" for script, category in pairs], class_of


@dataclass(frozen=True)
class ScriptCode:
    """Every text has a code, so no character is unknown. Atoms: the indices, then the blocks."""

    facts: dict[str, Any] = field(default_factory=dict, compare=False)

    kind = "script"
    reversible = True
    contextual = False

    @cached_property
    def alphabet(self) -> tuple[str, ...]:
        """`0`, `1`, ... for the indices, then the names of the blocks."""
        blocks = script_blocks()
        return (*map(str, range(blocks.largest)), *blocks.names)

    def encode(self, text: str) -> str:
        """The atom of its block and that of its index for each character. Raises InputError for a lone surrogate."""
        blocks = script_blocks()
        points = code_points(text)
        pairs = np.stack([blocks.block[points] + blocks.largest, blocks.place[points]], axis=1)
        return (pairs + _FIRST_ATOM).astype(np.uint32).tobytes().decode("utf-32-le")

    def decode(self, atoms: str) -> str:
        """The text of a string of atoms. Raises InputError at the first violation."""
        violation = self.check(atoms)
        if violation is not None:
            raise InputError(violation.message)
        blocks = script_blocks()
        pairs = atom_numbers(atoms).reshape(-1, 2)
        points = blocks.points[blocks.starts[pairs[:, 0] - blocks.largest] + pairs[:, 1]]
        return points.astype(np.uint32).tobytes().decode("utf-32-le")

    def check(self, atoms: str) -> Violation | None:
        """The first atom that is foreign or stands where the other of the two belongs, an index that the block does not
        have, or an end after a block."""
        blocks = script_blocks()
        numbers = atom_numbers(atoms)
        outside = (numbers < 0) | (numbers >= len(self.alphabet))
        misplaced = (numbers >= blocks.largest) != (np.arange(len(numbers)) % 2 == 0)
        wrong = outside | misplaced
        # Indices after a block, as far as both are in their places.
        block, index = numbers[:-1:2], numbers[1::2]
        sizes = np.diff(blocks.starts)
        paired = ~(wrong[:-1:2] | wrong[1::2])
        beyond = paired & (index >= sizes[np.where(paired, block - blocks.largest, 0)])
        unassigned = np.zeros(len(numbers), np.bool_)
        unassigned[1::2] = beyond
        if (wrong | unassigned).any():
            return self._violation(atoms, int(np.argmax(wrong | unassigned)), outside, misplaced)
        if len(numbers) % 2:
            message = f"the last character lacks its index after atom {len(numbers)}"
            return Violation("truncated", len(numbers), message)
        return None

    def _violation(self, atoms: str, place: int, outside: np.ndarray, misplaced: np.ndarray) -> Violation | None:
        if outside[place]:
            return foreign(atoms, place)
        where = f"atom {place + 1}"
        name = self.alphabet[atom_numbers(atoms[place])[0]]
        if misplaced[place]:
            wanted = "index" if place % 2 else "block"
            return Violation("digit", place, f"{where}: {name} stands where a character's {wanted} belongs")
        block = self.alphabet[atom_numbers(atoms[place - 1])[0]]
        return Violation("unassigned", place, f"{where}: {block} has no character of index {name}")

    def document(self) -> dict[str, Any]:
        """Nothing beside kind and facts: the blocks are part of the code."""
        return {}

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "ScriptCode":
        """The code of a JSON document."""
        return cls(document["facts"])


def script_code(corpus: CharacterCorpus) -> ScriptCode:
    """The SCRIPT code with the corpus among its facts."""
    return ScriptCode(corpus.facts())
