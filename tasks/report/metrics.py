"""The numbers for `dvc metrics show` and `dvc metrics diff`: two for each question, of the measure that decides it.

DVC shows a row for each file and a column for each name in any of them, so all files have the same names. The tables of
the computing stages have every number.
"""

from statistics import fmean
from typing import Any

import polars as pl

from tasks.runtime.stage import Stage, write_json
from tasks.views import VIEWS, View


def write_metrics(stage: Stage, whole: bool) -> None:
    """Write reports/PRESET/metrics/QUESTION.json of all questions; of a part, of those whose stage has variants."""
    for view in filter(lambda view: view.variants, VIEWS):
        names = stage.parameters(view.variants, dict[str, Any])
        if whole or names:
            tables = [pl.read_parquet(view.table.format(preset=stage.preset, key=name)) for name in names]
            write_json(stage.reports("metrics", f"{view.question.name}.json"), metrics_of(tables, view))


def metrics_of(tables: list[pl.DataFrame], view: View) -> dict[str, Any]:
    """The name of a view's first metric, its mean over all variants, and its best value in each table, averaged.

    tables: one for each variant of the stage, mostly a corpus. Repetitions (seeds) of a variant are averaged first, and
    tables without the metric count for nothing; without any, the result is empty.
    """
    measure = view.metrics[0]
    variants = [name for name in view.key if name not in view.repeats]
    of_tables = []
    for table in tables:
        means = table.drop_nulls(measure).group_by(variants, maintain_order=True).agg(pl.col(measure).mean())
        of_tables.append(means[measure].to_list())
    of_tables = [values for values in of_tables if values]
    if not of_tables:
        return {}
    best = min if view.lower_is_better else max
    every = [value for values in of_tables for value in values]
    return {"measure": measure, "best": fmean(map(best, of_tables)), "mean": fmean(every)}
