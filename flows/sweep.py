"""A grid of parameters as a Prefect flow: each point is a DVC experiment in its own folder.

`dvc exp run --temp` leaves the workspace unchanged, and results that points share come from DVC's cache. Afterwards
`dvc exp show --only-changed` lists the points, and `dvc exp apply NAME` takes one over.
"""

import itertools
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from prefect import flow, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.states import Completed, Failed, State

from flows.deployed import deployed, notify, shown_waiting
from flows.run.plan import DEFAULT_PRESET, Selection, find_pipeline, put_to_use, read_dag
from flows.run.processes import Processes
from flows.run.workspace import pipeline
from tokenlab.core.errors import ParameterError

POINTS_AT_MOST = 200
"""A larger grid is taken for a mistake."""

_METRICS = "metrics.json"
"""The file with all numbers of a stage; what DVC shows by itself are a few of them."""

_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*")


class Point(NamedTuple):
    """One choice of a value for each parameter, and the name of its experiment."""

    name: str
    values: dict[str, Any]

    def __str__(self) -> str:
        return ", ".join(f"{name}={json.dumps(value)}" for name, value in self.values.items())


def points_of(grid: dict[str, list[Any]], parameters: dict[str, Any], prefix: str) -> list[Point]:
    """Every combination of the values. `parameters` are those of the preset.

    Raises ParameterError for a parameter missing from the preset, for a value that is not a number, text, boolean, null
    or a list of these, and for no point or too many.
    """
    for name, values in grid.items():
        found: Any = parameters
        for part in name.split("."):
            if not _NAME.fullmatch(name) or not isinstance(found, dict) or part not in found:
                raise ParameterError(f"grid: no parameter {name!r} in the preset")
            found = found[part]
        if not isinstance(values, list) or not values:
            raise ParameterError(f"grid: {name} must have a list of values")
        for value in values:
            if any(isinstance(item, dict | list) for item in (value if isinstance(value, list) else [value])):
                raise ParameterError(
                    f"grid: {name}: {value!r} must be a number, text, true, false, null or a list of these"
                )
    choices = list(itertools.product(*grid.values()))
    if not grid or len(choices) > POINTS_AT_MOST:
        raise ParameterError(f"grid: {len(choices) if grid else 0} points; there must be 1 to {POINTS_AT_MOST}")
    return [
        Point(f"{prefix}-{number}", dict(zip(grid, choice, strict=True))) for number, choice in enumerate(choices, 1)
    ]


@task(name="point", task_run_name="{point}", cache_policy=NO_CACHE, persist_result=False)
def run_point(point: Point, params_file: str, targets: list[str], processes: Processes) -> State:
    """Run one experiment; its output goes to the log of this task run."""
    settings = [
        word for name, value in point.values.items() for word in ("-S", f"{params_file}:{name}={json.dumps(value)}")
    ]
    command = ["exp", "run", "--temp", "--name", point.name, *settings, *targets]
    ended = processes.dvc(command, get_run_logger().info)
    if ended.status != 0:
        return Failed(message=f"{point.name} failed ({ended.describe()})")
    return Completed()


@flow(name="sweep", flow_run_name="sweep of {preset}", on_failure=[notify], on_crashed=[notify])
def sweep(grid: dict[str, list[Any]], preset: str = DEFAULT_PRESET, only: str | None = None) -> State:
    """Run the pipeline at every point of a grid, and list the metrics that differ.

    Args:
        grid: the values of each parameter, such as {"segmentation.bpe.vocabulary_size": [8000, 12000]}.
        preset: `sample`, or a folder of presets/.
        only: only the stages with this tag, and the stages that these depend on.
    """
    return deployed(lambda root: _sweep(root, grid, Selection(preset, only)))


def _sweep(root: Path, grid: dict[str, list[Any]], selection: Selection) -> State:
    params_file = str(find_pipeline(root, selection.preset).with_name("params.yaml"))
    points = points_of(grid, yaml.safe_load((root / params_file).read_bytes()), f"sweep-{str(flow_run.id)[-8:]}")
    put_to_use(root, selection.preset)
    with pipeline(root, shown_waiting), Processes(root) as processes:
        with read_dag(root, selection.preset) as dag:
            selected = dag.select(selection)
            targets = selected if selection.only else [str(dag.path)]
            outs = [out for address in selected for out in dag.stages[address].outs]
            metrics = [out.fs_path for out in outs if out.metric or Path(out.fs_path).name == _METRICS]
        states = [run_point(point, params_file, targets, processes, return_state=True) for point in points]
        failed = [point for point, state in zip(points, states, strict=True) if not state.is_completed()]
        table = results(root, [point for point in points if point not in failed], metrics)
    description = f"{selection.preset}: metrics that differ between the points"
    create_table_artifact(table, key="sweep", description=description)
    get_run_logger().info("\n".join(["results:", *map(json.dumps, table)]))
    if failed:
        return Failed(message=f"{len(failed)} of {len(points)} points failed: " + "; ".join(map(str, failed)))
    return Completed(message=f"{len(points)} points; `dvc exp show --only-changed` lists them")


def results(root: Path, points: list[Point], files: list[str]) -> list[dict[str, Any]]:
    """A row for each point: its experiment, its parameters, and the metrics in `files` that differ between points."""
    from dvc.repo import Repo
    from dvc.utils.flatten import flatten

    with Repo(str(root)) as repo:
        names = [point.name for point in points]
        shown = repo.metrics.show(files, revs=names, hide_workspace=True) if points else {}
    metrics: dict[str, dict[str, Any]] = {}
    for point in points:
        contents = shown.get(point.name, {}).get("data", {})
        metrics[point.name] = {
            f"{path}:{name}": value
            for path, content in contents.items()
            for name, value in flatten(content.get("data", {})).items()
        }
    found = sorted({name for row in metrics.values() for name in row})
    differing = [name for name in found if len({json.dumps(row.get(name)) for row in metrics.values()}) > 1]
    return [
        {"experiment": point.name, **point.values, **{name: metrics[point.name].get(name) for name in differing}}
        for point in points
    ]
