"""Hierarchical BPE: a second BPE inside the tokens of a first (Dolga et al. 2025, section 2.1, algorithm 1).

Symbols are the bytes 0 to 255, the end-of-patch marker 256, and the merges from 257 on. A patch is its bytes, with the
merges applied in order, and the marker; every token of the vocabulary has at most S symbols then, the marker included.

Where the algorithm leaves a choice: the tokens that do not fit take part (the text's "shorter than S" is a slip), each
spelling once; a pair counts at every adjacent position; the smallest pair of ids wins a tie; a pair is replaced from
left to right; the marker is in no pair.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError, ParameterError, one_line
from tokenlab.core.files import write_text
from tokenlab.formats.hugging_face import PLACES
from tokenlab.formats.tokenizer_file import read_tokenizer
from tokenlab.text.lines import read_whole
from tokenlab.tokenizers.hierarchical_kernels import encode_patches, learn_merges, rank_table

MARKER = 256
_FORMAT = "tokenlab hierarchical BPE 1"
_MOST_MERGES = 1 << 21


@dataclass(frozen=True, eq=False)
class HierarchicalBPE:
    """The merges of a second BPE.

    Raises ParameterError for merges that do not build on bytes and earlier merges, and for an impossible `longest`.
    """

    merges: NDArray[np.int32]
    """int32[merges, 2]: left and right symbol of each; the merge of rank r makes symbol 257 + r."""
    longest: int
    """S: the most symbols of a token of the vocabulary, the marker included; 0 for no bound, without merges."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "merges", _checked(self.merges))
        if self.longest:
            _check_longest(self.longest)

    @property
    def size(self) -> int:
        """V': the number of symbols, the marker included."""
        return MARKER + 1 + len(self.merges)

    @cached_property
    def spellings(self) -> tuple[bytes, ...]:
        """The bytes of each symbol; b"" for the marker."""
        spelled = [*(bytes([byte]) for byte in range(256)), b""]
        for left, right in self.merges.tolist():
            spelled.append(spelled[left] + spelled[right])
        return tuple(spelled)

    @cached_property
    def _ranks(self) -> Any:
        return rank_table(self.merges)

    def encode(self, patch: bytes) -> list[int]:
        """The symbols of a patch, the marker last."""
        return self.encode_patches(patch, [0])[0].tolist()

    def encode_patches(
        self, data: bytes, starts: Sequence[int] | NDArray[np.integer]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The symbols of all patches of a text.

        Args:
            starts: the offsets of the first bytes of patches, ascending; 0 first, none for an empty text.

        Returns: int32[symbols], markers included, and int32[patches] where each patch begins among them.
        Raises ParameterError for starts that are no patches of the text.
        """
        offsets = np.ascontiguousarray(starts, np.int64)
        if len(offsets) and (offsets[0] != 0 or (np.diff(offsets) <= 0).any() or offsets[-1] >= max(1, len(data))):
            raise ParameterError("starts must ascend from 0 and stay below the length of the text")
        if data and not len(offsets):
            raise ParameterError("starts are missing; the first patch of a text begins at 0")
        return encode_patches(np.frombuffer(data, np.uint8), offsets, self._ranks, MARKER)

    def decode(self, ids: Sequence[int] | NDArray[np.integer]) -> bytes:
        """The bytes that symbols spell; markers spell nothing. Raises InputError for an id that is no symbol."""
        spellings = self.spellings
        numbers = np.asarray(ids, np.int64).tolist()
        for id in numbers:
            if not 0 <= id < len(spellings):
                raise InputError(f"id {id} is none of the symbols 0 to {len(spellings) - 1}")
        return b"".join(map(spellings.__getitem__, numbers))

    def lengths(self, tokens: Sequence[bytes]) -> NDArray[np.int64]:
        """int64[tokens]: the symbols of each token as a patch, the marker included. Tokens are not empty."""
        starts = np.zeros(len(tokens), np.int64)
        np.cumsum([len(token) for token in tokens[:-1]], out=starts[1:])
        ids, begins = self.encode_patches(b"".join(tokens), starts)
        return np.diff(begins, append=np.int32(len(ids))).astype(np.int64)

    def save(self, path: str | Path) -> None:
        """Write the merges as JSON, atomically; equal merges give equal bytes."""
        merges = ",\n".join(f"  {json.dumps(pair)}" for pair in self.merges.tolist())
        head = f' "format": {json.dumps(_FORMAT)},\n "longest": {self.longest},\n "vocabulary": {self.size}'
        write_text(
            path, f'{{\n{head},\n "merges": [\n{merges}\n ]\n}}\n' if merges else f'{{\n{head},\n "merges": []\n}}\n'
        )

    @classmethod
    def read(cls, path: str | Path) -> "HierarchicalBPE":
        """Read what `save` wrote. Raises InputError for another or a damaged file."""
        if not Path(path).exists():
            raise InputError(f"{path}: no such file; make one with `tokenlab patches learn`")
        try:
            document = json.loads(read_whole(path))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: not JSON ({one_line(error)[:200]}); learn it again") from None
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise InputError(f"{path}: no hierarchical BPE ({_FORMAT!r}); make one with `tokenlab patches learn`")
        merges, longest, vocabulary = (document.get(name) for name in ("merges", "longest", "vocabulary"))
        if not isinstance(merges, list) or not _are_pairs(merges) or type(longest) is not int:
            raise InputError(f"{path}: a hierarchical BPE with damaged merges; learn it again")
        if vocabulary != MARKER + 1 + len(merges):
            raise InputError(f"{path}: a hierarchical BPE with damaged merges; learn it again")
        try:
            return cls(np.array(merges, np.int32).reshape(-1, 2), longest)
        except ParameterError as error:
            raise InputError(f"{path}: {error}; learn it again") from None


def learn_hierarchical(tokens: Iterable[bytes], longest: int) -> HierarchicalBPE:
    """Learn the merges with which every token fits into `longest` symbols, the marker included.

    Args:
        tokens: the spellings of a vocabulary (`vocabulary_of`); empty ones are left out.
        longest: S, at least 2.

    Raises ParameterError where S is too small, InputError where there is no token.
    """
    _check_longest(longest)
    spellings = [token for token in dict.fromkeys(tokens) if token]
    if not spellings:
        raise InputError("the vocabulary has no token that spells text; there is nothing to learn from")
    offsets = np.cumsum([0, *map(len, spellings)], dtype=np.int64)
    symbols = np.frombuffer(b"".join(spellings), np.uint8).astype(np.int32)
    return HierarchicalBPE(learn_merges(symbols, offsets, longest - 1, MARKER + 1), longest)


def _check_longest(longest: int) -> None:
    if longest < 2:
        raise ParameterError(
            f"longest is {longest}; it must be at least 2: a patch has one symbol or more, and the end-of-patch marker"
        )


def _are_pairs(merges: list[Any]) -> bool:
    return len(merges) <= _MOST_MERGES and all(
        isinstance(pair, list) and len(pair) == 2 and all(type(id) is int and 0 <= id < 1 << 30 for id in pair)
        for pair in merges
    )


def _checked(merges: NDArray[np.int32]) -> NDArray[np.int32]:
    """The merges, contiguous and read-only."""
    merges = np.array(merges, np.int32)
    if merges.ndim != 2 or merges.shape[1] != 2:
        raise ParameterError(f"merges have the shape {merges.shape}; they must be left and right symbol, one row each")
    made = MARKER + 1 + np.arange(len(merges))[:, None]
    wrong = ((merges < 0) | (merges >= made) | (merges == MARKER)).any(axis=1)
    if wrong.any():
        rank = int(np.argmax(wrong))
        raise ParameterError(f"merges: {merges[rank].tolist()} (rank {rank}) are not bytes or earlier merges")
    merges.flags.writeable = False
    return merges


WITHOUT_MERGES = HierarchicalBPE(np.zeros((0, 2), np.int32), 0)
"""Bytes and the marker alone."""


def vocabulary_of(path: str | Path) -> list[bytes]:
    """The spellings of the tokens of a BPE tokenizer, which a second BPE divides, each once, in the order of ids.

    Special tokens and those of the unknown spell no text and are left out. A U+2581 that stands for a space is a space.

    Args:
        path: a file or folder of any format of `tokenlab.formats.read_tokenizer`; a rank file needs no expression.

    Raises InputError for a missing, damaged or unknown file, and for a tokenizer that is not BPE.
    """
    file = read_tokenizer(path)
    if file.algorithm != "BPE":
        raise InputError(
            f"{file.path}: its model is {file.algorithm}; hierarchical BPE needs a tokenizer of BPE, whose tokens it "
            "divides"
        )
    if file.format == "tokenizer.json":
        file.library.check_spelling(str(file.path), PLACES)
    return list(dict.fromkeys(token for token in file.tokens if token))
