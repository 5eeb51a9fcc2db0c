"""Rows of the table of lengths: tokens of each code, what they save, and how evenly they are used."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tasks.bits.length_bases import NO_BASE, LengthBase
from tasks.bits.length_texts import Contents
from tokenlab.codes.bits.counting import SymbolCounts
from tokenlab.codes.bits.symbols import LONG, PREFIX, RESET, dead_symbols
from tokenlab.codes.interface import Code, atom_numbers
from tokenlab.metrics.renyi import renyi_efficiency, renyi_entropy

Row = dict[str, Any]

_SHANNON = 1.0
_CONTINUATION = slice(0x80, 0xC0)
"""The bytes that begin no character."""


def rows_of_base(base: LengthBase, counts: SymbolCounts, contents: Contents, alphas: Sequence[float]) -> Iterator[Row]:
    """A row for plain byte fallback (code `bytes`), and one for each bit-level code."""
    of_bytes = counts.plain[:LONG]
    fallen = int(of_bytes.sum() - of_bytes[_CONTINUATION].sum())
    shared = {
        "base": base.name,
        "known": base.known,
        **_size(contents),
        "bytes_tokens": int(counts.plain.sum()),
        # In byte-level BPE, the token of one byte may be a whole character, or what merges left of one.
        "fallback_characters": fallen / contents.characters if base.whole_characters else None,
        "byte_tokens": int(of_bytes.sum()) / int(counts.plain.sum()),
    }
    yield {**shared, "code": "bytes", **_measures(counts.plain, base.size, shared["bytes_tokens"], alphas)}
    for options, symbols in counts.rewritten.items():
        yield {
            **shared,
            "code": "bits",
            "mode": options.mode,
            "prefixes": options.prefixes,
            "emission": options.emission,
            **_measures(symbols, base.size_with_bits, shared["bytes_tokens"], alphas),
            "resets": int(symbols[RESET]),
            "prefix_tokens": int(symbols[PREFIX:RESET].sum()),
            "ambiguous": counts.ambiguous.get(options),
            "dead": len(dead_symbols(options, whole=base.whole_characters)),
        }


def rows_of_characters(contents: Contents, code: Code, alphas: Sequence[float]) -> Iterator[Row]:
    """A row for a token a character (code `characters`), and one for a code that encodes each character by itself; both
    beside the bytes of the text."""
    single = np.array(list(contents.frequencies.values()), np.int64)
    atoms = np.zeros(len(code.alphabet), np.int64)
    for character, count in contents.frequencies.items():
        np.add.at(atoms, atom_numbers(code.encode(character)), count)
    for name, counts, vocabulary in (("characters", single, len(single)), (code.kind, atoms, len(atoms))):
        shared = {"base": NO_BASE, "known": None, **_size(contents), "bytes_tokens": contents.bytes}
        yield {**shared, "code": name, **_measures(counts, vocabulary, contents.bytes, alphas)}


def _size(contents: Contents) -> Row:
    return {"texts": contents.texts, "characters": contents.characters, "bytes": contents.bytes}


def _measures(counts: np.ndarray, vocabulary: int, bytes_tokens: int, alphas: Sequence[float]) -> Row:
    """Length and entropies in bits of tokens of a nominal vocabulary, by how often each occurs."""
    tokens = int(counts.sum())
    found: Row = {
        "tokens": tokens,
        "saved": 1 - tokens / bytes_tokens,
        "vocabulary": vocabulary,
        "types": int(np.count_nonzero(counts)),
        "entropy": renyi_entropy(counts, _SHANNON),
    }
    for alpha in alphas:
        found[f"renyi_entropy_{alpha:g}"] = renyi_entropy(counts, alpha)
        found[f"renyi_nominal_{alpha:g}"] = renyi_efficiency(counts, alpha, vocabulary)
        found[f"renyi_observed_{alpha:g}"] = renyi_efficiency(counts, alpha)
    return found
