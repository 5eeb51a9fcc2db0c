"""A base tokenizer whose fallen-back bytes are rewritten by a bit-level code: text to ids and back.

Encoding: the ids of the base, their symbols by a table, the runs of bytes rewritten, the ids of the symbols by another
table. All texts of a batch go through the tables and the kernel at once.

Ids over a base vocabulary of V ids: a payload v below 100h has the id of byte v; from 100h up, V + v - 100h. Prefix p
has V + 100h + p - 38h, all four of them; the reset has V + 260. A byte that has no token but is a payload (C0, C1) has
the next id.

Recycled ids (the paper's open question 3): the 128 long payloads that can occur, the prefixes and the reset take the
given ids of the base, in this order, and what is left over takes ids from V up. The other long payloads have no id.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tokenlab.codes.bits.decoding import Decoded, OnError, Spellings, decode, decode_bytes, spellings
from tokenlab.codes.bits.options import DEFAULT, BitOptions
from tokenlab.codes.bits.over.bases import Base
from tokenlab.codes.bits.stream import rewrite, rewrite_batch
from tokenlab.codes.bits.symbols import (
    ADDED,
    LONG,
    OTHER,
    PREFIX,
    RESET,
    dead_symbols,
    is_first,
    is_second,
    live_payloads,
    symbol_name,
)
from tokenlab.core.errors import InputError, ParameterError

_END = 0xFF
"""A byte that no text has."""
_ASCII = 0x80


@dataclass(frozen=True, eq=False)
class BitIds:
    """Tables between ids and symbols.

    Attributes:
        base: int32[V], the symbol of each id in an encoding of the base.
        symbols: int32[size], the symbol of each id of the code.
        ids: int32[OTHER + V], the id of each symbol, -1 for those that cannot occur and have none.
    """

    base: np.ndarray
    symbols: np.ndarray
    ids: np.ndarray

    @property
    def size(self) -> int:
        """The number of ids."""
        return len(self.symbols)


def bit_ids(base_size: int, byte_ids: np.ndarray, recycled: Sequence[int] | None = None) -> BitIds:
    """The ids of a code.

    Args:
        base_size: V.
        byte_ids: int32[256], -1 for a byte without a token.
        recycled: ids of the base that can never occur, which are given away; None to leave all where they are.

    Raises ParameterError for recycled ids that are out of range or there twice.
    """
    if recycled and (len(set(recycled)) < len(recycled) or not 0 <= min(recycled) <= max(recycled) < base_size):
        raise ParameterError(f"recycled ids must be different ids of the base, 0 to {base_size - 1}")
    base = np.arange(OTHER, OTHER + base_size, dtype=np.int32)
    present = np.flatnonzero(byte_ids >= 0)
    base[byte_ids[present]] = present
    added = np.arange(LONG, LONG + ADDED) if recycled is None else np.r_[live_payloads(), PREFIX : RESET + 1]
    absent = np.flatnonzero(byte_ids < 0)
    added = np.r_[added, absent[is_first(absent) | is_second(absent)]]
    given = np.array(recycled or (), np.int64)[: len(added)]
    symbols = np.r_[base, added[len(given) :]].astype(np.int32)
    symbols[given] = added[: len(given)]
    ids = np.full(OTHER + base_size, -1, np.int32)
    ids[symbols] = np.arange(len(symbols))
    return BitIds(base, symbols, ids)


class DeadToken(NamedTuple):
    """A token that can never occur in an encoded text."""

    id: int
    reason: str


def dead_tokens(base: Base, options: BitOptions = DEFAULT) -> list[DeadToken]:
    """The tokens of a base vocabulary that can never occur, in order of their ids.

    Only what is proved is listed:

    - bytes that are neither in UTF-8 nor payloads, and lead bytes of characters that are always rewritten
      (`dead_symbols`);
    - byte pieces of ASCII characters that are pieces, as these never fall back, unless the byte is a payload too;
    - tokens of BPE that the encoding of their own text does not give. If a token stands in the encoding of any text, no
      merge crossed its borders, so the merges inside are those of its text alone, which therefore gives that token;
    - ids without a token.

    Special and added tokens are never listed: programs put them between texts.
    """
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
    for symbol, reason in dead_symbols(options, whole=base.whole_characters).items():
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


class BitTokenizer:
    """A bit-level code over a base tokenizer.

    `decode` restores every text in mode `lossless`, unless a normaliser of the base changes it (`base.notes`), with
    recycled ids too.
    """

    def __init__(self, base: Base, options: BitOptions = DEFAULT, recycle: bool | Sequence[int] = False) -> None:
        """recycle: whether added symbols take ids of the base that can never occur (`dead_tokens`), or which ids."""
        self.base = base
        self.options = options
        self.recycled: list[int] | None = None
        """Ids of the base in the order in which they are given away, None where all stay."""
        if recycle is not False:
            self.recycled = [token.id for token in dead_tokens(base, options)] if recycle is True else list(recycle)
        self.ids = bit_ids(base.size, base.byte_ids, self.recycled)

    @property
    def size(self) -> int:
        """The number of ids."""
        return self.ids.size

    @cached_property
    def spellings(self) -> Spellings:
        """The bytes of the tokens of the base; special tokens spell nothing."""
        return spellings(token or b"" for token in self.base.tokens)

    def encode(self, text: str) -> np.ndarray:
        """int32[n]: the ids of a text.

        Raises InputError for a lone surrogate and, in mode `paper`, for the first place that would be misread.
        """
        return self._ids(rewrite(self.ids.base.take(self.base.encode(text)), self.options))

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The ids of each text, int32, as `encode`."""
        return self.rewrite(self.base.encode_batch(texts))

    def rewrite(self, encodings: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The ids of texts from their ids in the base; see `encode` for errors."""
        if not encodings:
            return []
        starts = np.cumsum([0, *map(len, encodings)], dtype=np.int64)
        ids, ends = self.rewrite_joined(np.concatenate(encodings), starts)
        return np.split(ids, ends[1:-1])

    def rewrite_joined(self, ids: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`rewrite` of texts one after the other: ids, and int64[texts + 1] where each begins, and the end of the last.

        Returns the same of the rewritten texts.
        """
        symbols, starts = rewrite_batch(self.ids.base.take(ids), starts, self.options)
        return self._ids(symbols), starts

    def decode(self, ids: Any, on_error: OnError = "error") -> Decoded:
        """The text of any ids.

        Args:
            ids: integers below `size`.
            on_error: see `tokenlab.codes.bits.decoding.decode`.

        Raises InputError for the first error, where that is the policy, and for an id out of range.
        """
        return self.decode_symbols(self.symbols(ids), self.spellings, on_error)

    def decode_batch(self, sequences: Sequence[Any], on_error: OnError = "error") -> list[Decoded]:
        """The text of each sequence of ids, as `decode`; all at once where nothing is undecodable."""
        if not sequences:
            return []
        try:
            symbols = self.symbols(np.concatenate([np.asarray(ids, np.int64) for ids in sequences]))
        except InputError:
            return [self.decode(ids, on_error) for ids in sequences]
        return self.decode_joined(symbols, [len(ids) for ids in sequences], self.spellings, on_error)

    def decode_joined(
        self, symbols: np.ndarray, lengths: Sequence[int], table: Spellings, on_error: OnError
    ) -> list[Decoded]:
        """The text of each of some sequences of symbols, one after the other; see `decode` for errors.

        Args:
            lengths: of the sequences.
            table: what the tokens of the base, and others, spell.
        """
        ends = np.cumsum(lengths)
        texts = self._valid(symbols, ends, table)
        if texts is None:
            return [self.decode_symbols(part, table, on_error) for part in np.split(symbols, ends[:-1])]
        return [Decoded(self._without_prefix(text), []) for text in texts]

    def _valid(self, symbols: np.ndarray, ends: np.ndarray, table: Spellings) -> list[str] | None:
        """The texts of sequences that end at `ends`, None where there are errors.

        After each sequence come a reset, so that no run goes on, and a byte that no text has.
        """
        ended = np.insert(symbols, np.repeat(ends, 2), np.tile([RESET, _END], len(ends)))
        try:
            parts = decode_bytes(ended, table, self.options.emission).split(bytes([_END]))
            return [part.decode() for part in parts[:-1]] if len(parts) == len(ends) + 1 else None
        except (InputError, UnicodeDecodeError):
            return None

    def decode_symbols(self, symbols: np.ndarray, table: Spellings, on_error: OnError) -> Decoded:
        """The text of symbols, without the space that the base puts before it."""
        decoded = decode(symbols, table, on_error, self.options.emission)
        return decoded._replace(text=self._without_prefix(decoded.text))

    def _without_prefix(self, text: str) -> str:
        return text.removeprefix(" ") if self.base.prefix else text

    def symbols(self, ids: Any) -> np.ndarray:
        """int32[n]: the symbol of each id. Raises InputError for an id out of range."""
        found = np.asarray(ids)
        if not found.size:
            return np.zeros(0, np.int32)
        outside = (found < 0) | (found >= self.size)
        if outside.any():
            position = int(outside.argmax())
            raise InputError(f"token {position + 1}: id {found[position]} is none of the ids 0 to {self.size - 1}")
        return self.ids.symbols.take(found)

    def _ids(self, symbols: np.ndarray) -> np.ndarray:
        ids = self.ids.ids.take(symbols)
        if ids.size and ids.min() < 0:
            raise InputError(f"{symbol_name(int(symbols[ids.argmin()]))} of the text has no id: it was recycled")
        return ids

    def dead(self) -> list[DeadToken]:
        """The ids that can never occur in an encoded text, with the reasons, in order."""
        own = self.ids.symbols
        found = [token for token in dead_tokens(self.base, self.options) if own[token.id] == self.ids.base[token.id]]
        return found + [
            DeadToken(int(self.ids.ids[symbol]), reason)
            for symbol, reason in dead_symbols(self.options).items()
            if symbol >= LONG and self.ids.ids[symbol] >= 0
        ]

    def name(self, id: int) -> str | None:
        """The printed name of an added symbol, None for a token of the base."""
        symbol = int(self.ids.symbols[id])
        return symbol_name(symbol) if LONG <= symbol < OTHER else None
