"""Tables of all registered metrics of a corpus: means over the seeds, one column for each metric.

A metric of the registry (`tokenlab.metrics.registry`) needs no entry here.
"""

from collections.abc import Sequence

import polars as pl

from tasks.report.style import code_name
from tasks.report.tables.code_tables import size_labels, size_text
from tasks.report.tables.table import Table
from tokenlab.metrics.registry import COUNT, SHARE, Metric

_ARROWS = {"higher": " ↑", "lower": " ↓", None: ""}
_NOTE = "↑: higher is better; ↓: lower is better; shares in per cent"


def segmentation_metrics(scores: pl.DataFrame, corpus: str, metrics: Sequence[Metric]) -> Table | None:
    """A row for each training text, configuration and use of BPE; None where no metric has a value."""
    key = ["training", "configuration", "bpe"]
    known = [metric for metric in metrics if metric.name in scores.columns and _known(scores[metric.name])]
    if not known:
        return None
    means = scores.group_by(key, maintain_order=True).agg(pl.col(metric.name).mean() for metric in known)
    rows = [
        [
            row["configuration"],
            row["training"],
            row["bpe"],
            *(metric_cell(row[metric.name], metric) for metric in known),
        ]
        for row in means.iter_rows(named=True)
    ]
    header = ["configuration", "training", "BPE", *map(metric_heading, known)]
    return Table(f"metrics-{corpus}", f"{corpus}: all metrics, means over the seeds", header, rows, [_NOTE])


def code_metrics(scores: pl.DataFrame, corpus: str, metrics: Sequence[Metric], restarts: int) -> Table | None:
    """A row for each tokenizer, text, code, N, K and vocabulary size; None where no metric has a value."""
    key = ["tokenizer", "text", "code", "N", "K"]
    columns = [column for column in scores.columns if scores[column].dtype.is_numeric() and column not in key]
    known = [metric for metric in metrics if any(_is_of(column, metric) for column in columns)]
    if not known:
        return None
    means = scores.group_by(key, maintain_order=True).agg(pl.col(columns).mean())
    rows = []
    for row in means.iter_rows(named=True):
        shape = ["" if row[name] is None else str(row[name]) for name in ("N", "K")]
        for label in size_labels(scores):
            values = [row.get(f"{metric.name}_{label}") for metric in known]
            if any(value is not None for value in values):
                cells = [metric_cell(value, metric) for value, metric in zip(values, known, strict=True)]
                name = code_name(row["code"], restarts)
                rows.append([name, *shape, row["tokenizer"], row["text"], size_text(label), *cells])
    header = ["code", "N", "K", "tokenizer", "text", "size", *map(metric_heading, known)]
    return Table(f"metrics-codes-{corpus}", f"{corpus}: all metrics, means over the seeds", header, rows, [_NOTE])


def _known(values: pl.Series) -> bool:
    return values.null_count() < len(values)


def _is_of(column: str, metric: Metric) -> bool:
    return column.removeprefix(f"{metric.name}_").isalnum() and column.startswith(f"{metric.name}_")


def metric_heading(metric: Metric) -> str:
    """The name of a metric above a column, with an arrow to what is better."""
    return metric.name.replace("_", " ") + _ARROWS[metric.better]


def metric_cell(value: float | None, metric: Metric) -> str:
    """A value in the metric's unit; shares in per cent."""
    if value is None:
        return ""
    if metric.unit == SHARE:
        return f"{100 * value:.1f}"
    return f"{value:,.0f}" if metric.unit == COUNT else f"{value:,.3f}"
