"""Stage `bits_length`: how many tokens the bit-level code saves on a corpus, and where else the bits could be split.

Lengths over three kinds of base vocabularies, each beside plain byte fallback over the same one: the most frequent
characters of the corpus, BPE with byte fallback trained on it, and a tokenizer that is there already. The characters
and the trained tokenizers are those of the text that is measured. Beside them: a token a character, and SCRIPT, a code
without merges.

The search tries other splits of the 24 bits where all characters fall back to bytes, and marks those on the front of
length, added tokens and Rényi efficiency. Every second text is measured; the others only choose the prefixes that pay.
|V| is 256 bytes and the added tokens that can occur.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from pydantic import ConfigDict, Field, model_validator

from tasks.runtime.pool import pooled
from tasks.runtime.stage import Parameters, Stage, run, write_json
from tasks.runtime.tables import write_table
from tokenlab.codes.bits.bit_code import CharacterBits
from tokenlab.codes.bits.counting import SymbolCounts, count_symbols
from tokenlab.codes.bits.over.bases import Base, base_of, read_base
from tokenlab.codes.bits.over.tokenizer import bit_ids
from tokenlab.codes.bits.over.training import train_byte_fallback
from tokenlab.codes.bits.search import Candidate, Characters, Split, all_splits, candidates, measure, pareto_front
from tokenlab.codes.bits.symbols import ADDED, LONG, PREFIX, RESET, dead_symbols
from tokenlab.codes.interface import Code, atom_numbers
from tokenlab.codes.script import ScriptCode
from tokenlab.core.batches import in_batches
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.metrics.renyi import renyi_efficiency, renyi_entropy
from tokenlab.text.store import corpus_batches

Row = dict[str, Any]

CHARACTERS = "characters"
"""The name of the bases of known characters."""

NO_BASE = "none"
"""What stands for it in the rows of codes that have no base vocabulary."""

_BATCH = 1 << 18
"""Characters of a batch, unless a single text has more: a few MB as symbols."""

_CONTINUATION = slice(0x80, 0xC0)
"""The bytes that begin no character."""

KEY = ("split", "policy", "prefixes")
"""The columns that identify a row."""

_LISTED = 3
"""Prefixes are named where they are at most so many ranges, and counted otherwise."""

PLAIN = Split(0, (8, 8, 8))
"""Plain byte fallback."""

PAPER = Split(6, (9, 9))

PAPER_PREFIXES = (0x39, 0x3A, 0x3B)


class Measured(Parameters):
    """A corpus: the file or folder of a tokenizer that falls back to bytes."""

    tokenizer: str


class Trained(Parameters):
    """A tokenizer to train: its size, and how many of the most frequent characters it knows."""

    vocabulary_size: int = Field(ge=1, le=1 << 20)
    characters: int = Field(ge=0, le=0x110000)


class Search(Parameters):
    """The splits to try: all with prefixes of at most so many bits, and each number of payloads."""

    largest_prefix: int = Field(ge=0, le=16)
    payloads: tuple[Annotated[int, Field(ge=1, le=3)], ...] = Field(min_length=1)


class LengthParameters(Parameters):
    """What every corpus is measured with: a part of the section `bits`."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    known: tuple[Annotated[int, Field(ge=0, le=0x110000)], ...] = Field(min_length=1)
    trained: dict[str, Trained]
    alphas: tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...] = Field(min_length=1)
    search: Search

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(set(self.known)) < len(self.known):
            raise ValueError("known has a number twice; each gives rows of its own")
        return self


def measure_lengths(stage: Stage) -> None:
    """Write the tables of lengths and of splits, and what is saved as metrics."""
    measured = stage.parameters(f"bits.corpora.{stage.variant}", Measured)
    parameters = stage.parameters("bits", LengthParameters)
    given = over_tokenizer(read_base(measured.tokenizer), Path(measured.tokenizer).name)
    if given.name in (*parameters.trained, CHARACTERS, NO_BASE):
        raise ParameterError(f"bits.trained has a tokenizer named {given.name}, as {measured.tokenizer}; rename it")
    texts = Texts(stage.data("corpora", stage.variant))
    contents = texts.contents()
    bases = [over_characters(contents.most_frequent(number), number) for number in parameters.known]
    bases += [_trained(texts, name, options) for name, options in parameters.trained.items()]
    bases.append(given)

    def rows_of(base: LengthBase) -> list[Row]:
        counts = count_symbols((base.symbols(batch) for batch in texts.batches()), base.others)
        return list(rows_of_base(base, counts, contents, parameters.alphas))

    rows = [row for of_base in pooled(rows_of, bases, "lengths") for row in of_base]
    rows += rows_of_characters(contents, ScriptCode(), parameters.alphas)
    splits = search_rows(texts, parameters.search, parameters.alphas[0])
    reports = stage.reports("bits", stage.variant)
    for name, table in (("lengths", rows), ("search", splits)):
        write_table(reports / f"{name}.parquet", [{"corpus": stage.variant, **row} for row in table])
    write_json(reports / "metrics.json", _saved(rows))


def _saved(rows: Sequence[Row]) -> dict[str, Any]:
    """The share of tokens that the default code saves, by base and prefixes."""
    found: dict[str, Any] = {}
    for row in rows:
        if row.get("mode") == "lossless" and row["emission"] == "run":
            name = row["base"] if row["known"] is None else f"{row['base']}-{row['known']}"
            found.setdefault(name, {})[f"prefixes-{row['prefixes']}"] = row["saved"]
    return found


class Texts:
    """The texts of a corpus. Every iteration reads them anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __iter__(self) -> Iterator[str]:
        for batch in corpus_batches(self._folder, ["text"]):
            yield from batch.column(0).to_pylist()

    def batches(self) -> Iterator[list[str]]:
        """The texts in lists of at least 262,144 characters; the last may have fewer."""
        return in_batches(self, _BATCH)

    def contents(self) -> "Contents":
        """How many texts there are, and how often each character occurs in them."""
        number = 0
        characters: Counter[str] = Counter()
        for batch in self.batches():
            number += len(batch)
            characters.update("".join(batch))
        return Contents(number, characters)


class Contents(NamedTuple):
    """What texts consist of."""

    texts: int
    frequencies: Counter[str]
    """Character -> how often it occurs."""

    @property
    def characters(self) -> int:
        """The number of characters."""
        return self.frequencies.total()

    @property
    def bytes(self) -> int:
        """The number of bytes in UTF-8."""
        return sum(count * len(character.encode()) for character, count in self.frequencies.items())

    def most_frequent(self, number: int) -> str:
        """The `number` most frequent characters, or all; of equally frequent ones those of lower code point."""
        ranked = sorted(self.frequencies, key=lambda character: (-self.frequencies[character], character))
        return "".join(ranked[:number])


class LengthBase(NamedTuple):
    """A base vocabulary."""

    name: str
    known: int | None
    """How many of the most frequent characters were to be tokens; None for tokenizers."""
    size: int
    """Nominal |V| of plain byte fallback."""
    size_with_bits: int
    """Nominal |V| of a bit-level code over it."""
    others: int
    """Ids of tokens other than bytes are below it."""
    whole_characters: bool
    """Whether a character falls back as a whole; in byte-level BPE merges may leave single bytes."""
    symbols: Callable[[Sequence[str]], list[np.ndarray]]
    """Plain byte fallback of texts, int32 symbols (`tokenlab.codes.bits.symbols`)."""


def _trained(texts: Texts, name: str, options: Trained) -> LengthBase:
    try:
        tokenizer = train_byte_fallback(texts, options.vocabulary_size, options.characters)
    except ParameterError as error:
        raise ParameterError(f"bits.trained.{name}: {error}") from None
    return over_tokenizer(base_of(tokenizer), name)


def over_characters(known: str, number: int) -> LengthBase:
    """The 256 bytes and known characters."""
    bits = CharacterBits(known)

    def symbols(texts: Sequence[str]) -> list[np.ndarray]:
        return [bits.fallback(text) for text in texts]

    return LengthBase(CHARACTERS, number, bits.size - ADDED, bits.size, len(bits.known), True, symbols)


def over_tokenizer(base: Base, name: str) -> LengthBase:
    """The vocabulary of a tokenizer, which encodes without special tokens around a text."""
    ids = bit_ids(base.size, base.byte_ids)

    def symbols(texts: Sequence[str]) -> list[np.ndarray]:
        return [ids.base[found] for found in base.encode_batch(texts)]

    return LengthBase(name, None, base.size, ids.size, base.size, base.whole_characters, symbols)


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
        "entropy": renyi_entropy(counts, 1),
    }
    for alpha in alphas:
        found[f"renyi_entropy_{alpha:g}"] = renyi_entropy(counts, alpha)
        found[f"renyi_nominal_{alpha:g}"] = renyi_efficiency(counts, alpha, vocabulary)
        found[f"renyi_observed_{alpha:g}"] = renyi_efficiency(counts, alpha)
    return found


def search_rows(texts: Iterable[str], search: Search, alpha: float) -> list[Row]:
    """A row for each split and policy, and for plain byte fallback and the paper's code whatever is searched.

    texts: read twice. Memory is linear in the number of characters. Raises InputError for a single text.
    """
    chosen_on, measured = Characters(islice(texts, 0, None, 2)), Characters(islice(texts, 1, None, 2))
    if not measured.counts.size:
        raise InputError("a single text; the search chooses prefixes on one and measures on another, so add texts")
    plain = measure(measured, PLAIN, "run", ())
    paper = measure(measured, PAPER, "run", PAPER_PREFIXES)

    def of_split(split: Split) -> list[Row]:
        return [_row(found, plain.tokens, alpha) for found in candidates(measured, [split], chosen_on=chosen_on)]

    splits = all_splits(range(search.largest_prefix + 1), search.payloads)
    found = [row for rows in pooled(of_split, splits, "splits") for row in rows]
    found += [_row(fixed, plain.tokens, alpha) for fixed in (plain, paper)]
    rows = list({tuple(row[name] for name in KEY): row for row in found}.values())
    costs = np.array([[row["tokens"], row["added"], -row["renyi"]] for row in rows])
    for row, front in zip(rows, pareto_front(costs), strict=True):
        row["front"] = bool(front)
    return rows


def _row(found: Candidate, plain_tokens: int, alpha: float) -> Row:
    return {
        "split": str(found.split),
        "policy": found.emission,
        "prefixes": named(found.prefixes),
        "tokens": found.tokens,
        "saved": 1 - found.tokens / plain_tokens,
        "added": found.added,
        "prefix_tokens": found.prefix_tokens,
        "resets": found.resets,
        "renyi": renyi_efficiency(found.counts, alpha, LONG + found.added),
        "entropy": renyi_entropy(found.counts, 1),
        "paper": found.split == PAPER and found.emission == "run" and found.prefixes == PAPER_PREFIXES,
    }


def named(prefixes: Sequence[int]) -> str:
    """Ascending prefixes as people read them: `38h-3Bh`, `39h, 3Bh`, `117 prefixes`, `none`."""
    groups = groupby(enumerate(prefixes), lambda place_and_prefix: place_and_prefix[1] - place_and_prefix[0])
    ranges = [[prefix for _, prefix in group] for _, group in groups]
    if len(ranges) > _LISTED:
        return f"{len(prefixes)} prefixes"
    names = [f"{found[0]:02X}h" + (f"-{found[-1]:02X}h" if len(found) > 1 else "") for found in ranges]
    return ", ".join(names) or "none"


if __name__ == "__main__":
    run(measure_lengths)
