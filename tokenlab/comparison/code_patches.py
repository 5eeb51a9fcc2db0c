"""Text as the atoms of a character code in patches, for hierarchical models: the local models read atoms, and the
latent one a patch at a time.

Patches are those of a patcher of bytes; one that would begin inside a character begins with the next character.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tokenlab.codes.interface import Code, atom, atom_numbers, write_code
from tokenlab.codes.registry import read_code
from tokenlab.comparison.code_coder import CODE, atom_count
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.language.coding import Offsets
from tokenlab.networks.interface import CodedPassage
from tokenlab.patches.interface import Patcher, Starts
from tokenlab.patches.registry import read_patcher, save_patcher

if TYPE_CHECKING:
    from tokenlab.tokenizers.hierarchical import HierarchicalBPE

PATCHER = "patcher"
_FEWEST = 256
"""Symbols of a patch network, at least."""


class CodePatchCoder:
    """The atoms of a code in patches.

    Args:
        code: a reversible one whose atoms do not depend on the text around a character.
        patcher: one whose boundaries follow from the bytes before them.

    Raises InputError for another code, ParameterError for another patcher.
    """

    hierarchical: "HierarchicalBPE | None" = None

    def __init__(self, code: Code, patcher: Patcher) -> None:
        if not code.reversible or code.contextual:
            raise InputError(
                f"the code {code.kind} has no atoms for each character by itself, so patches cannot cut it"
            )
        if not patcher.causal:
            raise ParameterError("patcher needs bytes after the ends of its patches; use another kind")
        self.character_code, self._cutter = code, patcher
        self.patcher: Patcher | None = patcher
        self.spellings: Sequence[bytes] = (b"",) * max(_FEWEST, atom_count(code))
        """Empty, as of `CodeCoder`."""

    def starts(self, texts: Sequence[bytes]) -> list[Starts]:
        """The bytes at which the patches of each text begin: always a character."""
        return [_at_characters(text, begins) for text, begins in zip(texts, self._cutter.starts(texts), strict=True)]

    def code(self, texts: Sequence[bytes], starts: Sequence[Offsets] | None = None) -> list[CodedPassage]:
        """As `Coder.code`; starts are ignored."""
        return [self._coded(text, begins) for text, begins in zip(texts, self.starts(texts), strict=True)]

    def _coded(self, text: bytes, begins: Starts) -> CodedPassage:
        parts = np.split(np.frombuffer(text, np.uint8), np.asarray(begins)[1:])
        atoms = [atom_numbers(self.character_code.encode(part.tobytes().decode())) for part in parts]
        first = np.cumsum([0, *map(len, atoms[:-1])], dtype=np.int32)[: len(begins)]
        return CodedPassage(np.concatenate(atoms).astype(np.int32), first, len(text))

    def decode(self, ids: Iterable[int]) -> bytes:
        """As `Coder.decode`."""
        return self.character_code.decode("".join(map(atom, ids))).encode()

    def save(self, folder: Path) -> None:
        """Write code.json and the patcher's folder into an existing folder; `read` reads them."""
        write_code(self.character_code, folder / CODE)
        (folder / PATCHER).mkdir()
        save_patcher(self._cutter, folder / PATCHER)

    @classmethod
    def read(cls, folder: Path) -> "CodePatchCoder":
        """What `save` wrote. Raises InputError for damage."""
        return cls(read_code(folder / CODE), read_patcher(folder / PATCHER))


def _at_characters(text: bytes, begins: Starts) -> Starts:
    """Starts moved to the next character; none is empty."""
    characters = np.flatnonzero((np.frombuffer(text, np.uint8) & 0xC0) != 0x80)
    places = np.searchsorted(characters, np.asarray(begins, np.int64))
    return characters[np.unique(places[places < len(characters)])]
