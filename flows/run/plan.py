"""The plan of a run: the stages that are out of date, why, in which order, and under which conditions.

DVC has the DAG (dvc.yaml) and tells what changed; a stage after a changed one may have to run as well, so it is in the
plan. Prefect is not imported here, so it takes two seconds to see that there is nothing to do.

The conditions are in a stage's `meta` in dvc.yaml:

    meta: {tags: [segmentation], retries: 2, retry_delay: 10, resources: {memory_gb: 4, net: 1}}
"""

import functools
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from flows.run.workspace import OUTPUTS, RAW, remove_leftovers, repair_lock_files
from tasks.views import VIEWS
from tokenlab.core.errors import InputError, ParameterError, one_line
from tokenlab.core.files import write_text

if TYPE_CHECKING:
    from dvc.repo import Repo
    from dvc.stage import Stage

DEFAULT_PRESET = "sample"
"""The preset of the root dvc.yaml; the others are in presets/."""

RESOURCES = ("memory_gb", "net")
"""What a stage may ask for: GiB of memory, network connections."""

_REPORT, _NOT_REPORTED = "report", ("corpora",)
"""The stage that writes the page, and families that it does not show by themselves."""

_WORDS = {"modified": "changed", "new": "new", "deleted": "missing", "not in cache": "uncached"}
"""DVC's words for a change -> ours."""

_TRACKED = {view.stage for view in VIEWS}
_SECONDS_BETWEEN_TRIES = 0.5


def pipelines(root: Path) -> dict[str, Path]:
    """The presets of the project and the dvc.yaml of each, relative to the root; the default preset first. That of
    another preset exists only where the preset is in use (`put_to_use`)."""
    others = sorted(path.relative_to(root) for path in root.glob("presets/*/params.yaml"))
    return {DEFAULT_PRESET: Path("dvc.yaml"), **{path.parent.name: path.with_name("dvc.yaml") for path in others}}


def find_pipeline(root: Path, preset: str) -> Path:
    """The dvc.yaml of a preset, relative to the root. Raises ParameterError for an unknown preset, and InputError where
    its dvc.yaml is no copy of the root's; DVC cannot follow a symbolic link in a commit (`dvc metrics diff`)."""
    presets = pipelines(root)
    if preset not in presets:
        raise ParameterError(f"no preset {preset!r}; there are: {', '.join(presets)}")
    path, original = root / presets[preset], root / "dvc.yaml"
    if path.is_symlink() or (path.exists() and path.read_bytes() != original.read_bytes()):
        raise InputError(f"{path} is no copy of {original}, where stages are edited; `make presets` copies it")
    return presets[preset]


def put_to_use(root: Path, preset: str) -> None:
    """Copy dvc.yaml beside the parameters of a preset. Until then `dvc pull`, `dvc metrics show` and the like know
    nothing of the preset, whose results, recorded in the shipped dvc.lock, are not on this machine."""
    path = root / find_pipeline(root, preset)
    if not path.exists():
        write_text(path, (root / "dvc.yaml").read_text(encoding="utf-8"))


class Policy(NamedTuple):
    """The conditions of a stage. Times are in seconds."""

    retries: int = 0
    retry_delay: float = 10.0
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

    def command(self) -> str:
        """The command line that runs this selection."""
        options = {"preset": self.preset if self.preset != DEFAULT_PRESET else None, "only": self.only}
        options |= {"from": self.start, "to": self.end}
        return " ".join(["python -m flows run", *(f"--{name} {value}" for name, value in options.items() if value)])


class Plan(NamedTuple):
    """The steps in order, and the addresses of the selection in order."""

    steps: tuple[Step, ...]
    selected: tuple[str, ...]
    tracked: bool = False
    """Whether any of the selection is tracked in MLflow."""
    reported: tuple[str, ...] = ()
    """Where the selection is a family and leaves out a report that is out of date: the families that can be shown."""


class Dag:
    """The stages of a preset and of the raw data, and their order. Addresses have the form that `dvc repro` takes."""

    def __init__(self, repo: "Repo", preset: str) -> None:
        import networkx
        from dvc.repo.index import Index

        root = Path(repo.root_dir)
        self.path = find_pipeline(root, preset)
        self.cache = Path(repo.cache.local.path)
        stages = _load_stages(repo, root / "dvc.yaml", self.path)
        if (root / RAW).exists():
            stages += _load_stages(repo, root / RAW, RAW)
        graph = networkx.relabel_nodes(Index(repo, stages=stages).graph, _address)  # edges point to dependencies
        known = {_address(stage): stage for stage in stages}
        self.stages = {address: known[address] for address in reversed(list(networkx.topological_sort(graph)))}
        self.needs = {address: set(graph.successors(address)) for address in self.stages}
        self._all_needs = functools.partial(networkx.descendants, graph)
        self._all_needing = functools.partial(networkx.ancestors, graph)
        self.own = [address for address, stage in self.stages.items() if stage.path_in_repo == str(self.path)]

    def before(self, addresses: Iterable[str]) -> set[str]:
        """These stages and all stages that they depend on, directly or not."""
        found = set(addresses)
        return found.union(*map(self._all_needs, found))

    def after(self, addresses: Iterable[str]) -> set[str]:
        """These stages and all stages that depend on them, directly or not."""
        found = set(addresses)
        return found.union(*map(self._all_needing, found))

    def tags(self, address: str) -> list[str]:
        """The tags in the `meta` of a stage."""
        return [str(tag) for tag in _meta(self.stages[address]).get("tags", [])]

    def _named(self, name: str) -> set[str]:
        """The stages with this name or address; the name of a loop means all of its stages."""
        found = {address for address in self.own if name in (self.stages[address].name, _loop(self.stages[address]))}
        found |= {name} & self.stages.keys()
        if not found:
            known = sorted({_loop(self.stages[address]) for address in self.own})
            raise ParameterError(f"no stage {name!r}; there are: {', '.join(known)}")
        return found

    def select(self, selection: Selection) -> list[str]:
        """The addresses of a selection, in order. Raises ParameterError for an unknown name."""
        chosen = [address for address in self.own if selection.only in (None, *self.tags(address))]
        if selection.only and not chosen:
            known = sorted({tag for address in self.own for tag in self.tags(address)})
            raise ParameterError(
                f"{self.path}: no stage has the tag {selection.only!r}; there are: {', '.join(known) or 'none'}"
            )
        selected = self.before(chosen)
        if selection.end is not None:
            selected &= self.before(self._named(selection.end))
        if selection.start is not None:
            selected &= self.after(self._named(selection.start))
        if not selected and (selection.start or selection.end):
            raise ParameterError(f"{self.path}: `{selection.command()}` names no stage; turn its ends round")
        return [address for address in self.stages if address in selected]


def _load_stages(repo: "Repo", source: Path, path: Path) -> "list[Stage]":
    """The stages of the file `source` as if it lay at `path`: a preset can be read that is not in use."""
    from dvc.dvcfile import ProjectFile

    file = ProjectFile(repo, str(Path(repo.root_dir, path)))
    file.contents = ProjectFile(repo, str(source)).contents
    return list(file.stages.values())


@contextmanager
def read_dag(root: Path, preset: str) -> Iterator[Dag]:
    """The DAG of a preset, while DVC's lock is held. Each file of parameters is read once, not once for each stage.

    Raises ParameterError for an unknown preset and InputError where DVC cannot read the pipeline.
    """
    from dvc.dependency import param
    from dvc.exceptions import DvcException
    from dvc.repo import Repo, lock_repo

    load_path = param.load_path
    try:
        param.load_path = functools.cache(load_path)
        with Repo(str(root), _wait_for_lock=True) as repo, lock_repo(repo):
            yield Dag(repo, preset)
    except DvcException as error:
        raise InputError(f"dvc cannot read the pipeline: {one_line(error)}; `dvc status` says more") from error
    finally:
        param.load_path = load_path


def make_plan(root: Path, selection: Selection, clean: bool = False) -> Plan:
    """Ask DVC which stages of the selection are out of date in the workspace `root`, for its holder. A damaged dvc.lock
    is repaired. clean: before that, remove outputs of stages that the pipeline no longer has.

    Raises ParameterError for an unknown name and an invalid `meta`, and InputError where DVC cannot read the pipeline
    or `start` leaves out a stage whose outputs are missing.
    """
    from dvc.lock import LockError

    while True:
        try:
            with read_dag(root, selection.preset) as dag:
                if clean:
                    items = [item for stage in dag.stages.values() for item in (*stage.outs, *stage.deps)]
                    kept = {Path(os.path.relpath(item.fs_path, root)) for item in items}
                    remove_leftovers(root, selection.preset, root / dag.path.with_suffix(".lock"), kept)
                plan = _plan(selection, dag)
        except InputError as error:
            if isinstance(error.__cause__, LockError):  # a plain `dvc repro` has just started
                time.sleep(_SECONDS_BETWEEN_TRIES)
            elif not (error.__cause__ and repair_lock_files(root)):
                raise
            continue
        if not plan.steps or not repair_lock_files(root):
            return plan


def _plan(selection: Selection, dag: Dag) -> Plan:
    selected = dag.select(selection)
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
    tracked = any(_loop(dag.stages[address]) in _TRACKED for address in selected)
    is_family = selection.only and not (selection.start or selection.end)
    reported = _reported(selection, dag, selected, steps) if is_family else ()
    return Plan(tuple(steps.values()), tuple(selected), tracked, reported)


def _reported(selection: Selection, dag: Dag, selected: list[str], steps: Mapping[str, Step]) -> tuple[str, ...]:
    """The families that a report can show after a run of a part; none where the report itself is up to date then."""
    stale: set[str] = set()
    every = dag.select(selection._replace(only=None))
    for address in every:
        if address not in selected and (dag.needs[address] & (stale | steps.keys()) or _reasons(dag.stages[address])):
            stale.add(address)
    if not any(_loop(dag.stages[address]) == _REPORT for address in stale):
        return ()
    families = {address: next(iter(dag.tags(address)), "") for address in every}
    unfinished = {families[address] for address in stale}
    return tuple(name for name in dict.fromkeys(families.values()) if name not in {"", *unfinished, *_NOT_REPORTED})


def _require_inputs(dag: Dag, address: str, selected: list[str]) -> None:
    for other in dag.needs[address]:
        if other not in selected and (missing := [str(out) for out in dag.stages[other].outs if not out.exists]):
            raise InputError(
                f"{address} needs {missing[0]}, an output of {other}, which --from leaves out; start there"
            )


def _address(stage: "Stage") -> str:
    path = stage.path_in_repo
    return str(stage.name) if path == "dvc.yaml" else f"{path}:{stage.name}"


def _loop(stage: "Stage") -> str:
    """The name of a stage without its variant."""
    return str(stage.name).partition("@")[0]


def _meta(stage: "Stage") -> dict[str, Any]:
    return stage.meta if isinstance(stage.meta, dict) else {}


def _reasons(stage: "Stage") -> list[str]:
    """Why DVC would run a stage; empty where it is up to date."""
    found = [part for parts in stage.status(check_updates=False).values() for part in parts]
    if found and _never_run(stage):
        return ["never run"]
    reasons = []
    for part in found:
        if isinstance(part, str):
            reasons.append({"always changed": "always runs"}.get(part, part))
        else:
            reasons += _changes(part.get("changed deps", {}))
            reasons += [f"{_WORDS[change]} output {path}" for path, change in part.get("changed outs", {}).items()]
    return reasons


def _never_run(stage: "Stage") -> bool:
    return not any(entry.hash_info for entry in (*stage.outs, *stage.deps))


def _changes(status: dict[str, Any]) -> list[str]:
    """What DVC says of changed dependencies and parameters, in words."""
    reasons = []
    for path, change in status.items():
        if isinstance(change, dict):
            reasons += [f"{_WORDS[what]} parameter {name}" for name, what in change.items()]
        else:
            reasons.append(f"{_WORDS[change]} dependency {path}")
    return reasons


def find_stale(root: Path, preset: str) -> dict[str, list[str]]:
    """The stages of a preset whose results in dvc.lock are older than code, command or parameters, and why.

    Needs no data: outputs, and dependencies that are outputs or lie in the folders of data, are not looked at. A stage
    after a stale one is stale. Raises as `read_dag`.
    """
    stale: dict[str, list[str]] = {}
    with read_dag(root, preset) as dag:
        made = {out.fs_path for stage in dag.stages.values() for out in stage.outs}
        for address in dag.select(Selection(preset)):
            stage = dag.stages[address]
            reasons = ["never run"] if _never_run(stage) else _older(root, stage, made)
            if reasons := reasons or [f"after {other}" for other in stale if other in dag.needs[address]]:
                stale[address] = reasons
    return stale


def _older(root: Path, stage: "Stage", made: set[str]) -> list[str]:
    """What changed of a stage's command, code and parameters. made: the outputs of all stages."""
    from dvc.dependency import ParamsDependency

    reasons = ["changed command"] if stage.cmd_changed else []
    data = tuple(f"{root / folder}{os.sep}" for folder in OUTPUTS)
    for dep in stage.deps:
        path = str(dep.fs_path)
        parents = {path, *map(str, Path(path).parents)}
        if isinstance(dep, ParamsDependency) or not (path.startswith(data) or parents & made):
            reasons += _changes(dep.status())
    return reasons


def read_policy(address: str, meta: dict[str, Any]) -> Policy:
    """The conditions in a stage's `meta`. Raises ParameterError for an unknown key or an invalid value."""
    conditions = {name: value for name, value in meta.items() if name != "tags"}
    if unknown := sorted(conditions.keys() - set(Policy._fields)):
        known = ", ".join(sorted({"tags", *Policy._fields}))
        raise ParameterError(f"{address}: meta {unknown[0]!r} is unknown; there are: {known}")
    policy = Policy(**conditions)
    if not isinstance(policy.resources, Mapping):
        raise ParameterError(f"{address}: meta resources must be a mapping such as {{memory_gb: 4}}")
    if unknown := sorted(set(policy.resources) - set(RESOURCES)):
        raise ParameterError(f"{address}: resource {unknown[0]!r} is unknown; there are: {', '.join(RESOURCES)}")
    for name, value in {**policy._asdict(), **policy.resources}.items():
        if name != "resources" and (isinstance(value, bool) or not isinstance(value, int | float) or value < 0):
            raise ParameterError(f"{address}: meta {name} is {value!r}; it must be a non-negative number")
    return policy
