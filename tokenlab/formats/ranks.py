"""Byte-level tokenizers as ranks (tiktoken, Tekken): tokens as bytes, and the lower the rank the earlier the merge.

A word that is a token is that token. In any other, the adjacent pair whose bytes are the token of the lowest rank is
merged, the leftmost first, until no pair is a token. Words are the matches of a regular expression, which Tekken's file
has and a rank file lacks. For published rank files it stands here, with the special tokens (`KNOWN`), as in the code of
the packages from which the catalogue takes the files. Special tokens spell no text, so only their number counts, and
which of them begin and end a text.
"""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tokenlab.core.errors import InputError
from tokenlab.formats.reading import as_utf8, read_bounded

MOST_TOKENS = 1 << 21
_TEKKEN_BOS, _TEKKEN_EOS = 1, 2

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACES}"
QWEN = rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACES}"
LLAMA4 = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"
)


class RankSettings(NamedTuple):
    """What a rank file lacks."""

    name: str
    pattern: str
    """the regular expression whose matches are the words"""
    special: int = 0
    """number of special tokens, whose ids follow those of the file"""
    bos: int | None = None
    eos: int | None = None


KNOWN = {
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": RankSettings(
        "Llama 3", LLAMA3, 256, 128000, 128001
    ),
    "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed": RankSettings(
        "Llama 4", LLAMA4, 2048, 200000, 200001
    ),
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186": RankSettings("Qwen", QWEN, 208, None, 151643),
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": RankSettings(
        "Whisper, English", GPT2, 1608, 50257, 50256
    ),
    "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126": RankSettings(
        "Whisper, many languages", GPT2, 1608, 50258, 50257
    ),
}
"""By the SHA-256 of the file."""


@dataclass(frozen=True)
class RankTokenizer:
    """A tokenizer by ranks.

    Attributes:
        tokens: bytes of each id, None for special tokens and unused ids. Ids ascend with the rank.
        pattern: the regular expression whose matches are the words.
        bos, eos: ids of the tokens that begin and end a text, None where there is none.
    """

    tokens: tuple[bytes | None, ...]
    pattern: str
    bos: int | None
    eos: int | None

    @property
    def regular(self) -> dict[bytes, int]:
        """The id of each token that spells text, in the order of ranks."""
        return {token: id for id, token in enumerate(self.tokens) if token is not None}


def read_ranks(path: str | Path) -> list[bytes | None]:
    """The tokens of a rank file of tiktoken by rank; a line is a token in base64 and its rank.

    An empty token (Whisper's file has one) spells no text and is None, as ranks that the file leaves out.

    Raises InputError for other formats, a rank or token twice, a byte without a token, and a rank out of range.
    """
    data = read_bounded(path)
    ranked: dict[int, bytes] = {}
    for number, line in enumerate(data.splitlines(), start=1):
        if not line:
            continue
        where = f"{path}, line {number}"
        parts = line.split()
        if len(parts) != 2 or not parts[1].isdigit() or len(parts[1]) > 9:
            raise InputError(f"{where}: not a token in base64 and its rank; this is no rank file of tiktoken")
        _add(ranked, where, int(parts[1]), b"" if parts[0] == b"=" else _decoded(where, parts[0]))
    return _by_rank(path, ranked)


def looks_like_ranks(content: bytes) -> bool:
    """Whether the first line is one of a rank file."""
    parts = content[:4096].partition(b"\n")[0].split()
    return len(parts) == 2 and parts[1].isdigit() and set(parts[0]) <= _BASE64


def read_rank_tokenizer(path: str | Path, settings: RankSettings | None = None) -> RankTokenizer:
    """A rank file with its expression and special tokens: as published where `settings` is None.

    Raises InputError as `read_ranks`, and for a file that is not known where no settings are given.
    """
    tokens = read_ranks(path)
    if settings is None:
        settings = KNOWN.get(hashlib.sha256(read_bounded(path)).hexdigest())
    if settings is None:
        raise InputError(
            f"{path}: a rank file does not say how it splits text into words, and this one is not among the known "
            f"({', '.join(known.name for known in KNOWN.values())}); use its tokenizer.json, or in Python give its "
            "regular expression (rank_settings)"
        )
    special = settings.special
    for id in (settings.bos, settings.eos):
        if id is not None and not len(tokens) <= id < len(tokens) + special:
            raise InputError(
                f"{path}: special token {id} is not among ids {len(tokens)} to {len(tokens) + special - 1}"
            )
    return RankTokenizer((*tokens, *[None] * special), settings.pattern, settings.bos, settings.eos)


def read_tekken(path: str | Path) -> RankTokenizer:
    """A tokenizer of Mistral's Tekken: JSON with the expression and the tokens; special tokens have the lowest ids.

    Raises InputError as `read_ranks`, and for missing or meaningless fields.
    """
    try:
        raw = json.loads(as_utf8(path, read_bounded(path)))
        config, vocabulary = raw["config"], raw["vocab"]
        pattern, size, special = (
            config["pattern"],
            config["default_vocab_size"],
            config["default_num_special_tokens"],
        )
        named = {str(token["token_str"]): token["rank"] for token in raw.get("special_tokens") or []}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path}: not a file of Tekken: it needs config and vocab as mistral-common writes them"
        ) from error
    if type(pattern) is not str or not _is_count(size) or not _is_count(special) or not isinstance(vocabulary, list):
        raise InputError(f"{path}: config needs a pattern, default_vocab_size and default_num_special_tokens")
    if not special < size <= special + len(vocabulary):
        raise InputError(f"{path}: {size} ids of which {special} special ask for more than {len(vocabulary)} tokens")
    ranked: dict[int, bytes] = {}
    for number, entry in enumerate(vocabulary[: size - special]):
        where = f"{path}, vocab {number}"
        if not isinstance(entry, dict) or entry.get("rank") != number or not isinstance(entry.get("token_bytes"), str):
            raise InputError(f"{where}: expected rank {number} and token_bytes")
        _add(ranked, where, number, _decoded(where, entry["token_bytes"].encode("utf-8", "replace")))
    bos, eos = named.get("<s>", _TEKKEN_BOS), named.get("</s>", _TEKKEN_EOS)
    if not all(type(id) is int and 0 <= id < special for id in (bos, eos)):
        raise InputError(f"{path}: <s> and </s> must be special tokens, with ids below {special}")
    return RankTokenizer((*[None] * special, *_by_rank(path, ranked)), pattern, bos, eos)


_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 < value <= MOST_TOKENS


def _decoded(where: str, text: bytes) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError(f"{where}: not base64; this is no file of ranks") from error


def _add(ranked: dict[int, bytes], where: str, rank: int, token: bytes) -> None:
    if rank >= MOST_TOKENS:
        raise InputError(f"{where}: rank {rank}; at most {MOST_TOKENS - 1} is read")
    if rank in ranked:
        raise InputError(f"{where}: rank {rank} stands for two tokens; give each its own")
    ranked[rank] = token


def _by_rank(path: str | Path, ranked: dict[int, bytes]) -> list[bytes | None]:
    """The tokens by rank, checked as a whole."""
    spelled = [token for token in ranked.values() if token]
    if len(set(spelled)) < len(spelled):
        raise InputError(f"{path}: a token has two ranks; keep the lower one")
    missing = sorted(set(range(256)) - {token[0] for token in spelled if len(token) == 1})
    if missing:
        raise InputError(f"{path}: byte 0x{missing[0]:02X} has no token; every byte needs one")
    return [ranked.get(rank) or None for rank in range(max(ranked) + 1)]
