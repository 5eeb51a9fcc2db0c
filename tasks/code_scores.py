"""Tables of the codes family, from the counts of `code_tokenizer` to differences, means and one row a variant."""

from pathlib import Path
from typing import Any

import polars as pl

from tasks.codes import Variant

_SAME = ["tokenizer", "text", "vocabulary"]
VARIANT = ["code", "N", "K"]
_AVERAGED = ["tokens", "tokens_saved", "perplexity", "perplexity_saved", "bits_per_character", "bits_saved"]


def compared(swept: pl.DataFrame, characters: dict[str, int]) -> pl.DataFrame:
    """Perplexity and bits per character of every row, and its differences to characters at the same vocabulary size.

    characters: how many each text has. Differences are positive where the code is better than characters, and null
    where the vocabulary is smaller than the number of distinct characters.
    """
    length = pl.col("text").replace_strict(characters, return_dtype=pl.Int64)
    rows = swept.with_columns(
        perplexity=2 ** (pl.col("bits") / pl.col("tokens")), bits_per_character=pl.col("bits") / length
    )
    baseline = rows.filter(code="character").select(*_SAME, "tokens", "perplexity", "bits_per_character")
    return rows.join(baseline, on=_SAME, how="left", suffix="_of_characters", maintain_order="left").with_columns(
        tokens_saved=pl.col("tokens_of_characters") - pl.col("tokens"),
        perplexity_saved=pl.col("perplexity_of_characters") - pl.col("perplexity"),
        bits_saved=pl.col("bits_per_character_of_characters") - pl.col("bits_per_character"),
    )


def averaged(rows: pl.DataFrame) -> pl.DataFrame:
    """Mean and standard deviation over the seeds, one row for each tokenizer, text, code, N, K and vocabulary size."""
    return rows.group_by(["tokenizer", "text", *VARIANT, "vocabulary"], maintain_order=True).agg(
        *(pl.col(value).mean() for value in _AVERAGED),
        *(pl.col(value).std().alias(f"{value}_sd") for value in _AVERAGED),
        seeds=pl.len(),
    )


def read_curves(path: Path) -> pl.DataFrame:
    """What `averaged` gave, read back from CSV, where columns may be empty."""
    numbers = [*_AVERAGED, *(f"{value}_sd" for value in _AVERAGED)]
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(numbers, pl.Float64)
    schema |= dict.fromkeys(("N", "K", "vocabulary", "seeds"), pl.Int64)
    return pl.read_csv(path, schema_overrides=schema)


def scores(rows: pl.DataFrame, parity: dict[str, int], named: dict[str, list[int]], corpus: str) -> pl.DataFrame:
    """One row for each tokenizer, text, code, N, K and seed; columns for each size that tables name.

    parity: |C| of each text, whose columns end in `_C`. named: the other sizes.
    """
    pieces = []
    for text, sizes in named.items():
        of_text = rows.filter(text=text)
        wide = of_text.group_by(["tokenizer", "text", *VARIANT, "seed"], maintain_order=True).agg(
            *(
                pl.col(value).filter(pl.col("vocabulary") == size).first().alias(f"{value}_{label}")
                for label, size in [("C", parity[text]), *((str(size), size) for size in sizes)]
                for value in ("tokens_saved", "bits_per_character", "tokens", "perplexity")
            ),
            alphabet=pl.col("vocabulary").min(),
        )
        pieces.append(wide)
    table = pl.concat(pieces, how="diagonal")
    names = [
        Variant(code, N, K, seed, "train" if text == "unseen" else "whole").name
        for code, N, K, seed, text in table.select(*VARIANT, "seed", "text").iter_rows()
    ]
    return table.with_columns(corpus=pl.lit(corpus), variant=pl.Series(names, dtype=pl.String))


def metrics(table: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Means over the seeds of BPE's tokens saved and bits per character: {"latom-N2-K8": {"tokens_saved_300": ..}}."""
    values = [name for name in table.columns if name.startswith(("tokens_saved_", "bits_per_character_"))]
    means = table.filter(tokenizer="bpe", text="same").group_by(VARIANT, maintain_order=True).agg(pl.col(values).mean())
    found = {}
    for row in means.iter_rows(named=True):
        name = row["code"] if row["N"] is None else f"{row['code']}-N{row['N']}-K{row['K']}"
        found[name] = {value: row[value] for value in values if row[value] is not None}
    return found


def of_variant(curves: pl.DataFrame, tokenizer: str, text: str, code: str, **values: Any) -> pl.DataFrame:
    """The curve of one code, ascending by vocabulary size."""
    same: dict[str, Any] = {"tokenizer": tokenizer, "text": text, "code": code, **values}
    return curves.filter(**same).sort("vocabulary")
