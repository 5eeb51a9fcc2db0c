"""Tokenizers from files of every format as they are measured (`tokenlab.metrics.counting`)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tokenlab.formats.hugging_face import LibraryTokenizer, check_spelled
from tokenlab.formats.tokenizer_file import of_ranks, read_tokenizer
from tokenlab.metrics.counting import TextTokenizer, Tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def read_text_tokenizer(path: str | Path) -> TextTokenizer:
    """A tokenizer to measure.

    Args:
        path: a file or folder of any format of `tokenlab.formats.read_tokenizer`: a `tokenizer.json` of any model and
            normalisation; a SentencePiece `.model` without normalisation.

    Raises:
        InputError: there is no such file, it is damaged, of another format, or not supported, with the reason.
    """
    file = read_tokenizer(path)
    if file.format == "SentencePiece":
        return SpellingTokenizer(file.library)
    if file.format in ("ranks", "Tekken"):
        return HuggingFaceTokenizer(of_ranks(file.ranks, str(file.path), special=False))
    return HuggingFaceTokenizer(file.tokenizer)


class HuggingFaceTokenizer:
    """A `tokenizers.Tokenizer`, with spans as its own offsets place them.

    Text that spells a special token is text. Byte tokens are the pieces <0x00> to <0xFF> of byte fallback and, in
    byte-level BPE, tokens whose bytes alone are not UTF-8.
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
        self._is_byte = library.byte_tokens
        self._unknown = -1 if library.unknown is None else library.unknown

    def encode_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text."""
        encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [self._tokens(encoding.ids, encoding.offsets) for encoding in encodings]

    def _tokens(self, ids: list[int], offsets: list[tuple[int, int]]) -> Tokens:
        found = np.array(ids, np.int32)
        spans = np.array(offsets, np.int32).reshape(-1, 2)
        return Tokens(found, spans, int(self._is_byte[found].sum()), int((found == self._unknown).sum()))


class SpellingTokenizer:
    """A tokenizer whose tokens spell the text, such as a SentencePiece model: spans come from the lengths of tokens."""

    def __init__(self, library: LibraryTokenizer) -> None:
        self.vocabulary = self.ids = len(library.tokens)
        self._library = library
        self._lengths = np.array([len(token or b"") for token in library.tokens], np.int64)
        self._is_byte = library.byte_tokens

    def encode_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text. Raises InputError for text that the vocabulary cannot spell."""
        return list(map(self._tokens, texts, self._library.encode_batch(texts)))

    def _tokens(self, text: str, ids: np.ndarray) -> Tokens:
        data = text.encode()
        prefix = self._library.prefix if data else b""  # such as a space, spelled before the text
        check_spelled(ids.tolist(), self._library.tokens, prefix + data)
        ends = np.cumsum(self._lengths[ids]) - len(prefix)
        starts = np.maximum(ends - self._lengths[ids], 0)
        character = np.cumsum((np.frombuffer(data, np.uint8) & 0xC0) != 0x80) - 1
        of_byte = np.append(character, character[-1] + 1 if len(character) else 0)
        last = np.where(ends > starts, of_byte[np.maximum(ends - 1, 0)] + 1, of_byte[starts])
        spans = np.stack([of_byte[starts], last], axis=1).astype(np.int32)
        return Tokens(ids, spans, int(self._is_byte[ids].sum()), 0)
