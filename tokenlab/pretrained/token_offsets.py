"""Tokens of a text, and the byte of the text at which each begins.

Offsets come from Hugging Face `tokenizers`, so whatever the tokenizer does to the text (lower-casing, dropping
whitespace, [UNK] for an unknown character, one token for "2025"), each token has its place in the original text. Text
is data: "[SEP]" in it is five characters, never the special token.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer
from tokenizers.pre_tokenizers import ByteLevel

from tokenlab.core.errors import InputError
from tokenlab.formats.hugging_face import steps
from tokenlab.formats.pieces import BYTE_PIECES
from tokenlab.text.code_points import code_points


class TextTokens(NamedTuple):
    """The tokens of one text."""

    ids: NDArray[np.int64]
    """[tokens]"""
    start: NDArray[np.int64]
    """[tokens] the byte at which each token begins, -1 where it has no place"""
    character: NDArray[np.int64]
    """[characters + 1] the byte at which each character begins, and the number of bytes"""


class TextEncoder:
    """Encodes texts without padding, truncation or special tokens, whatever the tokenizer was saved with.

    `size` is one more than the largest id. A token that begins inside a character begins where the previous token ends,
    which is known for byte-level tokens and for byte fallback (`<0xE4>`). Other tokens inside a character (such as the
    second of two that NFKC makes from one character) and empty tokens have no place.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        facts = json.loads(tokenizer.to_str())
        facts |= {"padding": None, "truncation": None, "post_processor": None}  # The post-processor would trim offsets.
        self._tokenizer = Tokenizer.from_str(json.dumps(facts))
        self._tokenizer.encode_special_tokens = True
        vocabulary = self._tokenizer.get_vocab()
        self.size = max(vocabulary.values(), default=-1) + 1
        self._is_byte_level = any(step["type"] == "ByteLevel" for step in steps(facts["pre_tokenizer"]))
        self._byte_length = _byte_lengths(vocabulary, facts, self._is_byte_level)

    def encode(self, texts: Sequence[str]) -> list[TextTokens]:
        """The tokens of each text.

        Raises InputError where a text holds a lone surrogate, or a character that the tokenizer refuses.
        """
        points = [code_points(text) for text in texts]
        try:
            encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        except Exception as error:  # `tokenizers` raises nothing more specific.
            raise InputError(f"the tokenizer cannot encode this text ({error}); give it an unknown token") from None
        return [self._placed(*pair) for pair in zip(encodings, points, strict=True)]

    def _placed(self, encoding: Encoding, points: NDArray[np.uint32]) -> TextTokens:
        widths = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
        character = np.concatenate(([0], np.cumsum(widths, dtype=np.int64)))
        ids = np.array(encoding.ids, np.int64)
        first, end = np.array(encoding.offsets, np.int64).reshape(-1, 2).T
        covered = np.maximum.accumulate(np.concatenate(([0], end[:-1]))) if len(end) else end
        start = np.where(end > first, character[first], -1)
        inside = (end > first) & (first < covered)
        if inside.any():
            lengths = self._byte_length[ids]
            if self._is_byte_level and lengths.sum() != character[-1]:
                lengths[:] = 0  # Normalised text or an added space: the tokens are not the bytes of this text.
            for token in np.flatnonzero(inside).tolist():
                known = token and start[token - 1] >= 0 and lengths[token - 1]
                start[token] = start[token - 1] + lengths[token - 1] if known else -1
        return TextTokens(ids, start, character)


def _byte_lengths(vocabulary: dict[str, int], facts: dict[str, Any], is_byte_level: bool) -> NDArray[np.int64]:
    """For each id the number of bytes of text that it encodes, 0 where unknown."""
    lengths = np.zeros(max(vocabulary.values(), default=-1) + 1, np.int64)
    added = {token["id"] for token in facts["added_tokens"]}
    alphabet = set(ByteLevel.alphabet())
    pieces: set[str] = set(BYTE_PIECES) if facts["model"].get("byte_fallback") else set()
    for token, id in vocabulary.items():
        if is_byte_level and id not in added and alphabet.issuperset(token):
            lengths[id] = len(token)
        elif token in pieces:
            lengths[id] = 1
    return lengths


def check_embedded(size: int, rows: int, folder: Path) -> None:
    """Raise InputError for a tokenizer with more ids (`size`) than a model has rows of embeddings."""
    if size > rows:
        raise InputError(
            f"{folder}: the tokenizer has {size} tokens but the model embeds {rows}; give the model its own tokenizer"
        )


def tokens_before(tokenizer: Tokenizer, named: int | None, configured: int | None) -> tuple[int, ...]:
    """Tokens before every text: the special tokens that the tokenizer adds there, or its BOS (`named`), or the BOS of
    the model's configuration (`configured`) where this is a special token of the tokenizer, or none."""
    word = next(iter(tokenizer.get_vocab(with_added_tokens=False)), "")
    encoding = tokenizer.encode(word)
    before = 0
    while before < len(encoding) and encoding.special_tokens_mask[before]:
        before += 1
    if 0 < before < len(encoding):
        return tuple(encoding.ids[:before])
    if named is None and configured is not None:
        added = tokenizer.get_added_tokens_decoder()
        named = configured if configured in added and added[configured].special else None
    return () if named is None else (named,)
