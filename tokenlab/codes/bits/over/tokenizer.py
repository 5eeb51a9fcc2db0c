"""A base tokenizer whose fallen-back bytes are rewritten by a bit-level code: text to ids and back.

Encoding: the ids of the base, their symbols by a table, the runs of bytes rewritten, the ids of the symbols by another
table. All texts of a batch go through the tables and the kernel at once.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tokenlab.codes.bits.decoding import Decoded, OnError, Spellings, decode, decode_bytes, spellings
from tokenlab.codes.bits.options import DEFAULT, BitOptions
from tokenlab.codes.bits.over.bases import Base
from tokenlab.codes.bits.over.ids import bit_ids
from tokenlab.codes.bits.over.recycling import DeadToken, dead_tokens
from tokenlab.codes.bits.stream import rewrite, rewrite_batch
from tokenlab.codes.bits.symbols import LONG, OTHER, RESET, dead_symbols, symbol_name
from tokenlab.core.errors import InputError

_END = 0xFF
"""A byte that no text has."""


class BitTokenizer:
    """A bit-level code over a base tokenizer.

    `decode` restores every text in mode `lossless`, unless a normaliser of the base changes it (`base.notes`), with
    recycled ids too.
    """

    def __init__(self, base: Base, options: BitOptions = DEFAULT, recycle: bool | Sequence[int] = False) -> None:
        """recycle: whether added symbols take ids of the base that can never occur (see `recycling`), or which ids."""
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
        starts = np.zeros(len(encodings) + 1, np.int64)
        np.cumsum([len(encoding) for encoding in encodings], out=starts[1:])
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
            DeadToken(int(self.ids.ids[symbol.symbol]), symbol.reason)
            for symbol in dead_symbols(self.options)
            if symbol.symbol >= LONG and self.ids.ids[symbol.symbol] >= 0
        ]

    def name(self, id: int) -> str | None:
        """The printed name of an added symbol, None for a token of the base."""
        symbol = int(self.ids.symbols[id])
        return symbol_name(symbol) if LONG <= symbol < OTHER else None
