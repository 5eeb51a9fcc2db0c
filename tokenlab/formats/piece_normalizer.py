"""The normalisation of a SentencePiece model: the text that its pieces spell, and where each character comes from.

The table of a model (`precompiled_charsmap`, such as nmt_nfkc) is a double-array trie (Darts) of strings in UTF-8, with
what replaces each. From left to right, the longest string of the table is replaced; user-defined pieces stay. Spaces
at the ends are then removed, and runs of spaces become one, where the model says so.

The normaliser `Precompiled` of the library `tokenizers` reads the same table, but by grapheme clusters and by the
shortest string, so its texts differ: of the half-width kana \uff76\uff9e it makes two characters, SentencePiece one.
"""

import re
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.formats.pieces import SPACE, PieceKind, PieceModel

_LEAF, _FAR, _LABEL = 1 << 8, 1 << 9, 1 << 31 | 0xFF
"""Bits of a unit of the trie."""


class PieceNormalizer:
    """What a model does to a text before it cuts it, without the space that it puts before the text."""

    def __init__(self, model: PieceModel, name: str) -> None:
        end = 4 + int.from_bytes(model.character_map[:4], "little")
        trie = model.character_map[4:end]
        self._units: list[int] = np.frombuffer(trie[: len(trie) & ~3], "<u4").tolist() or [0]
        self._replacements = model.character_map[end:]
        self._squeezes = model.squeezes_spaces
        kept = sorted(map(re.escape, model.texts(PieceKind.USER_DEFINED)), key=len, reverse=True)
        self._parts = re.compile(f"({'|'.join(kept) or '(?!)'})").split
        self._unchanged: set[str] = set()
        """Pairs of characters of which the first stays: the trie is not asked again."""
        self._name = name

    def __call__(self, text: str) -> tuple[str, NDArray[np.int32]]:
        """The normalised text, and int32[its characters]: the character of `text` from which each comes, ascending.

        Raises InputError, with the name of the model, for a damaged table.
        """
        found: list[str] = []
        places: list[int] = []
        begin = 0
        for number, part in enumerate(self._parts(text)):
            at = 0
            while at < len(part):
                stays = number % 2 or part[at : at + 2] in self._unchanged
                end, new = (at + 1, part[at]) if stays else self._longest(part, at)
                found.append(new)
                places.extend([begin + at] * len(new))
                at = end
            begin += len(part)
        return self._squeezed("".join(found), np.array(places, np.int32))

    def _longest(self, text: str, at: int) -> tuple[int, str]:
        """The end of the longest string of the table at a place, and what replaces it; else of the character itself."""
        node, unit = _below(0, self._units[0]), 0
        found = unchanged = (at + 1, text[at])
        for end in range(at, len(text)):
            for byte in text[end].encode():
                node ^= byte
                unit = self._units[node] if node < len(self._units) else 0
                if unit & _LABEL != byte or not byte:
                    if found is unchanged and end <= at + 1:
                        self._unchanged.add(text[at : at + 2])
                    return found
                node = _below(node, unit)
            if unit & _LEAF:
                found = end + 1, self._replacement(node)
        return found

    def _replacement(self, node: int) -> str:
        try:
            start = self._units[node] & ~(1 << 31)
            return self._replacements[start : self._replacements.index(b"\0", start)].decode()
        except (ValueError, IndexError) as error:
            raise InputError(f"{self._name}: its table of normalisation is damaged; fetch the model again") from error

    def _squeezed(self, text: str, places: NDArray[np.int32]) -> tuple[str, NDArray[np.int32]]:
        if self._squeezes:
            space = np.fromiter((character == " " for character in text), np.bool_, len(text))
            kept = ~space | ~np.append(True, space[:-1])
            text, places = "".join(compress(text, kept)), places[kept]
        text = text.replace(SPACE, " ")  # In pieces they are the same.
        text = text.rstrip(" ") if self._squeezes else text
        return text, places[: len(text)]


def _below(node: int, unit: int) -> int:
    """The number that, combined with a byte by XOR, is the place of the child of a node by that byte."""
    return node ^ (unit >> 10 << (8 if unit & _FAR else 0))
