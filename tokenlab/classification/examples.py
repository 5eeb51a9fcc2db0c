"""Labelled texts as token ids, in any cut: characters, atoms of a code, or tokens over either.

A classification is a translation into one token, the class: batches of texts of similar lengths are those of
`tokenlab.translation.pairs`. Each text ends with an end token, so none is empty.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tokenlab.classification.labelled import LabelledTexts
from tokenlab.core.errors import InputError
from tokenlab.metrics.counting import TextTokenizer
from tokenlab.translation.pairs import Pairs, Sentences, sentences

_TEXTS_AT_ONCE = 1 << 10


def vocabulary_size(tokenizer: TextTokenizer) -> int:
    """Tokens of a classifier: the ids of the tokenizer, then the end of a text, then padding."""
    return tokenizer.ids + 2


def encode_labelled(tokenizer: TextTokenizer, texts: LabelledTexts) -> Pairs:
    """The ids of each text as a source, and its class as the one token of the target.

    Args:
        tokenizer: such as `CodeAsTokenizer` (the atoms of a code), `TokenizerOfAtoms` (tokens over them), or
            `read_text_tokenizer` (a tokenizer of text).
        texts: what to encode.

    Raises InputError for a text that the tokenizer cannot encode, with its id.
    """
    end = tokenizer.ids
    targets = Sentences(texts.labels.astype(np.int32), np.arange(len(texts.labels) + 1))
    return Pairs(sentences(encoded(tokenizer, texts.ids, texts.texts), end), targets, padding=end + 1)


def encoded(tokenizer: TextTokenizer, ids: Sequence[str], texts: Sequence[str]) -> Iterator[NDArray[np.int32]]:
    """The token ids of each text. Raises InputError for the first that cannot be encoded, with its id."""
    for first in range(0, len(texts), _TEXTS_AT_ONCE):
        some = slice(first, first + _TEXTS_AT_ONCE)
        try:
            found = tokenizer.encode_batch(texts[some])
        except InputError as error:
            raise _named(error, tokenizer, ids[some], texts[some]) from None
        yield from (tokens.ids for tokens in found)


def _named(error: InputError, tokenizer: TextTokenizer, ids: Sequence[str], texts: Sequence[str]) -> InputError:
    """The error of the first text that cannot be encoded, with its id."""
    for id, text in zip(ids, texts, strict=True):
        try:
            tokenizer.encode_batch([text])
        except InputError as first:
            return InputError(f"{id}: {first}")
    return error
