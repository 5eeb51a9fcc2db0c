"""Counts of a tokenizer on texts, in one pass and with memory that does not grow with the text.

A tokenizer that is measured takes text and gives tokens with their spans (`TextTokenizer`).
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tokenlab.metrics.tokenizer_measures import TokenizerCounts
from tokenlab.metrics.words import TextWithWords

_TEXTS_AT_ONCE = 1 << 10


class Tokens(NamedTuple):
    """The tokens of one text, without the special tokens around it."""

    ids: NDArray[np.int32]
    """int32[tokens], from 0 to `TextTokenizer.ids` - 1."""
    spans: NDArray[np.int32] | None
    """int32[tokens, 2]: the characters [start, end) of the text that a token holds, wholly or in part; starts and ends
    do not descend. None where this is not known."""
    byte_tokens: int | None
    """Bytes of byte fallback, and other tokens that hold a part of a character; None where this is not known."""


class TextTokenizer(Protocol):
    """A tokenizer as it is measured."""

    @property
    def vocabulary(self) -> int:
        """Nominal |V|: all entries, special and added tokens included."""

    @property
    def ids(self) -> int:
        """The largest id + 1; more than `vocabulary` where ids are left out."""

    @property
    def unknown(self) -> int | None:
        """The id that stands for text which the vocabulary cannot spell; None where there is none."""

    def encode_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text. Raises InputError for a text that the tokenizer cannot encode."""


def count_tokens(tokenizer: TextTokenizer, texts: Iterable[TextWithWords]) -> TokenizerCounts:
    """The counts of a tokenizer on texts; those of words are None where a text has no known words.

    Raises InputError for a text that the tokenizer cannot encode.
    """
    totals = _Totals(tokenizer)
    remaining = iter(texts)
    while some := list(islice(remaining, _TEXTS_AT_ONCE)):
        for text, tokens in zip(some, tokenizer.encode_batch([text.text for text in some]), strict=True):
            totals.add(text, tokens)
    return totals.counts()


def words_kept_whole(
    words: NDArray[np.int32], spans: NDArray[np.int32], unknown: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """bool[words]: whether exactly one token holds characters of a word, all of them, and none of another word.

    Args:
        words: int32[words, 2], ascending and disjoint.
        spans: int32[tokens, 2], starts and ends not descending.
        unknown: bool[tokens]: the unknown tokens, which keep no word whole.
    """
    holds_some = spans[:, 0] < spans[:, 1]  # An added space holds no character.
    spans = spans[holds_some]
    known = np.ones(len(spans), np.bool_) if unknown is None else ~unknown[holds_some]
    if not len(spans):
        return np.zeros(len(words), np.bool_)
    first = np.searchsorted(spans[:, 1], words[:, 0], "right")
    beyond = np.searchsorted(spans[:, 0], words[:, 1], "left")
    first = np.minimum(first, len(spans) - 1)
    token = spans[first]
    held = np.searchsorted(words[:, 0], token[:, 1], "left") - np.searchsorted(words[:, 1], token[:, 0], "right")
    holds_all = (token[:, 0] <= words[:, 0]) & (token[:, 1] >= words[:, 1])
    return (beyond - first == 1) & holds_all & (held == 1) & known[first]


class _Totals:
    """Sums over the texts so far."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._vocabulary = tokenizer.vocabulary
        self._unknown = tokenizer.unknown
        self._types = np.zeros(tokenizer.ids, np.int64)
        self._texts = self._characters = self._bytes = 0
        self._byte_tokens: int | None = 0
        self._words: int | None = 0
        self._whole: int | None = 0

    def add(self, text: TextWithWords, tokens: Tokens) -> None:
        """Add a text and its tokens."""
        self._texts += 1
        self._characters += len(text.text)
        self._bytes += len(text.text.encode())
        np.add.at(self._types, tokens.ids, 1)
        whole = None
        if text.words is not None and tokens.spans is not None:
            unknown = None if self._unknown is None else tokens.ids == self._unknown
            whole = int(words_kept_whole(text.words, tokens.spans, unknown).sum())
        self._byte_tokens = _sum(self._byte_tokens, tokens.byte_tokens)
        self._words = _sum(self._words, None if text.words is None else len(text.words))
        self._whole = _sum(self._whole, whole)

    def counts(self) -> TokenizerCounts:
        """The sums."""
        types = self._types[self._types > 0]
        return TokenizerCounts(
            texts=self._texts,
            characters=self._characters,
            bytes=self._bytes,
            tokens=int(types.sum()),
            types=types,
            vocabulary=self._vocabulary,
            byte_tokens=self._byte_tokens,
            unknown_tokens=0 if self._unknown is None else int(self._types[self._unknown]),
            words=self._words,
            whole_words=self._whole,
        )


def _sum(total: int | None, more: int | None) -> int | None:
    """None once a part is unknown."""
    return None if total is None or more is None else total + more
