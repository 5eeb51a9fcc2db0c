"""SCRIPT encoding without merges (Land & Arnett 2025, "BPE Stays on SCRIPT", section 3.1): two atoms a character.

The first atom names the block, a script and a category, the second the character's place in it; see
`tokenlab.codes.script.blocks`. Every text has a code, of twice as many atoms as characters, in every script.

Deviation from the paper, whose code covers the assigned characters: here unassigned and private code points have codes,
too. They need 582 of the block atoms.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tokenlab.codes.base.corpus import CharacterCorpus
from tokenlab.codes.base.interface import Violation, atom, atom_numbers, described
from tokenlab.codes.script.blocks import script_blocks
from tokenlab.core.errors import InputError

_FIRST_ATOM = ord(atom(0))


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
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        block = blocks.block[points]
        if (block < 0).any():
            where = text[int(np.argmax(block < 0))]
            raise InputError(f"{described(where)} is a lone surrogate, which is no character")
        pairs = np.stack([block + blocks.largest, blocks.place[points]], axis=1)
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
        foreign = (numbers < 0) | (numbers >= len(self.alphabet))
        misplaced = (numbers >= blocks.largest) != (np.arange(len(numbers)) % 2 == 0)
        wrong = foreign | misplaced
        # Indices after a block, as far as both are in their places.
        block, index = numbers[:-1:2], numbers[1::2]
        sizes = np.diff(blocks.starts)
        paired = ~(wrong[:-1:2] | wrong[1::2])
        beyond = paired & (index >= sizes[np.where(paired, block - blocks.largest, 0)])
        unassigned = np.zeros(len(numbers), np.bool_)
        unassigned[1::2] = beyond
        if (wrong | unassigned).any():
            return self._violation(atoms, int(np.argmax(wrong | unassigned)), foreign, misplaced)
        if len(numbers) % 2:
            message = f"the last character lacks its index after atom {len(numbers)}"
            return Violation("truncated", len(numbers), message)
        return None

    def _violation(self, atoms: str, place: int, foreign: np.ndarray, misplaced: np.ndarray) -> Violation:
        where = f"atom {place + 1}"
        if foreign[place]:
            return Violation("foreign", place, f"{where}: {described(atoms[place])} is no atom of this code")
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
