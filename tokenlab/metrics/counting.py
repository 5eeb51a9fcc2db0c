"""Counts of a tokenizer on texts, in one pass and with memory that does not grow with the text.

A tokenizer that is measured takes text and gives tokens with their spans (`TextTokenizer`).
"""

from collections.abc import Iterable, Sequence
from functools import partial, reduce
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.batches import in_batches
from tokenlab.core.shards import Cluster, map_shards
from tokenlab.metrics.tokenizer_measures import TokenizerCounts
from tokenlab.metrics.words import TextWithWords

_CHARACTERS = 1 << 18
"""Of a shard, unless one text has more."""


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


def count_tokens(
    tokenizer: TextTokenizer, texts: Iterable[TextWithWords], cluster: Cluster | None = None
) -> TokenizerCounts:
    """The counts of a tokenizer on texts; those of words are None where a text has no known words.

    cluster: of `open_cluster`, with the tokenizer as its state; None counts in this process.

    Raises InputError for a text that the tokenizer cannot encode.
    """
    shards = in_batches(texts, _CHARACTERS, size=lambda one: len(one.text) + 1)
    nothing = _Sums(np.zeros(tokenizer.ids, np.int64))
    sums = map_shards(_counted, shards, lambda found: reduce(_added, found, nothing), cluster or Cluster((tokenizer,)))
    types = sums.types[sums.types > 0]
    return TokenizerCounts(
        texts=sums.texts,
        characters=sums.characters,
        bytes=sums.bytes,
        tokens=int(types.sum()),
        types=types,
        vocabulary=tokenizer.vocabulary,
        byte_tokens=sums.byte_tokens,
        unknown_tokens=0 if tokenizer.unknown is None else int(sums.types[tokenizer.unknown]),
        words=sums.words,
        whole_words=sums.whole_words,
    )


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


class _Sums(NamedTuple):
    """Sums over the texts of a shard."""

    types: NDArray[np.int64]
    """int64[ids]: how often each token occurs."""
    texts: int = 0
    characters: int = 0
    bytes: int = 0
    byte_tokens: int | None = 0
    words: int | None = 0
    whole_words: int | None = 0


def _counted(tokenizer: TextTokenizer, texts: Sequence[TextWithWords]) -> _Sums:
    encoded = tokenizer.encode_batch([text.text for text in texts])
    return _Sums(
        types=np.bincount(np.concatenate([tokens.ids for tokens in encoded]), minlength=tokenizer.ids),
        texts=len(texts),
        characters=sum(len(text.text) for text in texts),
        bytes=sum(len(text.text.encode()) for text in texts),
        byte_tokens=_sum(tokens.byte_tokens for tokens in encoded),
        words=_sum(None if text.words is None else len(text.words) for text in texts),
        whole_words=_sum(map(partial(_whole, tokenizer.unknown), texts, encoded)),
    )


def _whole(unknown: int | None, text: TextWithWords, tokens: Tokens) -> int | None:
    """How many words of a text are kept whole."""
    if text.words is None or tokens.spans is None:
        return None
    is_unknown = None if unknown is None else tokens.ids == unknown
    return int(words_kept_whole(text.words, tokens.spans, is_unknown).sum())


def _added(one: _Sums, other: _Sums) -> _Sums:
    return _Sums._make([one.types + other.types, *map(_sum, zip(one[1:], other[1:], strict=True))])


def _sum(parts: Iterable[int | None]) -> int | None:
    """None where a part is unknown."""
    total = 0
    for part in parts:
        if part is None:
            return None
        total += part
    return total
