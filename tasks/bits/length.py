"""Stage `bits_length`: how many tokens the bit-level code saves on a corpus, and where else the bits could be split.

Lengths over three kinds of base vocabularies, each beside plain byte fallback over the same one: the most frequent
characters of the corpus, BPE with byte fallback trained on it, and a tokenizer that is there already. The characters
and the trained tokenizers are those of the text that is measured. Beside them: a token a character, and SCRIPT, a code
without merges. The search tries other splits of the 24 bits where all characters fall back.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Self

import polars as pl
from pydantic import ConfigDict, Field, model_validator

from tasks.bits.length_bases import CHARACTERS, NO_BASE, LengthBase, over_characters, over_tokenizer
from tasks.bits.length_rows import Row, rows_of_base, rows_of_characters
from tasks.bits.length_texts import Texts
from tasks.bits.search_rows import Search, search_rows
from tasks.runtime.pool import pooled
from tasks.runtime.stage import Parameters, Stage, run, write_json
from tokenlab.codes.bits.counting import count_symbols
from tokenlab.codes.bits.over.bases import base_of, read_base
from tokenlab.codes.bits.over.training import train_byte_fallback
from tokenlab.codes.script import ScriptCode
from tokenlab.core.errors import ParameterError
from tokenlab.core.files import atomic_file


class Measured(Parameters):
    """A corpus: the file or folder of a tokenizer that falls back to bytes."""

    tokenizer: str


class Trained(Parameters):
    """A tokenizer to train: its size, and how many of the most frequent characters it knows."""

    vocabulary_size: int = Field(ge=1, le=1 << 20)
    characters: int = Field(ge=0, le=0x110000)


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
    _write(reports / "lengths.parquet", stage.variant, rows)
    _write(reports / "search.parquet", stage.variant, splits)
    write_json(reports / "metrics.json", _saved(rows))


def _trained(texts: Texts, name: str, options: Trained) -> LengthBase:
    try:
        tokenizer = train_byte_fallback(texts, options.vocabulary_size, options.characters)
    except ParameterError as error:
        raise ParameterError(f"bits.trained.{name}: {error}") from None
    return over_tokenizer(base_of(tokenizer), name)


def _write(path: Path, corpus: str, rows: list[Row]) -> None:
    with atomic_file(path) as temporary:
        pl.DataFrame([{"corpus": corpus, **row} for row in rows], infer_schema_length=None).write_parquet(temporary)


def _saved(rows: Sequence[Row]) -> dict[str, Any]:
    """The share of tokens that the default code saves, by base and prefixes."""
    found: dict[str, Any] = {}
    for row in rows:
        if row.get("mode") == "lossless" and row["emission"] == "run":
            name = row["base"] if row["known"] is None else f"{row['base']}-{row['known']}"
            found.setdefault(name, {})[f"prefixes-{row['prefixes']}"] = row["saved"]
    return found


if __name__ == "__main__":
    run(measure_lengths)
