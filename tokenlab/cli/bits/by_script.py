"""Tokens of a text by the script of the characters that they stand for."""

import numpy as np

from tokenlab.codes.bits.bit_code import CharacterBits
from tokenlab.codes.bits.counting import VARIANTS, joined
from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.bits.printed import tokens_of_characters
from tokenlab.codes.bits.stream import rewrite_batch
from tokenlab.codes.script import script_blocks

LOSSLESS = tuple(options for options in VARIANTS if options.mode == "lossless")


class TokensByScript:
    """Counts of characters, and of their tokens by byte fallback and by every lossless code."""

    def __init__(self, code: CharacterBits) -> None:
        blocks = script_blocks()
        names, script_of_block = np.unique([name.split(":")[0] for name in blocks.names], return_inverse=True)
        self._code = code
        self._names: list[str] = names.tolist()
        self._script_of = script_of_block[blocks.block]  # Of each code point.
        self._columns = np.zeros((2 + len(LOSSLESS), len(names)), np.int64)

    def add(self, texts: list[str]) -> list[np.ndarray]:
        """Count the characters of texts; returns their plain byte fallback, int32 symbols of each."""
        plain = [self._code.fallback(text) for text in texts]
        symbols, starts = joined(plain)
        scripts = self._script_of[np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)]
        columns = [np.ones(scripts.size, np.int64), tokens_of_characters(symbols, starts)]
        columns += [
            tokens_of_characters(*rewrite_batch(symbols, starts, options), options.emission) for options in LOSSLESS
        ]
        for column, tokens in zip(self._columns, columns, strict=True):
            column += np.bincount(scripts, tokens, len(self._names)).astype(np.int64)
        return plain

    def rows(self) -> list[tuple[str, int, int, dict[BitOptions, int]]]:
        """Script, characters, their tokens by byte fallback, and by each code; most characters first."""
        rows = [
            (name, characters, plain, dict(zip(LOSSLESS, tokens, strict=True)))
            for name, (characters, plain, *tokens) in zip(self._names, self._columns.T.tolist(), strict=True)
            if characters
        ]
        return sorted(rows, key=lambda row: (-row[1], row[0]))
