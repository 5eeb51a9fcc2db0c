"""Character codes as tokenizers: their atoms without merges, and tokenizers over these atoms.

Where the atoms of a character do not depend on the text around it, tokens are placed in the text through the number of
atoms of each character, and a byte token is one that begins or ends inside a character. Tokens of other codes have no
places; of the bit-level code, all atoms but those of ASCII characters are byte tokens, prefixes and resets too.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokenlab.codes.interface import Code, atom_numbers
from tokenlab.formats.pieces import BYTE_PIECES
from tokenlab.metrics.counting import Tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_Length = Callable[[str], int]
_CACHED = 1 << 16


class CodeAsTokenizer:
    """A code without merges: every atom is a token."""

    unknown = None

    def __init__(self, code: Code) -> None:
        self.vocabulary = len(code.alphabet)
        self.ids = len(code.alphabet) + len(BYTE_PIECES)  # byte escapes of unknown characters
        self._code = code
        self._length = _length_of(code)

    def encode_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The atoms of each text. Raises InputError for a character that the code does not have."""
        return [self._tokens(text) for text in texts]

    def _tokens(self, text: str) -> Tokens:
        ids = atom_numbers(self._code.encode(text))
        if self._code.kind == "bits":
            return Tokens(ids, None, len(ids) - sum(map(str.isascii, text)))
        starts = np.arange(len(ids))
        return _placed(ids, starts, starts + 1, text, self._length)


class TokenizerOfAtoms:
    """A tokenizer that encodes the atoms of a code, such as those of the stage `code_tokenizer`."""

    def __init__(self, code: Code, tokenizer: "Tokenizer") -> None:
        self._code = code
        self._length = _length_of(code)
        self._tokenizer = tokenizer
        self.unknown = tokenizer.token_to_id("[UNK]")
        self.vocabulary = self.ids = tokenizer.get_vocab_size(with_added_tokens=True)

    def encode_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text. Raises InputError for a character that the code does not have."""
        encoded = [self._code.encode(text) for text in texts]
        found = self._tokenizer.encode_batch(encoded, add_special_tokens=False)
        return [self._tokens(text, encoding.ids, encoding.offsets) for text, encoding in zip(texts, found, strict=True)]

    def _tokens(self, text: str, ids: list[int], offsets: list[tuple[int, int]]) -> Tokens:
        spans = np.array(offsets, np.int64).reshape(-1, 2)
        return _placed(np.array(ids, np.int32), spans[:, 0], spans[:, 1], text, self._length)


def _length_of(code: Code) -> _Length | None:
    """The number of atoms of a character; None where it depends on the text around it."""
    return None if code.contextual else lru_cache(_CACHED)(lambda character: len(code.encode(character)))


def _placed(
    ids: NDArray[np.int32], starts: NDArray[np.int64], ends: NDArray[np.int64], text: str, length: _Length | None
) -> Tokens:
    """Tokens from their spans in atoms."""
    if length is None:
        return Tokens(ids, None, None)
    character_ends = np.cumsum(np.fromiter(map(length, text), np.int64, len(text)))
    first = np.searchsorted(character_ends, starts, "right")
    last = np.searchsorted(character_ends, ends, "left")
    cut = ~np.isin(starts, np.append(0, character_ends)) | ~np.isin(ends, character_ends)
    spans = np.stack([first, last + 1], axis=1).astype(np.int32)
    return Tokens(ids, spans, int(cut.sum()))
