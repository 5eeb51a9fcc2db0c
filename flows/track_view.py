"""How MLflow's pages show a question: which columns, in what order, which charts; and the addresses that open them so.

MLflow keeps the choice of columns and charts in the reader's browser, but its menu "Views" writes it into a tag of the
experiment, and the name of that tag into the address. This writes the same tags, so the menu has two views: all runs,
the best first; and the variants, one line of means for the runs that differ in their repetition (seed) alone.
"""

import json
from typing import Any

from flows.track_rows import MEAN, ROW, Declaration

_TAG = "mlflow.sharedViewState."
_RUNS, _VARIANTS = "runs", "variants"
_WIDTHS = {"name": 420, "metric": 110, "fact": 120}
"""Pixels: a whole name fits."""


def view_tags(declarations: list[Declaration]) -> dict[str, str]:
    """Tags of an experiment that hold its views; the declarations are those of all stages that answer its question."""
    metrics = list(dict.fromkeys(name for declaration in declarations for name in declaration.columns))
    facts = list(dict.fromkeys(["preset", *(name for d in declarations for name in [*d.key, *d.facts])]))
    repeats = {name for declaration in declarations for name in declaration.repeats}
    return {
        "mlflow.experimentKind": "custom_model_development",
        _TAG + _RUNS: _view("All runs, the best first", ROW, metrics, facts),
        _TAG + _VARIANTS: _view(
            "Variants: means over their runs",
            MEAN,
            [metrics[0], f"{metrics[0]}_sd", *metrics[1:]],
            ["runs", *(name for name in facts if name not in repeats)],
        ),
    }


def _view(name: str, kind: str, metrics: list[str], facts: list[str]) -> str:
    """A view of the runs of one kind as MLflow saves it."""
    widths = {"attributes.`Run Name`": _WIDTHS["name"]}
    widths |= {f"metrics.`{metric}`": _WIDTHS["metric"] for metric in metrics}
    widths |= {f"params.`{fact}`": _WIDTHS["fact"] for fact in facts}
    state = {
        "searchFilter": f"tags.kind = '{kind}'",
        "orderByKey": f"metrics.`{metrics[0]}`",
        "orderByAsc": False,
        "selectedColumns": list(widths)[1:],
        "columnOrder": list(widths),
        "columnWidths": widths,
        "compareRunCharts": [_chart(metric) for metric in metrics if not metric.endswith("_sd")],
        "compareRunSections": [_SECTION],
        "runsHiddenMode": "FIRST_20_RUNS",
    }
    # MLflow shows when a view was made; a time that stays keeps the tag the same.
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
