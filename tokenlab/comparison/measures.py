"""The units of a candidate, tokens or patches, as `tokenlab.metrics` measures them, and their places in a text."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tokenlab.codes.measured import CodeAsTokenizer, TokenizerOfAtoms
from tokenlab.comparison.code_coder import CodeCoder
from tokenlab.comparison.code_patches import CodePatchCoder
from tokenlab.language.coding import Coder
from tokenlab.metrics.counting import TextTokenizer, Tokens, count_tokens
from tokenlab.metrics.registry import of_tokenizer
from tokenlab.metrics.words import texts_with_words
from tokenlab.text.documents import Document

MEASURES = (
    "bytes_per_token",
    "fertility",
    "words_kept_whole",
    "byte_token_rate",
    "vocabulary_used",
    "renyi_efficiency",
)
"""Of `tokenlab.metrics.registry.TOKENIZERS`."""
_OF_TYPES = ("vocabulary_used", "renyi_efficiency")


def measured(coder: Coder, documents: Iterable[Document]) -> dict[str, float | None]:
    """Measures of a candidate on documents, whose words are gold ones where all have some.

    Tokens are patches where the candidate has some, and measures of types are None then.
    """
    counts = count_tokens(units_of(coder), texts_with_words(documents))
    found = {name: value for name, value in of_tokenizer(counts).items() if name in MEASURES}
    return found | ({} if coder.patcher is None else dict.fromkeys(_OF_TYPES))


def units_of(coder: Coder) -> TextTokenizer:
    """The tokens of a coder, or its patches, with their spans where they have some."""
    if isinstance(coder, CodeCoder):
        code, tokenizer = coder.character_code, coder.tokenizer
        return CodeAsTokenizer(code) if tokenizer is None else TokenizerOfAtoms(code, tokenizer)
    return UnitTokenizer(coder)


class UnitTokenizer:
    """Tokens that spell bytes, or patches, which all have the id 0."""

    unknown = None

    def __init__(self, coder: Coder) -> None:
        self._coder = coder
        self._widths = np.array([*map(len, coder.spellings)], np.int64)
        self.vocabulary = self.ids = len(coder.spellings)

    def encode_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The units of each text. Raises InputError for a text without a code."""
        data = [text.encode() for text in texts]
        if self._coder.patcher is not None:
            cutter = self._coder if isinstance(self._coder, CodePatchCoder) else self._coder.patcher
            starts = cutter.starts(data)
            return [
                _placed(text, np.zeros(len(begins), np.int32), begins)
                for text, begins in zip(data, starts, strict=True)
            ]
        coded = self._coder.code(data)
        return [self._tokens(text, passage.ids) for text, passage in zip(data, coded, strict=True)]

    def _tokens(self, text: bytes, ids: NDArray[np.int32]) -> Tokens:
        widths = self._widths[ids]
        before = int(widths.sum()) - len(text)  # the space that some tokenizers put before a text
        return _placed(text, ids, np.maximum(np.cumsum(widths) - widths - before, 0))


def _placed(text: bytes, ids: NDArray[np.int32], starts: NDArray[np.int64]) -> Tokens:
    """Units from the bytes at which they begin."""
    first = (np.frombuffer(text, np.uint8) & 0xC0) != 0x80
    character = np.append(np.cumsum(first) - 1, first.sum())  # of each byte, and of the end
    ends = np.append(starts[1:], len(text))
    whole = np.append(first, True)
    spans = np.stack([character[starts], np.where(ends > starts, character[ends - 1] + 1, character[starts])], axis=1)
    return Tokens(ids, spans.astype(np.int32), int((~whole[starts] | ~whole[ends]).sum()))
