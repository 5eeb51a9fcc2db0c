"""Reading the CSV files of the computing stages."""

from pathlib import Path

import polars as pl


def read_table(path: Path) -> pl.DataFrame:
    """A table with a header; a column without values is one of floats, and a table without rows is all floats."""
    table = pl.read_csv(path, infer_schema_length=None)
    texts = [name for name in table.columns if table[name].dtype == pl.String]
    empty = [name for name in texts if table[name].null_count() == len(table)]
    return table.with_columns(pl.col(empty).cast(pl.Float64))
