"""Base tokenizers of bit-level codes: any tokenizer with byte fallback (`reading` reads files).

Two kinds fall back to bytes. In byte-level BPE all tokens are bytes, and the tokens of one byte are the raw bytes. In
SentencePiece's way, tokens are pieces of characters, and a character without a piece is spelled by 256 byte pieces.

Encoding is that of the tokenizer, except where it is ambiguous. Of pieces, U+2581 stands for a space, so a U+2581 of
the text is spelled by bytes; a space before the text is always added, not only where the text has none; and special
tokens are ordinary text. Then decoding restores every text, unless a normaliser changes it (`Base.notes`).
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from tokenlab.core.errors import InputError
from tokenlab.formats.byte_level import byte_characters, spelled_bytes
from tokenlab.formats.pieces import SPACE

Engine = Callable[[list[str]], list[np.ndarray]]
"""The ids, int32, of each of some texts."""

_BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))
_NEVER = (0xC0, 0xC1, *range(0xF5, 0x100))  # in no UTF-8
_NO_FALLBACK = "no byte fallback: a character without a token becomes unknown; take byte-level BPE or train with bytes"


@dataclass(frozen=True, eq=False)
class Base:
    """A tokenizer with byte fallback.

    Attributes:
        name: where it comes from, for messages.
        tokenizer: all of it, as its file has it.
        bare: what encodes: without special tokens, and without a space before the text.
        tokens: the bytes that each id spells, None for special tokens and for ids without a token.
        byte_ids: int32[256], the ids of the bytes; -1 for some of C0, C1, F5 to FF, which are in no UTF-8 and have no
            token in some byte-level vocabularies.
        whole_characters: whether characters fall back as a whole, as in pieces; in byte-level BPE, a merge may take
            some bytes of a character and leave the others.
        prefix: whether a space is put before a text that is not empty.
        escaped: finds the characters of a text that are spelled by bytes because a piece would be ambiguous: U+2581,
            and in Unigram the first of <0x41> and </s>, which are pieces there. None where there are none.
        engine: what encodes; another one that gives the ids of `bare` may replace it (`dataclasses.replace`).
        notes: where decoding does not restore the text, one sentence each.
    """

    name: str
    tokenizer: Tokenizer
    bare: Tokenizer
    tokens: tuple[bytes | None, ...]
    byte_ids: np.ndarray
    whole_characters: bool
    prefix: bool
    escaped: "re.Pattern[str] | None"
    engine: Engine
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """V: the number of ids."""
        return len(self.tokens)

    def spelled(self, id: int) -> bytes:
        """The bytes of a token; none for special tokens. Raises LookupError for an id that is out of range."""
        if id < 0:
            raise IndexError(id)
        return self.tokens[id] or b""

    def encode(self, text: str) -> np.ndarray:
        """int32[n]: the ids of a text. Raises InputError for a lone surrogate."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The ids of each text, int32. Raises InputError for a lone surrogate."""
        marked = [" " + text if text else "" for text in texts] if self.prefix else list(texts)
        parts = [self.escaped.split(text) if self.escaped else [text] for text in marked]
        try:
            encoded = iter(self.engine([part for text in parts for part in text[::2]]))
        except (TypeError, UnicodeEncodeError):
            raise _surrogate(texts) from None
        return [next(encoded) if len(text) == 1 else self._joined(text, encoded) for text in parts]

    def _joined(self, parts: list[str], encoded: Iterator[np.ndarray]) -> np.ndarray:
        """The ids of text and escaped characters in turn."""
        ids = []
        for number, part in enumerate(parts):
            ids.append(self.byte_ids[list(part.encode())] if number % 2 else next(encoded))
        return np.concatenate(ids)


def base_of(tokenizer: Tokenizer, name: str = "the tokenizer") -> Base:
    """A tokenizer of the library `tokenizers` as a base.

    Raises InputError, with the reason, where it has no byte fallback or tokens that depend on their place.
    """
    settings = json.loads(tokenizer.to_str())
    model, added = settings["model"], settings["added_tokens"]
    byte_level = bool(_steps(settings, "ByteLevel"))
    if not byte_level and not model.get("byte_fallback"):
        raise InputError(f"{name}: {_NO_FALLBACK}")
    for mark in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(mark):
            raise InputError(f"{name}: its BPE has {mark} {model[mark]!r}, so a token does not say which bytes it is")
    vocabulary = model["vocab"]
    ids = vocabulary if isinstance(vocabulary, dict) else {token: id for id, (token, _) in enumerate(vocabulary)}
    spaces = not byte_level and (bool(_steps(settings, "Metaspace")) or _replaces_spaces(settings))
    bare, prefix = _bare(settings)
    return Base(
        name=name,
        tokenizer=tokenizer,
        bare=bare,
        tokens=_spelled(ids, added, byte_level, spaces),
        byte_ids=_byte_ids(ids, byte_characters() if byte_level else _BYTE_PIECES, name),
        whole_characters=not byte_level,
        prefix=prefix,
        escaped=_escaped(settings, spaces),
        engine=HuggingFaceEngine(bare),
        notes=tuple(_notes(settings)),
    )


@dataclass(frozen=True)
class HuggingFaceEngine:
    """The library `tokenizers` as the engine of a base; several texts at once go to several threads."""

    tokenizer: Tokenizer

    def __call__(self, texts: list[str]) -> list[np.ndarray]:
        if len(texts) == 1:
            return [np.array(self.tokenizer.encode(texts[0], add_special_tokens=False).ids, np.int32)]
        found = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [np.array(encoding.ids, np.int32) for encoding in found]


def _bare(settings: dict[str, Any]) -> tuple[Tokenizer, bool]:
    """The tokenizer without the space before a text, and whether there was one."""
    kept = {**settings, "truncation": None, "padding": None, "post_processor": None}
    kept |= {step: deepcopy(settings[step]) for step in ("normalizer", "pre_tokenizer")}
    prefix = False
    for step in [*_steps(kept, "Prepend"), *_steps(kept, "Metaspace")]:
        if step["type"] == "Prepend" and step["prepend"] == SPACE:
            prefix, step["prepend"] = True, ""
        elif step["type"] == "Metaspace" and step.get("prepend_scheme", "always") != "never":
            prefix, step["prepend_scheme"] = True, "never"
    bare = Tokenizer.from_str(json.dumps(kept))
    bare.encode_special_tokens = True
    return bare, prefix


def _steps(settings: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The steps of a kind in normaliser and pre-tokenizer."""

    def flat(step: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
        if step and step["type"] == "Sequence":
            for inner in step.get("normalizers") or step.get("pretokenizers") or ():
                yield from flat(inner)
        elif step:
            yield step

    steps = [*flat(settings["normalizer"]), *flat(settings["pre_tokenizer"])]
    return [step for step in steps if step["type"] == kind]


def _replaces_spaces(settings: dict[str, Any]) -> bool:
    return any(step["content"] == SPACE for step in _steps(settings, "Replace"))


def _escaped(settings: dict[str, Any], spaces: bool) -> "re.Pattern[str] | None":
    ambiguous = [SPACE] if spaces else []
    if settings["model"]["type"] == "Unigram":
        special = [entry["content"] for entry in settings["added_tokens"] if entry["special"]]
        ambiguous += ["<(?=0x[0-9A-F]{2}>)", *(f"{re.escape(token[0])}(?={re.escape(token[1:])})" for token in special)]
    return re.compile(f"({'|'.join(ambiguous)})") if ambiguous else None


def _spelled(
    ids: dict[str, int], added: list[dict[str, Any]], byte_level: bool, spaces: bool
) -> tuple[bytes | None, ...]:
    by_id: dict[int, bytes | None] = {}
    bytes_of = {piece: bytes([byte]) for byte, piece in enumerate(_BYTE_PIECES)}
    for token, id in ids.items():
        if byte_level:
            by_id[id] = spelled_bytes(token)
        else:
            by_id[id] = bytes_of.get(token) or (token.replace(SPACE, " ") if spaces else token).encode()
    for entry in added:
        by_id[entry["id"]] = None if entry["special"] else entry["content"].encode()
    return tuple(by_id.get(id) or None for id in range(max(by_id) + 1))


def _byte_ids(ids: dict[str, int], names: Sequence[str], name: str) -> np.ndarray:
    missing = [byte for byte, token in enumerate(names) if token not in ids and byte not in _NEVER]
    if missing:
        raise InputError(f"{name}: byte 0x{missing[0]:02X} has no token; byte fallback needs all that UTF-8 has")
    return np.array([ids.get(token, -1) for token in names], np.int32)


def _notes(settings: dict[str, Any]) -> Iterator[str]:
    normalizer = settings["normalizer"] or {}
    parts = normalizer.get("normalizers", [normalizer] if normalizer else [])
    others = [part["type"] for part in parts if part["type"] not in ("Prepend", "Replace")]
    others += ["Replace" for step in _steps(settings, "Replace") if step["content"] != SPACE]
    if others:
        yield f"its normaliser ({', '.join(others)}) changes texts; decoding gives the normalised text"
    if any(step.get("add_prefix_space") for step in _steps(settings, "ByteLevel")):
        yield "it puts a space before a text that has none, and decoding keeps it"
    if any(entry["lstrip"] or entry["rstrip"] for entry in settings["added_tokens"] if not entry["special"]):
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
