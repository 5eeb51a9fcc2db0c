"""How MLflow's pages show a question: which columns, in which order, which charts; and the addresses of these pages.

MLflow keeps the choice of columns and charts in the reader's browser, but its menu "Views" writes it into a tag of the
experiment, and the name of that tag into the address. `view_tags` makes the same tags, so the menu has two views: all
runs, the best first; and the variants, one line of means for the runs that differ only in their repetition (seed).
"""

import json
from collections.abc import Sequence
from typing import Any

from flows.tracking.rows import MEAN, ROW
from tasks.report.views import View

_TAG = "mlflow.sharedViewState."
_RUNS, _VARIANTS = "runs", "variants"
_WIDTHS = {"name": 420, "metric": 110, "fact": 120}
"""Pixels: a whole name fits."""


def view_tags(views: Sequence[View]) -> dict[str, str]:
    """Tags of an experiment that hold its views in MLflow. views: those of all stages that answer its question."""
    metrics = list(dict.fromkeys(name for view in views for name in view.metrics))
    facts = list(dict.fromkeys(["preset", *(name for view in views for name in [*view.key, *view.facts])]))
    repeats = {name for view in views for name in view.repeats}
    ascending = views[0].lower_is_better or _lower_is_better(metrics[0])
    return {
        "mlflow.experimentKind": "custom_model_development",
        _TAG + _RUNS: _view("All runs, the best first", ROW, metrics, facts, ascending),
        _TAG + _VARIANTS: _view(
            "Variants: means over their runs",
            MEAN,
            [metrics[0], f"{metrics[0]}_sd", *metrics[1:]],
            ["runs", *(name for name in facts if name not in repeats)],
            ascending,
        ),
    }


def _lower_is_better(name: str) -> bool:
    from tokenlab.metrics.registry import find_metric

    metric = find_metric(name)
    return metric is not None and metric.better == "lower"


def _view(name: str, kind: str, metrics: list[str], facts: list[str], ascending: bool) -> str:
    """A view of the runs of one kind in the form that MLflow saves."""
    widths = {"attributes.`Run Name`": _WIDTHS["name"]}
    widths |= {f"metrics.`{metric}`": _WIDTHS["metric"] for metric in metrics}
    widths |= {f"params.`{fact}`": _WIDTHS["fact"] for fact in facts}
    state = {
        "searchFilter": f"tags.kind = '{kind}'",
        "orderByKey": f"metrics.`{metrics[0]}`",
        "orderByAsc": ascending,
        "selectedColumns": list(widths)[1:],
        "columnOrder": list(widths),
        "columnWidths": widths,
        "compareRunCharts": [_chart(metric) for metric in metrics if not metric.endswith("_sd")],
        "compareRunSections": [_SECTION],
        "runsHiddenMode": "FIRST_20_RUNS",
    }
    # MLflow shows when a view was made; a constant time keeps the tag the same.
    return json.dumps({"name": name, "createdAt": 1, "state": json.dumps(state, separators=(",", ":"))})


_SECTION = {"uuid": "metrics", "name": "Metrics", "display": True, "isReordered": False, "deleted": False}


def _chart(metric: str) -> dict[str, Any]:
    return {
        "type": "BAR",
        "uuid": f"bar-{metric}",
        "metricSectionId": _SECTION["uuid"],
        "metricKey": metric,
        "displayName": metric,
        "runsCountToCompare": 20,
        "isGenerated": False,
        "deleted": False,
    }


def runs_page(server: str, experiment_id: str) -> str:
    """The address of the list of runs of an experiment, best first."""
    return _page(server, experiment_id, _RUNS)


def variants_page(server: str, experiment_id: str) -> str:
    """The address of the table of variants of an experiment, with their means."""
    return _page(server, experiment_id, _VARIANTS)


def charts_page(server: str, experiment_id: str) -> str:
    """The address of the charts that compare the variants of an experiment."""
    return _page(server, experiment_id, _VARIANTS) + "&compareRunsMode=CHART"


def _page(server: str, experiment_id: str, view: str) -> str:
    return f"{server}/#/experiments/{experiment_id}/runs?workflowType=machine_learning&viewStateShareKey={view}"
