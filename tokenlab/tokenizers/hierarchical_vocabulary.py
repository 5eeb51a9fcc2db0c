"""The vocabulary of a BPE tokenizer as bytes, for a second BPE inside its tokens."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tokenlab.codes.bits.over.engines import PAIRS, tokenizer_file
from tokenlab.core.errors import InputError
from tokenlab.formats.byte_level import spelled_bytes
from tokenlab.formats.gpt2 import read_gpt2
from tokenlab.formats.pieces import SPACE, Algorithm, PieceKind, read_pieces
from tokenlab.formats.ranks import looks_like_ranks, read_ranks, read_tekken
from tokenlab.formats.reading import as_utf8, read_bounded

_END = "<|endoftext|>"
_BYTE_PIECES = {f"<0x{byte:02X}>": bytes([byte]) for byte in range(256)}
_ONLY_BPE = "hierarchical BPE needs a tokenizer of BPE, whose tokens it divides"


def vocabulary_of(path: str | Path) -> list[bytes]:
    """The spellings of the tokens of a BPE tokenizer, each once, in the order of ids.

    Special tokens and those of the unknown spell no text and are left out. A U+2581 that stands for a space is a space.

    Args:
        path: a `tokenizer.json`; a SentencePiece `.model`; a rank file of tiktoken; a `tekken.json`; GPT-2's
            `encoder.json` or `vocab.json` beside its merges; or a folder with one of them.

    Raises InputError for a missing, damaged or unknown file, and for a tokenizer that is not BPE.
    """
    file = tokenizer_file(path)
    return list(dict.fromkeys(token for token in _spelled(file) if token))


def _spelled(file: Path) -> Iterable[bytes | None]:
    content = read_bounded(file).removeprefix(b"\xef\xbb\xbf")
    if content.lstrip()[:1] not in (b"{", b"["):
        return read_ranks(file) if looks_like_ranks(content) else _of_pieces(file)
    try:
        settings = json.loads(as_utf8(file, content))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not JSON: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(settings, dict):
        raise InputError(f"{file}: JSON, but no tokenizer; its top is a list")
    if {"model", "added_tokens"} <= settings.keys():
        try:
            return list(_of_settings(settings, str(file)))
        except (AttributeError, LookupError, TypeError) as error:
            raise InputError(f"{file}: not a tokenizer.json: its vocabulary or added tokens are damaged") from error
    if {"vocab", "config"} <= settings.keys():
        return read_tekken(file).tokens
    merges = file.with_name(PAIRS.get(file.name, file.name))
    if file.name not in PAIRS or not merges.is_file():
        pairs = " or ".join(f"{vocabulary} and {merges}" for vocabulary, merges in PAIRS.items())
        raise InputError(f"{file}: JSON, but no tokenizer; known are tokenizer.json, tekken.json, {pairs}")
    ids, _ = read_gpt2(file, merges)
    return [spelled_bytes(token) for token in sorted(ids, key=ids.__getitem__) if token != _END]


def _of_settings(settings: dict[str, Any], name: str) -> Iterator[bytes | None]:
    """The tokens of a tokenizer.json."""
    model, added = settings["model"], settings["added_tokens"] or []
    kind = model.get("type") or ("BPE" if "merges" in model else "unknown")  # Old files do not name BPE.
    if kind != "BPE":
        raise InputError(f"{name}: its model is {kind}; {_ONLY_BPE}")
    for mark in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(mark):
            raise InputError(f"{name}: its BPE has {mark} {model[mark]!r}, so a token does not say which bytes it is")
    steps = json.dumps([settings.get("normalizer"), settings.get("pre_tokenizer")], ensure_ascii=False)
    byte_level, spaces, fallback = '"ByteLevel"' in steps, SPACE in steps, bool(model.get("byte_fallback"))
    no_text = {entry["id"] for entry in added if entry["special"]}
    by_id: dict[int, bytes | None] = {}
    for token, id in model["vocab"].items():
        if byte_level:
            by_id[id] = spelled_bytes(token)
        elif token != model.get("unk_token"):
            by_id[id] = (fallback and _BYTE_PIECES.get(token)) or _text(token, spaces)
    by_id |= {entry["id"]: entry["content"].encode() for entry in added}
    return (by_id[id] for id in sorted(by_id) if id not in no_text)


def _text(token: str, spaces: bool) -> bytes:
    return (token.replace(SPACE, " ") if spaces else token).encode("utf-8", "surrogatepass")


def _of_pieces(file: Path) -> Iterator[bytes | None]:
    """The pieces of a SentencePiece model."""
    model = read_pieces(file)
    if model.algorithm != Algorithm.BPE:
        raise InputError(f"{file}: SentencePiece's {model.algorithm.name}; {_ONLY_BPE}")
    for id, piece in enumerate(model.pieces):
        if piece.kind in (PieceKind.NORMAL, PieceKind.USER_DEFINED):
            yield _text(piece.text, model.escapes_spaces)
        elif piece.kind == PieceKind.BYTE:
            yield bytes([model.byte_of(id) or 0])
