"""Tokens of a base vocabulary that no text is encoded with under a bit-level code, and why.

Only what is proved is listed:

- bytes that are neither in UTF-8 nor payloads, and lead bytes of characters that are always rewritten (`dead_symbols`);
- byte pieces of ASCII characters that are pieces, as these never fall back, unless the byte is a payload too;
- tokens of BPE that the encoding of their own text does not give. If a token stands in the encoding of any text, no
  merge crossed its borders, so the merges inside are those of its text alone, which therefore gives that token;
- ids without a token.

Special and added tokens are never listed: programs put them between texts.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tokenlab.codes.bits.options import DEFAULT, BitOptions
from tokenlab.codes.bits.over.bases import Base
from tokenlab.codes.bits.symbols import LONG, dead_symbols, is_first, is_second

_ASCII = 0x80


class DeadToken(NamedTuple):
    """A token that can never occur in an encoded text."""

    id: int
    reason: str


def dead_tokens(base: Base, options: BitOptions = DEFAULT) -> list[DeadToken]:
    """The tokens of a base vocabulary that can never occur, in order of their ids."""
    model = base.library.settings["model"]
    found = dict(_unreachable(base, model))
    found |= {int(base.byte_ids[byte]): reason for byte, reason in _dead_bytes(base, model, options)}
    found.pop(-1, None)
    known = base.tokenizer.get_vocab()
    found |= dict.fromkeys(set(range(base.size)) - set(known.values()), "an id without a token")
    kept = {
        *base.tokenizer.get_added_tokens_decoder(),
        known.get(model.get("unk_token") or ""),
    }
    return [DeadToken(id, found[id]) for id in sorted(found.keys() - kept)]


def _dead_bytes(base: Base, model: dict[str, Any], options: BitOptions) -> Iterator[tuple[int, str]]:
    for symbol, reason in dead_symbols(options, whole=base.whole_characters):
        if symbol < LONG:
            yield symbol, reason
    if not base.whole_characters or model["type"] != "BPE":
        return
    byte_ids = set(base.byte_ids.tolist())
    pieces = {base.tokens[id] for id in model["vocab"].values() if id not in byte_ids}
    for byte in range(_ASCII):
        if bytes([byte]) in pieces and not is_first(byte) and not is_second(byte):
            yield byte, f"the character {chr(byte)!r} is a piece"


def _unreachable(base: Base, model: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Tokens of BPE that no sequence of merges gives."""
    if model["type"] != "BPE" or model.get("ignore_merges"):
        return
    byte_ids = set(base.byte_ids.tolist())
    bytes_ = {token for token, id in model["vocab"].items() if id in byte_ids}
    if base.whole_characters and any(part in bytes_ for merge in model["merges"] for part in merge):
        return  # A token made of byte pieces is not in the encoding of its name.
    engine = base.tokenizer.model
    for token, id in model["vocab"].items():
        if token not in bytes_ and [found.id for found in engine.tokenize(token)] != [id]:
            yield id, "no text gives this token: its own text is encoded by others"
