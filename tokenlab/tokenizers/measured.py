"""Tokenizers from files of every format as they are measured (`tokenlab.metrics.counting`)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenlab.formats.hugging_face import LibraryTokenizer, check_spelled
from tokenlab.formats.piece_normalizer import PieceNormalizer
from tokenlab.formats.ranks import RankSettings
from tokenlab.formats.tokenizer_file import of_pieces, read_tokenizer
from tokenlab.metrics.counting import Tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def read_text_tokenizer(
    path: str | Path, rank_settings: RankSettings | None = None
) -> "HuggingFaceTokenizer | SpellingTokenizer":
    """A tokenizer to measure.

    Args:
        path: a file or folder of any format of `tokenlab.formats.read_tokenizer`, with any normalisation; SentencePiece
            models of whole words are not supported.
        rank_settings: expression of a rank file, which has none; known for published ones.

    Raises:
        InputError: there is no such file, it is damaged, of another format, or not supported, with the reason.
    """
    file = read_tokenizer(path, rank_settings)
    name = str(file.path)
    if file.format == "SentencePiece":
        pieces = file.pieces
        library = LibraryTokenizer(of_pieces(pieces, name, ignore_normalizer=True))
        steps = {pieces.normalizer or "table": pieces.character_map, "spaces": pieces.squeezes_spaces}
        changes = tuple(step for step, applied in steps.items() if applied)
        return SpellingTokenizer(library, changes, PieceNormalizer(pieces, name))
    return HuggingFaceTokenizer(file.tokenizer)


class HuggingFaceTokenizer:
    """A `tokenizers.Tokenizer`, with spans as its own offsets place them.

    Text that spells a special token is text. Byte tokens are the pieces <0x00> to <0xFF> of byte fallback and, in
    byte-level BPE, tokens whose bytes alone are not UTF-8.

    changes: names of what the normaliser does to texts; the tokens spell the text that it gives.
    """

    def __init__(self, tokenizer: "Tokenizer") -> None:
        """Takes the tokenizer over: truncation and padding are switched off in it."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        library = LibraryTokenizer(tokenizer)
        self.tokenizer = tokenizer
        self.vocabulary = len(tokenizer.get_vocab(with_added_tokens=True))
        self.ids = len(library.tokens)
        self.unknown = library.unknown
        self.changes = tuple(step for step in library.changes if step != "ByteLevel")
        self._is_byte = library.byte_tokens

    def __reduce__(self) -> tuple[Any, ...]:
        """Made anew where it is copied: a copied tokenizer would forget that special tokens are text."""
        return type(self), (self.tokenizer,)

    def encode_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text."""
        encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [self._tokens(encoding.ids, encoding.offsets) for encoding in encodings]

    def _tokens(self, ids: list[int], offsets: list[tuple[int, int]]) -> Tokens:
        found = np.array(ids, np.int32)
        spans = np.array(offsets, np.int32).reshape(-1, 2)
        return Tokens(found, spans, int(self._is_byte[found].sum()))


class SpellingTokenizer:
    """A tokenizer whose tokens spell the text, as normalised, such as a SentencePiece model.

    Spans come from the lengths of tokens; a token ends where the character after it comes from.

    changes: as of `HuggingFaceTokenizer`.
    """

    def __init__(
        self, library: LibraryTokenizer, changes: tuple[str, ...] = (), normalise: PieceNormalizer | None = None
    ) -> None:
        self.vocabulary = self.ids = len(library.tokens)
        self.unknown, self.changes = library.unknown, changes
        self._library, self._normalise = library, normalise or _unchanged
        self._lengths = np.array([len(token or b"") for token in library.tokens], np.int64)
        self._is_byte = library.byte_tokens

    def encode_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text. Raises InputError for text that tokens do not spell, without an unknown token."""
        normalised = list(map(self._normalise, texts))
        encoded = self._library.encode_batch([text for text, _ in normalised])
        return [
            self._tokens(spelled, np.append(places, len(text)), ids)
            for text, (spelled, places), ids in zip(texts, normalised, encoded, strict=True)
        ]

    def _tokens(self, text: str, places: np.ndarray, ids: np.ndarray) -> Tokens:
        prefix = self._library.prefix if text else b""  # such as a space, spelled before the text
        lengths = self._bytes_held(prefix.decode() + text, ids)
        ends = np.cumsum(lengths) - len(prefix)
        starts = np.maximum(ends - lengths, 0)
        character = np.cumsum((np.frombuffer(text.encode(), np.uint8) & 0xC0) != 0x80) - 1
        of_byte = np.append(character, character[-1] + 1 if len(character) else 0)
        first, last = places[of_byte[starts]], places[of_byte[np.maximum(ends - 1, 0)]]
        beyond = places[np.minimum(np.searchsorted(places, last, "right"), len(places) - 1)]
        spans = np.stack([first, np.where(ends > starts, beyond, first)], axis=1).astype(np.int32)
        return Tokens(ids, spans, int(self._is_byte[ids].sum()))

    def _bytes_held(self, text: str, ids: np.ndarray) -> np.ndarray:
        """int64[tokens]: the bytes of a text that each token stands for."""
        lengths = self._lengths[ids]
        unknown = np.flatnonzero(ids == self.unknown) if self.unknown is not None else ()
        if not len(unknown):
            check_spelled(ids.tolist(), self._library.tokens, text.encode())
            return lengths
        offsets = self._library.bare.encode(text, add_special_tokens=False).offsets
        for token in unknown:
            lengths[token] = len(text[slice(*offsets[token])].encode())
        return lengths


def _unchanged(text: str) -> tuple[str, np.ndarray]:
    return text, np.arange(len(text), dtype=np.int32)
