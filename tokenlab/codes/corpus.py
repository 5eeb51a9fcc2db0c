"""The corpus that codes are learned from: sequences of characters, numbered in the order of their code points.

A sequence is a verse or a line. Runs of whitespace in it become one space and are removed at its ends; nothing else is
normalised.
"""

import hashlib
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from tokenlab.core.errors import InputError
from tokenlab.text.code_points import code_points, utf8

_SEQUENCES_AT_ONCE = 1 << 12


class CharacterCorpus(NamedTuple):
    """Sequences of characters in memory, 4 bytes a character."""

    characters: str
    """The distinct characters, ascending by code point; |C| is their number."""
    symbols: np.ndarray
    """int32[total]: the place of every character of the corpus in `characters`."""
    offsets: np.ndarray
    """int64[sequences + 1]: sequence i is symbols[offsets[i]:offsets[i + 1]]; none is empty."""
    sha256: str
    """Hash of the sequences in UTF-8, each followed by a line feed."""

    @property
    def counts(self) -> np.ndarray:
        """int64[|C|]: how often each character occurs."""
        return np.bincount(self.symbols, minlength=len(self.characters))

    def facts(self) -> dict[str, Any]:
        """The corpus among the facts of a code learned from it."""
        return {
            "corpus": self.sha256,
            "sequences": len(self.offsets) - 1,
            "length": len(self.symbols),
            "characters": len(self.characters),
        }

    def texts(self) -> Iterator[str]:
        """The sequences as text."""
        points = code_points(self.characters)
        for start, end in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            yield points[self.symbols[start:end]].tobytes().decode("utf-32-le")


def collapse(text: str) -> str:
    """The text with each run of whitespace replaced by one space, and removed at its ends."""
    return " ".join(text.split())


def character_corpus(texts: Iterable[str]) -> CharacterCorpus:
    """Read texts, one sequence each, whitespace collapsed; texts of whitespace alone are left out.

    Raises InputError where there are no characters, or a lone surrogate.
    """
    digest = hashlib.sha256()
    blocks, lengths = [], [np.zeros(1, np.int64)]
    sequences = filter(None, map(collapse, texts))
    while some := list(islice(sequences, _SEQUENCES_AT_ONCE)):
        digest.update(utf8("".join(f"{sequence}\n" for sequence in some)))
        blocks.append(code_points("".join(some)))
        lengths.append(np.array([len(sequence) for sequence in some], np.int64))
    if not blocks:
        raise InputError("the corpus is empty: no character but whitespace; give it some text")
    points = np.concatenate(blocks)
    number = np.zeros(sys.maxunicode + 1, np.int32)  # By code point: a table is ten times faster than sorting.
    number[points] = 1
    distinct = np.flatnonzero(number).astype(np.uint32)
    number[distinct] = np.arange(len(distinct))
    offsets = np.cumsum(np.concatenate(lengths))
    return CharacterCorpus(distinct.tobytes().decode("utf-32-le"), number[points], offsets, digest.hexdigest())
