"""Tokenizers of the library `tokenizers` (tokenizer.json): what their settings say, and encoding with tokens that spell
the text."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tokenlab.core.errors import InputError, of_rust
from tokenlab.formats.byte_level import LARGEST_ID, byte_characters, spelled_bytes
from tokenlab.formats.pieces import BYTE_PIECES, SPACE
from tokenlab.formats.reading import is_utf8

NOT_IN_UTF8 = frozenset((0xC0, 0xC1, *range(0xF5, 0x100)))
"""Bytes that are in no text, and have no token in some vocabularies."""
PLACES = ("continuing_subword_prefix", "end_of_word_suffix")
"""Settings of a model with which the place of a token in its word decides what it spells."""
USUAL_BOS = ("<s>", "<|begin_of_text|>", "<bos>", "<\uff5cbegin\u2581of\u2581sentence\uff5c>", "[BOS]", "<|endoftext|>")
USUAL_EOS = ("</s>", "<|end_of_text|>", "<eos>", "<\uff5cend\u2581of\u2581sentence\uff5c>", "[EOS]", "<|endoftext|>")
"""Usual names of the tokens that begin and end a text; the first that a tokenizer has."""
_DROPS_TEXT = ("WhitespaceSplit", "Whitespace", "BertPreTokenizer", "CharDelimiterSplit")
"""Pre-tokenizers that remove what they split at; others do with the behaviour `Removed`."""
_OF_OTHER_JSON = (LookupError, TypeError, AttributeError, ValueError, RecursionError)
_BYTE_OF_PIECE = {piece: bytes([byte]) for byte, piece in enumerate(BYTE_PIECES)}


def loaded(text: str, where: str) -> Tokenizer:
    """A tokenizer from the text of a tokenizer.json.

    Raises InputError where the library cannot read it, or would end the process or take gigabytes for it; and for BPE
    with dropout, which encodes a text differently each time.
    """
    try:
        model = json.loads(text)["model"]
        _check_model(model)
        if model.get("dropout"):
            raise InputError(f"{where}: BPE with dropout: a text has several encodings; set `dropout` to null")
        return Tokenizer.from_str(text)
    except BaseException as error:
        if isinstance(error, InputError) or not (of_rust(error) or isinstance(error, _OF_OTHER_JSON)):
            raise
        raise InputError(f"{where}: not a tokenizer.json: {' '.join(str(error).split())}") from error


def _check_model(model: dict[str, Any]) -> None:
    """Raises ValueError for ids that collide or are too large, and merges whose second part lacks the prefix that the
    library cuts off."""
    ids = list(model["vocab"].values()) if isinstance(model["vocab"], dict) else []
    if wrong := [id for id in ids if type(id) is not int or not 0 <= id < LARGEST_ID]:
        raise ValueError(f"the id {wrong[0]!r}; ids are from 0 to {LARGEST_ID - 1}")
    if len(set(ids)) < len(ids):
        id, times = Counter(ids).most_common(1)[0]
        raise ValueError(f"the id {id} is that of {times} tokens")
    prefix = model.get("continuing_subword_prefix") or ""
    for merge in model.get("merges", []) if prefix else []:
        second = merge.split(" ")[-1] if isinstance(merge, str) else merge[1]
        if not second.startswith(prefix):
            raise ValueError(f"the merge {merge!r} has no continuing_subword_prefix {prefix!r}")


def hidden_name(id: int) -> str:
    """The name of a token that no text has: with a space, which is written otherwise in tokens of text."""
    return f"<|special {id}|>"


def steps(part: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """The steps of a normaliser or pre-tokenizer as in tokenizer.json, those of sequences too."""
    if part and part.get("type") == "Sequence":
        for inner in part.get("normalizers") or part.get("pretokenizers") or ():
            yield from steps(inner)
    elif part:
        yield part


class LibraryTokenizer:
    """A tokenizer of the library `tokenizers`.

    `encode_batch` takes special tokens as ordinary text, puts the prefix before every text, not only where there is
    none, and spells by bytes what is ambiguous (`escaped`). So the tokens spell the text, unless the tokenizer changes
    texts (`changes`, `adds_space`) or has no tokens for a character.

    Attributes:
        tokenizer: all of it, as its file has it.
        settings: its tokenizer.json, as the library writes it.
        algorithm: "BPE", "Unigram", "WordPiece" or "WordLevel".
        byte_level: whether tokens are bytes, written in the byte-level alphabet; else they are characters.
        spaces: whether U+2581 stands for a space in tokens of characters.
        unknown: the id of the unknown token, None where there is none.
        tokens: the bytes that each id spells, None for special tokens, the unknown token and ids without a token.
        byte_ids: int32[256], the ids of the bytes, or of the byte pieces of byte fallback; -1 where there is none.
        prefix: what is put before a text that is not empty: b" " or nothing.
        changes: names of the steps of the normaliser that change texts.
        adds_space: whether a space is put before a text that has none, by the byte-level pre-tokenizer.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Raises InputError for an id that is too large."""
        self.tokenizer = tokenizer
        self.settings: dict[str, Any] = json.loads(tokenizer.to_str())
        model, normalizer = self.settings["model"], list(steps(self.settings["normalizer"]))
        pre_tokenizer = list(steps(self.settings["pre_tokenizer"]))
        self.algorithm: str = model["type"]
        byte_levels = [step for step in (*normalizer, *pre_tokenizer) if step["type"] == "ByteLevel"]
        metaspaces = [step for step in pre_tokenizer if step["type"] == "Metaspace"]
        self.byte_level = bool(byte_levels)
        self.adds_space = any(step.get("add_prefix_space") for step in byte_levels)
        self.spaces = not self.byte_level and (bool(metaspaces) or any(map(_replaces_spaces, normalizer)))
        prepended = any(step.get("prepend_scheme", "always") != "never" for step in metaspaces)
        self.prefix = b" " if prepended or any(map(_prepends_space, normalizer)) else b""
        self.changes = tuple(
            step["type"] for step in normalizer if not _replaces_spaces(step) and not _prepends_space(step)
        )
        vocabulary = model["vocab"]
        ids = vocabulary if isinstance(vocabulary, dict) else {entry[0]: id for id, entry in enumerate(vocabulary)}
        unknown = model.get("unk_id"), model.get("unk_token")
        self.unknown: int | None = unknown[0] if unknown[1] is None else tokenizer.token_to_id(unknown[1])
        self._fallback = bool(model.get("byte_fallback")) and not self.byte_level
        names = byte_characters() if self.byte_level else BYTE_PIECES if self._fallback else ()
        self.byte_ids = np.array([ids.get(name, -1) for name in names] or [-1] * 256, np.int32)
        self.tokens = self._tokens(ids)

    def __reduce__(self) -> tuple[Any, ...]:
        """Made anew where it is copied: a copied `bare` would forget that special tokens are text."""
        return type(self), (self.tokenizer,)

    def _tokens(self, ids: dict[str, int]) -> tuple[bytes | None, ...]:
        added = self.settings["added_tokens"]
        size = max([*ids.values(), *(entry["id"] for entry in added)], default=-1) + 1
        if size > LARGEST_ID:
            raise InputError(f"the tokenizer has the id {size - 1}; at most {LARGEST_ID - 1} is read")
        tokens: list[bytes | None] = [None] * size
        for token, id in ids.items():
            tokens[id] = self._spelled(token) or None
        if self.unknown is not None:
            tokens[self.unknown] = None
        for entry in added:
            text = entry["content"]
            if entry["normalized"] and any(map(_replaces_spaces, steps(self.settings["normalizer"]))):
                text = text.replace(SPACE, " ")
            tokens[entry["id"]] = None if entry["special"] else text.encode()
        return tuple(tokens)

    def _spelled(self, token: str) -> bytes | None:
        if self.byte_level:
            return spelled_bytes(token)
        if self._fallback and token in _BYTE_OF_PIECE:
            return _BYTE_OF_PIECE[token]
        return (token.replace(SPACE, " ") if self.spaces else token).encode()

    @property
    def missing_bytes(self) -> list[int]:
        """The bytes of UTF-8 that have no token; all where there is neither a byte-level alphabet nor byte fallback."""
        return [byte for byte in np.flatnonzero(self.byte_ids < 0).tolist() if byte not in NOT_IN_UTF8]

    @property
    def byte_tokens(self) -> NDArray[np.bool_]:
        """bool[ids]: the bytes of byte fallback, and byte-level tokens that hold a part of a character."""
        found = np.array([token is not None and not is_utf8(token) for token in self.tokens], np.bool_)
        if not self.byte_level:
            found[self.byte_ids[self.byte_ids >= 0]] = True
        return found

    def check_spelling(self, name: str, marks: Sequence[str] | None = None) -> None:
        """Raises InputError where the place of a token in its word decides which bytes it spells, and where chance
        decides, or the pre-tokenizer drops characters. marks: only for these settings."""
        for mark in PLACES if marks is None else marks:
            if value := self.settings["model"].get(mark):
                raise InputError(
                    f"{name}: its {self.algorithm} has {mark} {value!r}, so a token does not say which bytes it is"
                )
        if marks is None:
            if self.settings["model"].get("dropout"):
                raise InputError(f"{name}: BPE with dropout: a text has several encodings; set `dropout` to null")
            for step in steps(self.settings["pre_tokenizer"]):
                if step["type"] in _DROPS_TEXT or step.get("behavior") == "Removed":
                    raise InputError(f"{name}: its pre-tokenizer {step['type']} drops characters, such as spaces")

    @cached_property
    def bare(self) -> Tokenizer:
        """What encodes: without special tokens, which Unigram would find as pieces, truncation, padding, and the
        prefix."""
        kept = [step for step in steps(self.settings["normalizer"]) if not _prepends_space(step)]
        settings = {**self.settings, "truncation": None, "padding": None, "post_processor": None}
        settings["normalizer"] = {"type": "Sequence", "normalizers": kept} if kept else None
        settings["pre_tokenizer"] = deepcopy(self.settings["pre_tokenizer"])
        for step in steps(settings["pre_tokenizer"]):
            if step["type"] == "Metaspace":
                step["prepend_scheme"] = "never"
        if self.algorithm == "Unigram":
            # Those beyond the vocabulary stay: the library would number the ones behind them anew.
            size = len(self.settings["model"]["vocab"])
            added = self.settings["added_tokens"]
            settings["added_tokens"] = [entry for entry in added if not entry["special"] or entry["id"] >= size]
            settings["model"] = {**self.settings["model"], "vocab": self._without_special()}
        bare = Tokenizer.from_str(json.dumps(settings))
        bare.encode_special_tokens = True
        return bare

    def _without_special(self) -> list[tuple[str, float]]:
        """The vocabulary of Unigram; what spells no text is called by its id."""
        vocabulary = enumerate(self.settings["model"]["vocab"])
        return [(name if self.tokens[id] is not None else hidden_name(id), score) for id, (name, score) in vocabulary]

    @cached_property
    def escaped(self) -> "re.Pattern[str] | None":
        """Finds the characters of a text that are spelled by bytes because a piece would be ambiguous: U+2581, and in
        Unigram the first of <0x41>, which is a piece there. None where there are none."""
        if not self._fallback or self.missing_bytes:
            return None
        ambiguous = [SPACE] if self.spaces else []
        if self.algorithm == "Unigram":
            ambiguous += ["<(?=0x[0-9A-F]{2}>)"]
        return re.compile(f"({'|'.join(ambiguous)})") if ambiguous else None

    def encode_batch(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """The ids of each text, int32, those of the prefix too.

        Raises UnicodeEncodeError or TypeError for a text with a lone surrogate.
        """
        prefix = self.prefix.decode()
        marked = [prefix + text if text else "" for text in texts]
        parts = [self.escaped.split(text) if self.escaped else [text] for text in marked]
        encoded = self._encoded([part for text in parts for part in text[::2]])
        return [next(encoded) if len(text) == 1 else self._joined(text, encoded) for text in parts]

    def _encoded(self, texts: list[str]) -> Iterator[NDArray[np.int32]]:
        """Several texts at once go to several threads."""
        if len(texts) == 1:
            encodings = [self.bare.encode(texts[0], add_special_tokens=False)]
        else:
            encodings = self.bare.encode_batch_fast(texts, add_special_tokens=False)
        return (np.array(encoding.ids, np.int32) for encoding in encodings)

    def _joined(self, parts: list[str], encoded: Iterator[NDArray[np.int32]]) -> NDArray[np.int32]:
        """The ids of text and escaped characters in turn."""
        ids = [self.byte_ids[list(part.encode())] if number % 2 else next(encoded) for number, part in enumerate(parts)]
        return np.concatenate(ids)


def check_spelled(ids: Sequence[int], tokens: Sequence[bytes | None], text: bytes) -> None:
    """Raises InputError where tokens do not spell a text: engines drop what they do not know, or make it unknown."""
    if b"".join(tokens[id] or b"\xff" for id in ids) != text:
        raise InputError(f"the text has {_lost(ids, tokens, text)}, which the tokenizer has no tokens for; remove it")


def _lost(ids: Sequence[int], tokens: Sequence[bytes | None], wanted: bytes) -> str:
    """The character at which tokens and text part."""
    at = 0
    for id in ids:
        token = tokens[id]
        if token is None or not wanted.startswith(token, at):
            break
        at += len(token)
    while at and wanted[at : at + 1] and wanted[at] & 0xC0 == 0x80:
        at -= 1
    return f"{wanted[at:].decode('utf-8', 'replace')[:1]!r} at byte {at}"


def _prepends_space(step: dict[str, Any]) -> bool:
    return step["type"] == "Prepend" and step["prepend"] == SPACE


def _replaces_spaces(step: dict[str, Any]) -> bool:
    return step["type"] == "Replace" and step["content"] == SPACE
