"""A tokenizer of the library `tokenizers` as it is measured."""

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenlab.formats.byte_level import spelled_bytes
from tokenlab.measure.interface import Tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_BYTE_PIECE = re.compile("<0x[0-9A-F]{2}>")


class HuggingFaceTokenizer:
    """A `tokenizers.Tokenizer`, its tokens told apart once.

    Text that spells a special token is text. Byte tokens are the pieces <0x00> to <0xFF> of byte fallback and, in
    byte-level BPE, tokens whose bytes alone are not UTF-8.
    """

    def __init__(self, tokenizer: "Tokenizer") -> None:
        """Takes the tokenizer over: truncation and padding are switched off in it."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer
        vocabulary = tokenizer.get_vocab(with_added_tokens=True)
        self.vocabulary = len(vocabulary)
        self.ids = max(vocabulary.values(), default=-1) + 1
        settings = json.loads(tokenizer.to_str())
        self._is_byte = np.zeros(self.ids, np.bool_)
        self._is_byte[_byte_ids(settings, tokenizer.get_vocab(with_added_tokens=False))] = True
        self._unknown = _unknown_id(settings["model"], tokenizer)

    def encode_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text, as the tokenizer's own offsets place them."""
        encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [self._tokens(encoding.ids, encoding.offsets) for encoding in encodings]

    def _tokens(self, ids: list[int], offsets: list[tuple[int, int]]) -> Tokens:
        found = np.array(ids, np.int32)
        spans = np.array(offsets, np.int32).reshape(-1, 2)
        return Tokens(found, spans, int(self._is_byte[found].sum()), int((found == self._unknown).sum()))


def whole_characters(token: bytes) -> bool:
    """Whether bytes are UTF-8 by themselves."""
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def _byte_ids(settings: dict[str, Any], vocabulary: dict[str, int]) -> list[int]:
    """The ids of byte tokens."""
    if '"ByteLevel"' in json.dumps([settings.get("pre_tokenizer"), settings.get("decoder")]):
        spelled = ((spelled_bytes(token), id) for token, id in vocabulary.items())
        return [id for token, id in spelled if token is not None and not whole_characters(token)]
    if settings["model"].get("byte_fallback"):
        return [id for token, id in vocabulary.items() if _BYTE_PIECE.fullmatch(token)]
    return []


def _unknown_id(model: dict[str, Any], tokenizer: "Tokenizer") -> int:
    """The id of the unknown token, -1 where there is none."""
    if model.get("unk_id") is not None:
        return int(model["unk_id"])
    name = model.get("unk_token")
    found = None if name is None else tokenizer.token_to_id(name)
    return -1 if found is None else found
