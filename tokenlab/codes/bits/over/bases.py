"""Base tokenizers of bit-level codes: any tokenizer with byte fallback.

Two kinds fall back to bytes. In byte-level BPE all tokens are bytes, and the tokens of one byte are the raw bytes. In
SentencePiece's way, tokens are pieces of characters, and a character without a piece is spelled by 256 byte pieces.

Encoding is that of the tokenizer, except where it is ambiguous. Of pieces, U+2581 stands for a space, so a U+2581 of
the text is spelled by bytes; a space before the text is always added, not only where the text has none; and special
tokens are ordinary text. Then decoding restores every text, unless a normaliser changes it (`Base.notes`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from tokenlab.core.errors import InputError
from tokenlab.formats.hugging_face import LibraryTokenizer
from tokenlab.formats.ranks import RankSettings
from tokenlab.formats.tokenizer_file import read_tokenizer

_NO_FALLBACK = "no byte fallback: a character without a token becomes unknown; take byte-level BPE or train with bytes"


@dataclass(frozen=True, eq=False)
class Base:
    """A tokenizer with byte fallback.

    Attributes:
        name: where it comes from, for messages.
        library: the tokenizer, its tokens and what encodes.
        notes: where decoding does not restore the text, one sentence each.
    """

    name: str
    library: LibraryTokenizer
    notes: tuple[str, ...] = ()

    @property
    def tokenizer(self) -> Tokenizer:
        """All of it, as its file has it."""
        return self.library.tokenizer

    @property
    def tokens(self) -> tuple[bytes | None, ...]:
        """The bytes that each id spells, None for special tokens and for ids without a token."""
        return self.library.tokens

    @property
    def byte_ids(self) -> np.ndarray:
        """int32[256], the ids of the bytes; -1 for some of C0, C1, F5 to FF, which are in no UTF-8 and have no token in
        some byte-level vocabularies."""
        return self.library.byte_ids

    @property
    def whole_characters(self) -> bool:
        """Whether characters fall back as a whole, as in pieces; in byte-level BPE, a merge may take some bytes of a
        character and leave the others."""
        return not self.library.byte_level

    @property
    def prefix(self) -> bool:
        """Whether a space is put before a text that is not empty."""
        return bool(self.library.prefix)

    @property
    def size(self) -> int:
        """V: the number of ids."""
        return len(self.tokens)

    def encode(self, text: str) -> np.ndarray:
        """int32[n]: the ids of a text. Raises InputError for a lone surrogate."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The ids of each text, int32. Raises InputError for a lone surrogate."""
        try:
            return self.library.encode_batch(texts)
        except (TypeError, UnicodeEncodeError):
            raise _surrogate(texts) from None


def read_base(path: str | Path, rank_settings: RankSettings | None = None) -> Base:
    """Read a base tokenizer.

    Args:
        path: a file or folder of any format of `tokenlab.formats.read_tokenizer`.
        rank_settings: expression and special tokens of a rank file, which has neither; known for published files.

    Raises InputError for a missing, damaged or unknown file, and for a tokenizer without byte fallback.
    """
    file = read_tokenizer(path, rank_settings)
    return base_of(file.tokenizer, str(file.path))


def base_of(tokenizer: Tokenizer, name: str = "the tokenizer") -> Base:
    """A tokenizer of the library `tokenizers` as a base.

    Raises InputError, with the reason, where it has no byte fallback or tokens that depend on their place.
    """
    library = LibraryTokenizer(tokenizer)
    if not library.byte_level and not library.settings["model"].get("byte_fallback"):
        raise InputError(f"{name}: {_NO_FALLBACK}")
    library.check_spelling(name)
    if missing := library.missing_bytes:
        raise InputError(f"{name}: byte 0x{missing[0]:02X} has no token; byte fallback needs all that UTF-8 has")
    return Base(name, library, tuple(_notes(library)))


def _notes(library: LibraryTokenizer) -> Iterator[str]:
    if library.changes:
        yield f"its normaliser ({', '.join(library.changes)}) changes texts; decoding gives the normalised text"
    if library.adds_space:
        yield "it puts a space before a text that has none, and decoding keeps it"
    if any(entry["lstrip"] or entry["rstrip"] for entry in library.settings["added_tokens"] if not entry["special"]):
        yield "spaces beside some of its added tokens are lost"


def _surrogate(texts: Sequence[str]) -> InputError:
    for number, text in enumerate(texts, start=1):
        for place, character in enumerate(text, start=1):
            if "\ud800" <= character <= "\udfff":
                return InputError(
                    f"text {number}, character {place}: U+{ord(character):04X} is a lone surrogate, which has no "
                    "UTF-8; remove it"
                )
    return InputError("the texts are no strings")
