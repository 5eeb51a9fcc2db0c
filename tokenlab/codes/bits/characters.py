"""A bit-level code over known characters: each is a token, and every other character falls back to its bytes."""

from functools import cached_property

import numpy as np

from tokenlab.codes.base.interface import described
from tokenlab.codes.bits.decoding import Decoded, OnError, Spellings, decode, spellings
from tokenlab.codes.bits.kernels import fall_back
from tokenlab.codes.bits.options import DEFAULT, BitOptions
from tokenlab.codes.bits.stream import rewrite
from tokenlab.codes.bits.symbols import OTHER
from tokenlab.core.errors import InputError

_POINTS = 0x110000


class CharacterBits:
    """Text to symbols and back.

    The base vocabulary is the 256 bytes and the known characters, whose ids are their ranks by code point.
    """

    def __init__(self, known: str = "", options: BitOptions = DEFAULT) -> None:
        """Duplicates among the known characters count once. Raises InputError for a surrogate among them."""
        self.known = "".join(sorted(set(known)))
        self.options = options
        _utf8(self.known)

    @property
    def size(self) -> int:
        """The number of different symbols, whether or not they can occur."""
        return OTHER + len(self.known)

    @cached_property
    def spellings(self) -> Spellings:
        """The bytes of the known characters."""
        return spellings(character.encode() for character in self.known)

    @cached_property
    def _ranks(self) -> np.ndarray:
        """int32[0x110000]: the rank of each known character, -1 for others."""
        ranks = np.full(_POINTS, -1, np.int32)
        ranks[code_points(self.known)] = np.arange(len(self.known))
        return ranks

    def fallback(self, text: str) -> np.ndarray:
        """int32[n]: the symbols of plain byte fallback. Raises InputError for a lone surrogate."""
        data = _utf8(text)
        if not self.known:
            return np.frombuffer(data, np.uint8).astype(np.int32)
        out = np.empty(len(data), np.int32)
        return out[: fall_back(code_points(text), self._ranks, out)].copy()

    def encode(self, text: str) -> np.ndarray:
        """int32[n]: the symbols of a text.

        Raises InputError for a lone surrogate and, in mode `paper`, for the first place that would be misread.
        """
        return rewrite(self.fallback(text), self.options)

    def decode(self, symbols: np.ndarray, on_error: OnError = "error") -> Decoded:
        """The text of any stream, see `tokenlab.codes.bits.decoding.decode`."""
        return decode(symbols, self.spellings, on_error, self.options.emission)


def code_points(text: str) -> np.ndarray:
    """uint32[characters]: the code points of a text. Raises InputError for a lone surrogate."""
    try:
        return np.frombuffer(text.encode("utf-32-le"), np.uint32)
    except UnicodeEncodeError as error:
        raise _surrogate(error) from None


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise _surrogate(error) from None


def _surrogate(error: UnicodeEncodeError) -> InputError:
    return InputError(f"{described(error.object[error.start])} is a lone surrogate, which has no bytes")
