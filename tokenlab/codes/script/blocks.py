"""The blocks of the SCRIPT code: characters of one script and one supercategory, in the order of their code points.

Supercategories are letters and marks (LM), numbers (N), punctuation and symbols (PS), separators (Z), all others (C).
`blocks.tsv` has them for Unicode 18.0; it is part of the code, so that no other version of Python or of a library makes
another one. Code points that are unassigned there or private are of the script Unknown. Large blocks are cut into
pieces as long as the largest of the others, Latin letters, so that an index stays small.
"""

from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_TABLE = "blocks.tsv"
_POINTS = 0x110000
_SURROGATES = slice(0xD800, 0xE000)
_REST = ("Unknown", "C")
_LARGE = 2048
"""Blocks of more characters are cut: Han, Hangul, Seal, Tangut, Egyptian hieroglyphs, common symbols, and Unknown."""


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
