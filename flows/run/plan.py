"""The plan of a run: the stages that are out of date, why, in which order, and under which conditions.

DVC has the DAG (dvc.yaml) and tells what changed; a stage after a changed one may have to run as well, so it is in the
plan. Prefect is not imported here, so it takes two seconds to see that there is nothing to do.

`python -m flows.run.plan FD PRESET [TAG]` writes the plan to the file descriptor FD, as JSON, for a runner that does
not import DVC.

The conditions are in a stage's `meta` in dvc.yaml:

    meta: {tags: [segmentation], retries: 2, retry_delay: 10, timeout: 3600, resources: {memory_gb: 4, gpu: 1, net: 1}}
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from flows.run.presets import DEFAULT_PRESET, find_targets
from tasks.runtime.parent_death import die_with_parent
from tasks.views import VIEWS
from tokenlab.core.errors import EXIT_STATUS, InputError, ParameterError, TokenlabError, one_line

if TYPE_CHECKING:
    from dvc.stage import Stage

RESOURCES = ("gpu", "memory_gb", "net")
"""What a stage may ask for: GPUs, GiB of memory, network connections."""

TRAINING = "training"
"""The tag of stages that train a model: too expensive to repeat each night."""

_OTHER_META = {"tags"}
"""Keys of `meta` that are not conditions."""

_REPORT, _NOT_REPORTED = "report", ("corpora",)
"""The stage that writes the page, and families that it does not show by themselves."""

_TRACKED = {view.stage for view in VIEWS}
_SECONDS_BETWEEN_POLLS = 1.0


class Policy(NamedTuple):
    """The conditions of a stage. Times are in seconds."""

    retries: int = 0
    retry_delay: float = 10.0
    timeout: float | None = None
    resources: Mapping[str, float] = MappingProxyType({})


class Step(NamedTuple):
    """A stage to run: its address in DVC, the reasons, the addresses of the steps before it, and its conditions."""

    address: str
    reasons: tuple[str, ...]
    after: tuple[str, ...]
    policy: Policy


class Selection(NamedTuple):
    """What to run: a preset; of it only the stages with a tag and what these depend on; only a part of the DAG."""

    preset: str = DEFAULT_PRESET
    only: str | None = None
    start: str | None = None
    end: str | None = None

    def command(self, *words: str) -> str:
        """The command line that runs this selection."""
        options = {"preset": self.preset if self.preset != DEFAULT_PRESET else None, "only": self.only}
        options |= {"from": self.start, "to": self.end}
        given = [word for name, value in options.items() if value for word in (f"--{name}", value)]
        return " ".join(["python -m flows", *(words or ("run",)), *given])


class Plan(NamedTuple):
    """The steps in order; the addresses of the selection in order; whether any of these is tracked in MLflow.

    reported: where the selection is all stages with a tag and leaves out a report that is out of date, the families
    that the report can show: those whose stages are all up to date once the steps have run.
    """

    steps: tuple[Step, ...]
    selected: tuple[str, ...]
    tracked: bool = False
    reported: tuple[str, ...] = ()


class Dag:
    """The stages of a workspace and their order, read from DVC. Addresses have the form that `dvc repro` takes."""

    def __init__(self, repo: Any) -> None:
        import networkx

        graph = repo.index.graph  # edges point to dependencies
        order = list(networkx.topological_sort(graph))[::-1]
        self.stages: dict[str, Stage] = {_address(stage): stage for stage in order}
        self.needs = {_address(stage): {_address(other) for other in graph.successors(stage)} for stage in order}

    def before(self, addresses: Iterable[str]) -> set[str]:
        """These stages and all stages that they depend on, directly or not."""
        found, open_ = set(), list(addresses)
        while open_:
            if (address := open_.pop()) not in found:
                found.add(address)
                open_ += self.needs[address]
        return found

    def after(self, addresses: Iterable[str]) -> set[str]:
        """These stages and all stages that depend on them, directly or not."""
        found = set(addresses)
        for address, needs in self.needs.items():  # in topological order
            if needs & found:
                found.add(address)
        return found

    def named(self, name: str, own: list[str]) -> set[str]:
        """The stages of `own` with this name or address; the name of a loop means all of its stages."""
        found = {address for address in own if name in (address, *_names(self.stages[address]))}
        if name in self.stages:
            found.add(name)
        if not found:
            known = sorted({_names(self.stages[address])[1] for address in own})
            raise ParameterError(f"no stage {name!r}; there are: {', '.join(known)}")
        return found

    def select(self, root: Path, selection: Selection) -> list[str]:
        """The addresses of a selection, in order. Raises ParameterError for an unknown name."""
        target = find_targets(root, selection.preset, None)[0]
        find_targets(root, selection.preset, selection.only)
        own = [address for address, stage in self.stages.items() if stage.path_in_repo == target]
        chosen = [
            address
            for address in own
            if selection.only is None or selection.only in _meta(self.stages[address]).get("tags", [])
        ]
        selected = self.before(chosen)
        if selection.end is not None:
            selected &= self.before(self.named(selection.end, own))
        if selection.start is not None:
            selected &= self.after(self.named(selection.start, own))
        return [address for address in self.stages if address in selected]

    def without_training(self, addresses: list[str]) -> list[str]:
        """The stages that neither train a model nor depend on a trained one."""
        trained = {address for address in addresses if TRAINING in _meta(self.stages[address]).get("tags", [])}
        after = self.after(trained)
        return [address for address in addresses if address not in after]


def make_plan(root: Path, selection: Selection) -> Plan:
    """Ask DVC which stages of the selection are out of date in the workspace `root`.

    Waits while another DVC runs one of the stages. Raises ParameterError for an unknown preset, tag or stage and for an
    invalid `meta`, and InputError where DVC cannot read the pipeline or `start` leaves out a stage whose outputs are
    missing.
    """
    from dvc.exceptions import DvcException
    from dvc.lock import LockError
    from dvc.repo import Repo, lock_repo

    waited = False
    while True:
        try:
            with Repo(str(root), _wait_for_lock=True) as repo, lock_repo(repo):
                return _plan(root, selection, Dag(repo))
        except LockError:
            if not waited:
                print("plan: another dvc is working here; waiting until it ends", file=sys.stderr, flush=True)
            waited = True
            time.sleep(_SECONDS_BETWEEN_POLLS)
        except DvcException as error:
            raise InputError(f"dvc cannot read the pipeline: {one_line(error)}; `dvc status` says more") from error


def _plan(root: Path, selection: Selection, dag: Dag) -> Plan:
    selected = dag.select(root, selection)
    steps: dict[str, Step] = {}
    for address in selected:
        stage = dag.stages[address]
        reasons = _reasons(stage)
        after = tuple(other for other in steps if other in dag.needs[address])
        if after and not reasons:
            reasons = [f"after {other}" for other in after]
        if reasons:
            _require_inputs(dag, address, selected)
            steps[address] = Step(address, tuple(reasons), after, read_policy(address, _meta(stage)))
    tracked = any(_names(dag.stages[address])[1] in _TRACKED for address in selected)
    whole_family = selection.only and not (selection.start or selection.end)
    reported = _reported(root, selection, dag, selected, steps) if whole_family else ()
    return Plan(tuple(steps.values()), tuple(selected), tracked, reported)


def _reported(
    root: Path, selection: Selection, dag: Dag, selected: list[str], steps: Mapping[str, Step]
) -> tuple[str, ...]:
    """The families that a report can show after a run of a part; none where the report itself is up to date then."""
    stale: set[str] = set()
    every = dag.select(root, selection._replace(only=None))
    for address in every:
        if address not in selected and (dag.needs[address] & (stale | steps.keys()) or _reasons(dag.stages[address])):
            stale.add(address)
    if not any(_names(dag.stages[address])[1] == _REPORT for address in stale):
        return ()
    families = {address: str(_meta(dag.stages[address]).get("tags", [""])[0]) for address in every}
    unfinished = {families[address] for address in stale}
    found = dict.fromkeys(families.values())
    return tuple(family for family in found if family not in {"", *unfinished, *_NOT_REPORTED})


def _require_inputs(dag: Dag, address: str, selected: list[str]) -> None:
    for other in dag.needs[address]:
        if other not in selected and (missing := [str(out) for out in dag.stages[other].outs if not out.exists]):
            raise InputError(
                f"{address} needs {missing[0]}, an output of {other}, which --from leaves out; start there"
            )


def _address(stage: "Stage") -> str:
    name = getattr(stage, "name", None)
    path = stage.path_in_repo
    if name is None:  # made by `dvc add`
        return path
    return name if path == "dvc.yaml" else f"{path}:{name}"


def _names(stage: "Stage") -> tuple[str, str]:
    name = str(getattr(stage, "name", None) or stage.path_in_repo)
    return name, name.partition("@")[0]


def _meta(stage: "Stage") -> dict[str, Any]:
    return stage.meta if isinstance(stage.meta, dict) else {}


def _reasons(stage: "Stage") -> list[str]:
    """Why DVC would run a stage; empty where it is up to date."""
    found = [part for parts in stage.status(check_updates=False).values() for part in parts]
    if found and not any(entry.hash_info for entry in (*stage.outs, *stage.deps)):
        return ["never run"]
    reasons = []
    for part in found:
        if isinstance(part, str):
            reasons.append({"changed command": "changed command", "always changed": "always runs"}.get(part, part))
            continue
        for path, change in part.get("changed deps", {}).items():
            if isinstance(change, dict):
                reasons += [f"{_WORDS[what]} parameter {name}" for name, what in change.items()]
            else:
                reasons.append(f"{_WORDS[change]} dependency {path}")
        reasons += [f"{_WORDS[change]} output {path}" for path, change in part.get("changed outs", {}).items()]
    return reasons


_WORDS = {"modified": "changed", "new": "new", "deleted": "missing", "not in cache": "uncached"}
"""DVC's words for a change -> ours."""


def read_policy(address: str, meta: dict[str, Any]) -> Policy:
    """The conditions in a stage's `meta`. Raises ParameterError for an unknown key or an invalid value."""
    known = {*_OTHER_META, *Policy._fields}
    if unknown := sorted(set(meta) - known):
        raise ParameterError(f"{address}: meta {unknown[0]!r} is unknown; there are: {', '.join(sorted(known))}")
    policy = Policy(**{name: value for name, value in meta.items() if name not in _OTHER_META})
    numbers = {"retries": policy.retries, "retry_delay": policy.retry_delay, "timeout": policy.timeout or 0}
    if not isinstance(policy.resources, Mapping):
        raise ParameterError(f"{address}: meta resources must be a mapping such as {{memory_gb: 4}}")
    if unknown := sorted(set(policy.resources) - set(RESOURCES)):
        raise ParameterError(f"{address}: resource {unknown[0]!r} is unknown; there are: {', '.join(RESOURCES)}")
    for name, value in (numbers | dict(policy.resources)).items():
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise ParameterError(f"{address}: meta {name} is {value!r}; it must be a non-negative number")
    return policy


def main(arguments: list[str]) -> int:
    """Write a plan to a file descriptor and return the exit status."""
    descriptor, preset, *tag = arguments
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as flows.run.dvc_child
    try:
        plan = make_plan(Path.cwd(), Selection(preset, *tag))
    except TokenlabError as error:
        print(f"repro: {one_line(error)}", file=sys.stderr)
        return EXIT_STATUS
    steps = [step._asdict() | {"policy": {"resources": dict(step.policy.resources)}} for step in plan.steps]
    with os.fdopen(int(descriptor), "w", encoding="utf-8") as stream:
        json.dump({"selected": plan.selected, "steps": steps, "reported": plan.reported}, stream)
    return 0


def read_plan(text: str) -> Plan:
    """The plan in such JSON; of the conditions it has the resources."""
    content = json.loads(text)
    steps = [
        Step(step["address"], tuple(step["reasons"]), tuple(step["after"]), Policy(**step["policy"]))
        for step in content["steps"]
    ]
    return Plan(tuple(steps), tuple(content["selected"]), reported=tuple(content["reported"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
