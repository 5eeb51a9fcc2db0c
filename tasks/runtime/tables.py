"""The tables that stages write, and rows of them as metrics."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tokenlab.core.files import atomic_file

if TYPE_CHECKING:
    from tokenlab.training.checkpoint import Evaluation


def write_table(path: Path, rows: pl.DataFrame | Sequence[Mapping[str, Any]]) -> None:
    """Write a table as Parquet or CSV, by the suffix of its path. Types are inferred from all rows."""
    table = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, infer_schema_length=None)
    with atomic_file(path) as temporary:
        if path.suffix == ".csv":
            table.write_csv(temporary)
        else:
            table.write_parquet(temporary)


def write_losses(path: Path, curve: "Sequence[Evaluation]", size: str | None = None) -> None:
    """Write the losses of a training as CSV. size: the column of the text seen so far; null: there is none."""
    rows = pl.DataFrame([evaluation._asdict() for evaluation in curve])
    sizes = [] if size is None else [pl.col("size").alias(size)]
    write_table(path, rows.select("step", *sizes, "training", "held_out"))


def nested(rows: Iterable[Mapping[str, Any]], *keys: str, values: Sequence[str] | None = None) -> dict[str, Any]:
    """Rows as metrics, each below the values of its keys: {"viterbi": {"unigram": {"f1": 0.9}}}.

    values: the columns, null or not; by default all numbers.
    """
    found: dict[str, Any] = {}
    for row in rows:
        place = found
        for key in keys:
            place = place.setdefault(str(row[key]), {})
        numbers = [name for name, value in row.items() if name not in keys and _is_number(value)]
        place.update({name: row[name] for name in (numbers if values is None else values)})
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)  # NumPy's float64 is a float.
