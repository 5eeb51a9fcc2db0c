"""The tokens of a tokenizer as patches (Dolga et al. 2025, section 2.1).

Special tokens are ordinary text, and the space that some tokenizers put before a text is put before every text. Of
pieces, U+2581 stands for a space, so a U+2581 of the text is spelled by bytes. With byte fallback, every text has
patches then; other tokenizers encode the texts for which they have tokens. A tokenizer that changes texts is refused at
the first text that it changes.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tokenlab.core.errors import InputError
from tokenlab.formats.byte_level import spelled_bytes
from tokenlab.formats.pieces import SPACE
from tokenlab.formats.reading import as_utf8, read_bounded
from tokenlab.patches.interface import Starts

_BATCH = 1 << 22
"""Bytes of texts encoded at once."""
_BYTE_PIECES = {f"<0x{byte:02X}>": byte for byte in range(256)}
_FILE = "tokenizer.json"


class BpePatcher:
    """Patches that are the tokens of a tokenizer.

    The space before a text is in no patch. So the first patch of a text may be no token, and may have more symbols of a
    second BPE than its S.

    Attributes:
        name: where the tokenizer comes from, for messages.
        tokenizer: all of it, as its file has it.
        tokens: the bytes that each id spells, None for special tokens and that of the unknown.
        prefix: what is put before a text that is not empty: b" " or nothing.
        bare: what encodes: without special tokens, without the prefix, and without what changes the ids.
        escaped: finds the characters of a text that are spelled by bytes, None where there are none.
    """

    causal = False

    def __init__(self, tokenizer: Tokenizer, name: str = "the tokenizer") -> None:
        """Raises InputError, with the reason, for a tokenizer whose tokens do not say which bytes they are."""
        settings = json.loads(tokenizer.to_str())
        _check(settings, name)
        self.name, self.tokenizer = name, tokenizer
        self.tokens, self.escaped, self._byte_ids = _read_tokens(settings)
        self.bare, self.prefix, self._reason = _bared(settings)
        self._widths = np.array([len(token or b"") for token in self.tokens], np.int64)

    def encode(self, texts: Sequence[bytes]) -> list[NDArray[np.int32]]:
        """The ids of each text; those of a prefix, too.

        Raises InputError for a text that is not UTF-8, that the tokenizer changes or that it has no tokens for.
        """
        found: list[NDArray[np.int32]] = []
        for batch in _batches(texts):
            found += self._encoded(batch)
        for text, ids in zip(texts, found, strict=True):
            self._check(text, ids)
        return found

    def starts(self, texts: Sequence[bytes]) -> list[Starts]:
        """The patches of each text. Raises InputError as `encode`."""
        return [self._starts(ids) for ids in self.encode(texts)]

    def _encoded(self, texts: Sequence[bytes]) -> Iterator[NDArray[np.int32]]:
        """Parts of texts and escaped characters in turn are encoded apart."""
        marked = [self.prefix.decode() + _decoded(text) if text else "" for text in texts]
        parts = [self.escaped.split(text) if self.escaped else [text] for text in marked]
        plain = [part for text in parts for part in text[::2]]
        encodings = iter(self.bare.encode_batch_fast(plain, add_special_tokens=False))
        for text in parts:
            ids: list[int] = []
            for number, part in enumerate(text):
                ids += [self._byte_ids[byte] for byte in part.encode()] if number % 2 else next(encodings).ids
            yield np.array(ids, np.int32)

    def _check(self, text: bytes, ids: NDArray[np.int32]) -> None:
        spelled = self.prefix + text if text else b""
        same = int(self._widths[ids].sum()) == len(spelled)
        if same and self._reason:
            same = b"".join([self.tokens[id] or b"" for id in ids.tolist()]) == spelled
        if not same:
            reason = self._reason or "it has no tokens for some of the characters"
            raise InputError(f"{self.name} does not spell the text {_shown(text)} with its tokens: {reason}")

    def _starts(self, ids: NDArray[np.int32]) -> Starts:
        ends = np.cumsum(self._widths[ids]) - len(self.prefix)
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)[: len(ends)]
        return starts[1:] if len(ends) and not ends[0] else starts  # The space alone is in no patch.


def read_bpe_patcher(path: str | Path, name: str | None = None) -> BpePatcher:
    """The patcher of a tokenizer.json, or of a folder that has one; of other files: `tokenizer_files`.

    Raises InputError for a missing or damaged file, and as `BpePatcher`.
    """
    file = Path(path) / _FILE if Path(path).is_dir() else Path(path)
    text = as_utf8(file, read_bounded(file))
    try:
        tokenizer = Tokenizer.from_str(text)
    except BaseException as error:  # A panic of the library is no Exception.
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise InputError(f"{file}: not a tokenizer.json: {' '.join(str(error).split())[:200]}") from error
    return BpePatcher(tokenizer, name or str(file))


def _check(settings: dict[str, Any], name: str) -> None:
    model = settings["model"]
    for mark in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(mark):
            raise InputError(
                f"{name}: its {model['type']} has {mark} {model[mark]!r}, so its tokens do not say which bytes they are"
            )


class _Tokens(NamedTuple):
    tokens: tuple[bytes | None, ...]
    escaped: "re.Pattern[str] | None"
    byte_ids: dict[int, int]


def _read_tokens(settings: dict[str, Any]) -> _Tokens:
    """The tokens as bytes; which characters are spelled by byte pieces, and the ids of these."""
    model, added = settings["model"], settings["added_tokens"]
    unigram = isinstance(model["vocab"], list)
    ids = {entry[0]: id for id, entry in enumerate(model["vocab"])} if unigram else model["vocab"]
    byte_level, spaces = bool(_steps(settings, "ByteLevel")), _spaces(settings)
    byte_ids = {byte: ids[piece] for piece, byte in _BYTE_PIECES.items() if piece in ids}
    fallback = bool(model.get("byte_fallback")) and len(byte_ids) == 256 and not byte_level
    by_id: dict[int, bytes | None] = {}
    for token, id in ids.items():
        if byte_level:
            by_id[id] = spelled_bytes(token)
        elif fallback and token in _BYTE_PIECES:
            by_id[id] = bytes([_BYTE_PIECES[token]])
        else:
            by_id[id] = (token.replace(SPACE, " ") if spaces else token).encode()
    unknown = model.get("unk_id") if unigram else ids.get(model.get("unk_token"))
    by_id |= {} if unknown is None else {unknown: None}
    by_id |= {entry["id"]: None if entry["special"] else entry["content"].encode() for entry in added}
    tokens = tuple(by_id.get(id) or None for id in range(max(by_id, default=-1) + 1))
    ambiguous = [SPACE] if fallback and spaces else []
    if fallback and unigram:  # Texts like <0x41> and </s> are pieces there: their first character is escaped.
        special = [entry["content"] for entry in added if entry["special"]]
        ambiguous += ["<(?=0x[0-9A-F]{2}>)", *(f"{re.escape(text[0])}(?={re.escape(text[1:])})" for text in special)]
    return _Tokens(tokens, re.compile(f"({'|'.join(ambiguous)})") if ambiguous else None, byte_ids)


def _bared(settings: dict[str, Any]) -> tuple[Tokenizer, bytes, str]:
    """What encodes, the prefix that it does not put before a text, and why texts may change, "" where they do not."""
    settings |= {"truncation": None, "padding": None, "post_processor": None}
    prefix = b""
    for step in _steps(settings, "Metaspace"):
        if step.get("prepend_scheme", "always") != "never":
            prefix, step["prepend_scheme"] = b" ", "never"
    kept = []
    for step in _flat(settings["normalizer"]):
        if step["type"] == "Prepend" and step["prepend"] == SPACE:
            prefix = b" "
        else:
            kept.append(step)
    settings["normalizer"] = {"type": "Sequence", "normalizers": kept} if kept else None
    changing = [step["type"] for step in kept if (step["type"], step.get("content")) != ("Replace", SPACE)]
    reason = f"its normaliser ({', '.join(changing)}) changes it" if changing else ""
    if any(step.get("add_prefix_space") for step in _steps(settings, "ByteLevel")):
        reason = "it puts a space before a text that has none"
    bare = Tokenizer.from_str(json.dumps(settings))
    bare.encode_special_tokens = True
    return bare, prefix, reason


def _flat(step: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    if step and step["type"] == "Sequence":
        for inner in step.get("normalizers") or step.get("pretokenizers") or ():
            yield from _flat(inner)
    elif step:
        yield step


def _steps(settings: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The steps of a kind in normaliser and pre-tokenizer."""
    steps = [*_flat(settings["normalizer"]), *_flat(settings["pre_tokenizer"])]
    return [step for step in steps if step["type"] == kind]


def _spaces(settings: dict[str, Any]) -> bool:
    """Whether U+2581 stands for a space."""
    replaced = any(step["content"] == SPACE for step in _steps(settings, "Replace"))
    return replaced or bool(_steps(settings, "Metaspace"))


def _batches(texts: Sequence[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"the text is not UTF-8 at byte {error.start}; a tokenizer reads characters") from None


def _shown(text: bytes) -> str:
    shown = text.decode()
    return repr(shown) if len(shown) <= 40 else repr(shown[:40]) + "..."
