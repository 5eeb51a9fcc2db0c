"""Reading the tables of the computing stages."""

from pathlib import Path
from typing import Any

import polars as pl

from tasks.runtime.stage import Stage


def read_table(path: Path) -> pl.DataFrame:
    """A table with a header; a column without values is one of floats, and a table without rows is all floats."""
    table = pl.read_csv(path, infer_schema_length=None)
    texts = [name for name in table.columns if table[name].dtype == pl.String]
    empty = [name for name in texts if table[name].null_count() == len(table)]
    return table.with_columns(pl.col(empty).cast(pl.Float64))


def read_parts(stage: Stage, section: str, folder: str, name: str) -> pl.DataFrame | None:
    """The tables `name` of all variants of a section, one below the other; None where the section has no variant."""
    variants = stage.parameters(section, dict[str, Any])
    tables = [pl.read_parquet(stage.reports(folder, variant, name)) for variant in variants]
    return pl.concat(tables, how="diagonal_relaxed") if tables else None


def read_lengths(stage: Stage) -> pl.DataFrame | None:
    """The lengths of all corpora under every code; None without corpora.

    The columns `renyi_nominal` and `renyi_observed` are those of the first `alpha` of the parameters.
    """
    lengths = read_parts(stage, "bits.corpora", "bits", "lengths.parquet")
    if lengths is None:
        return None
    alpha = stage.parameters("bits.alphas", list[float])[0]
    at_alpha = {f"{name}_{alpha:g}": name for name in ("renyi_nominal", "renyi_observed")}
    return lengths.rename(at_alpha).with_columns(alpha=pl.lit(alpha))
