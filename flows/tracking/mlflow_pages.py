"""How MLflow's pages show a question: which columns, in which order, which charts; and the addresses of these pages.

MLflow keeps the choice of columns and charts in the reader's browser, but its menu "Views" writes it into a tag of the
experiment, and the name of that tag into the address. `view_tags` makes the same tags, so the menu has two views: all
runs, the best first; and the variants, one line of means for the runs that differ only in their repetition (seed).
"""

import json
from typing import Any

from flows.tracking.rows import MEAN, ROW
from tasks.views import View

_TAG = "mlflow.sharedViewState."
_RUNS, _VARIANTS = "runs", "variants"
_NAME_WIDTH = 400
"""Pixels: the name of a run fits."""

_METRICS_SHOWN = 4
"""The facts stand beside them on one screen; the menu "Columns" has the others."""

_FACTS_DRAWN = 6
"""More axes than these in one chart are not read any more."""


def _width(header: str) -> int:
    """Pixels that the header of a column takes, and a number of seven digits."""
    return max(100, 50 + 8 * len(header))


def view_tags(view: View) -> dict[str, str]:
    """Tags of an experiment that hold its views in MLflow."""
    metrics, ascending = list(view.metrics), view.lower_is_better
    facts = list(dict.fromkeys([*view.key, *view.facts, "preset"]))
    return {
        "mlflow.experimentKind": "custom_model_development",
        _TAG + _RUNS: _view("All runs, the best first", ROW, metrics, facts, ascending),
        _TAG + _VARIANTS: _view(
            "Variants: means over their runs",
            MEAN,
            [metrics[0], f"{metrics[0]}_sd", *metrics[1:]],
            [*(name for name in facts if name not in view.repeats), "runs"],
            ascending,
        ),
    }


def describe(view: View) -> str:
    """The text on the page of an experiment, in Markdown; its first line is the question."""
    order = "smallest" if view.lower_is_better else "largest"
    lines = [
        view.question.text,
        "",
        f"A run for each row of the tables of the stage `{view.stage}`; the {order} `{view.metrics[0]}` first.",
    ]
    if view.repeats:
        lines.append(f"Runs that differ in {' and '.join(view.repeats)} alone lie below one with their means.")
    if isinstance(paper := view.tags.get("paper"), str):
        lines.append(f"Paper: *{paper}*.")
    return "\n".join(lines)


def _view(name: str, kind: str, metrics: list[str], facts: list[str], ascending: bool) -> str:
    """A view of the runs of one kind in the form that MLflow saves."""
    widths = {"attributes.`Run Name`": _NAME_WIDTH}
    widths |= {f"metrics.`{metric}`": _width(metric) for metric in metrics[:_METRICS_SHOWN]}
    widths |= {f"params.`{fact}`": _width(fact) for fact in facts}
    state = {
        "searchFilter": f"tags.kind = '{kind}'",
        "orderByKey": f"metrics.`{metrics[0]}`",
        "orderByAsc": ascending,
        "selectedColumns": list(widths)[1:],
        "columnOrder": list(widths),
        "columnWidths": widths,
        "compareRunCharts": _charts([name for name in metrics if not name.endswith("_sd")], facts),
        "compareRunSections": [_SECTION],
        "runsHiddenMode": "SHOWALL",
    }
    # MLflow shows when a view was made; a constant time keeps the tag the same.
    return json.dumps({"name": name, "createdAt": 1, "state": json.dumps(state, separators=(",", ":"))})


_SECTION = {
    "uuid": "metrics",
    "name": "Metrics",
    "display": True,
    "isReordered": False,
    "deleted": False,
    "columns": 1,
    "cardHeight": 480,
}


def _charts(metrics: list[str], facts: list[str]) -> list[dict[str, Any]]:
    """How the facts decide the first metric, and what it costs in the second one.

    No bars: those of the best runs are nearly equal, and the table has their numbers.
    """
    first, *others = metrics
    drawn = [name for name in facts if name not in ("preset", "runs")][:_FACTS_DRAWN]
    charts: list[dict[str, Any]] = [
        {"type": "PARALLEL", "selectedParams": drawn, "selectedMetrics": [first], "showAllRuns": True}
    ]
    if others:
        axes = {"xaxis": {"key": others[0], "type": "METRIC"}, "yaxis": {"key": first, "type": "METRIC"}}
        charts += [{"type": "SCATTER", **axes}]
    shared = {"metricSectionId": _SECTION["uuid"], "isGenerated": False, "deleted": False, "runsCountToCompare": 100}
    return [{"uuid": f"{chart['type'].lower()}-{first}", **chart, **shared} for chart in charts]


def question_pages(server: str, experiment_id: str) -> tuple[str, str, str]:
    """The addresses of an experiment: the table of variants with their means, their charts, all runs, best first."""
    page = f"{server}/#/experiments/{experiment_id}/runs?workflowType=machine_learning&viewStateShareKey="
    return f"{page}{_VARIANTS}", f"{page}{_VARIANTS}&compareRunsMode=CHART", f"{page}{_RUNS}"
