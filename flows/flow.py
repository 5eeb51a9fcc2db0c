"""The pipeline as a Prefect flow: each stage that is out of date is a task, independent ones run side by side.

DVC decides what is out of date and keeps the results; Prefect has the timeline, the logs, retries and schedules. A task
is `dvc repro --single-item STAGE` in a process of its own. Its state says what that came to:

    Completed   the command ran
    Restored    DVC's run cache had the result for these inputs
    Cached      nothing had changed after all: a stage before it gave the same bytes again
    NotReady    a stage before it failed; every other one goes on

The flow holds the workspace (`flows.workspace`), so that there is one run at a time, and whatever ends it ends its
children (`flows.children`).
"""

import os
import sys
import time
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path
from typing import Any

import httpx
import psutil
from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.futures import PrefectConcurrentFuture
from prefect.logging import get_run_logger
from prefect.runtime import flow_run, task_run
from prefect.states import Cancelled, Completed, Failed, State
from prefect.task_runners import ThreadPoolTaskRunner

from flows.children import Children, Ended, children_of
from flows.history import History
from flows.notify import notify
from flows.plan import Plan, Selection, Step, make_plan
from flows.rebuild import rebuild_and_compare
from flows.reconcile import recorded
from flows.repro import DEFAULT_PRESET
from flows.workspace import pipeline
from tokenlab.errors import EXIT_STATUS, ParameterError, TokenlabError

_THREADS = 256
"""More than stages ever run at once: the flow itself counts workers and resources."""

_DOWNLOADS_AT_ONCE = 2
_SECONDS_BETWEEN_LOOKS = 1.0
_EVENT_STATES = {"running": "Completed", "restored": "Restored", "unchanged": "Cached"}


class StageFailed(Exception):
    """A stage did not go through."""

    def __init__(self, address: str, ended: Ended) -> None:
        super().__init__(f"stage {address} failed ({ended.describe()})")
        self.ended = ended


class PipelineFailed(TokenlabError):
    """Stages failed: which, and the command that goes on. `status` is for the shell."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def local_limits() -> dict[str, float]:
    """How much of each resource this machine has for stages to share."""
    cards = len([path for path in Path("/dev").glob("nvidia*") if path.name.removeprefix("nvidia").isdigit()])
    return {"gpu": cards, "memory_gb": psutil.virtual_memory().total / 2**30, "net": _DOWNLOADS_AT_ONCE}


def _worth_retrying(task: Any, run: Any, state: State) -> bool:
    """Not where a signal ended the stage: whoever sent it does not want another try."""
    error = state.result(raise_on_failure=False)
    return isinstance(error, StageFailed) and not error.ended.killed


@task(name="stage", cache_policy=NO_CACHE, persist_result=False, retry_condition_fn=_worth_retrying)
def run_stage(step: Step, children: Children) -> State:
    """Run one stage; its lines go to the log of this task run."""
    logger = get_run_logger()
    if task_run.run_count > 1:
        children.pause(step.policy.retry_delay)  # Prefect would sleep through every signal
    while (ended := children.dvc(["repro", "--single-item", step.address], logger.info, step.policy.timeout)).busy:
        logger.warning("another dvc is at work on the same paths; waiting until it ends")
        children.pause(_SECONDS_BETWEEN_LOOKS)
    if ended.status != 0:
        error = StageFailed(step.address, ended)
        return Failed(message=str(error), data=error)  # raised, it would bring a traceback that tells nothing
    return Completed(name=_EVENT_STATES.get(ended.event, "Completed"))


@flow(
    name="tokenlab",
    flow_run_name="{preset}",
    task_runner=ThreadPoolTaskRunner(max_workers=_THREADS),  # type: ignore[arg-type]
    on_failure=[notify],
    on_crashed=[notify],
)
def run_pipeline(
    preset: str = DEFAULT_PRESET,
    only: str | None = None,
    from_stage: str | None = None,
    to_stage: str | None = None,
    workers: int | None = None,
    rebuild: bool = False,
) -> State:
    """Bring a preset up to date, or with `rebuild` check that it gives the same bytes from nothing.

    Args:
        preset: `sample`, or a folder of presets/.
        only: only the stages with this tag, and what they need.
        from_stage: only this stage and those after it.
        to_stage: only this stage and those before it.
        workers: stages side by side; by default one per core.
        rebuild: in a temporary clone without any cache, run the stages that train nothing, and compare with dvc.lock.
    """
    root = Path.cwd().resolve()
    selection = Selection(preset, only, from_stage, to_stage)
    with recorded(root):
        try:
            return _rebuild(root, selection) if rebuild else _update(root, selection, workers or os.cpu_count() or 1)
        except TokenlabError as error:
            get_run_logger().error("%s", error)
            return Failed(message=str(error), data=error)


def _update(root: Path, selection: Selection, workers: int) -> State:
    with pipeline(root) as workspace:
        plan = make_plan(root, selection)
        if plan.steps:
            state = _run_plan(root, selection, plan, workers)
        else:
            if plan.tracked:
                with children_of(root) as children:
                    track(children, selection.preset)
            state = Completed(name="Cached", message=f"all {plan.considered} stages are up to date")
        if state.is_completed():
            workspace.succeeded()
        return state


def _run_plan(root: Path, selection: Selection, plan: Plan, workers: int) -> State:
    history = History.read(root, selection.preset)
    history.start()
    state = "Crashed"
    try:
        with children_of(root) as children:
            run = _Run(plan, children, history, workers)
            if not run.to_end():
                state = "Cancelled"
                return Cancelled(message="cancelled; " + _goes_on(selection))
            if run.failures:
                raise _pipeline_failed(run.failures, plan, selection)
            if plan.tracked:
                track(children, selection.preset)
        state = "Completed"
        return Completed(message=run.summary())
    except TokenlabError:
        state = "Failed"
        raise
    finally:
        history.end(state)


def track(children: Children, preset: str) -> None:
    """Bring the records of MLflow up to date with the results. Raises PipelineFailed."""
    command = [sys.executable, "-m", "flows.tracking", "--preset", preset]
    if (ended := children.run(command, get_run_logger().info)).status != 0:
        raise PipelineFailed("the stages went through, but tracking failed: " + " ".join(ended.lines[-1:]), EXIT_STATUS)


def _rebuild(root: Path, selection: Selection) -> State:
    compare = task(name="rebuild", task_run_name="rebuild", cache_policy=NO_CACHE)(rebuild_and_compare)
    return Completed(message=compare(root, selection))


def _pipeline_failed(failures: dict[str, BaseException], plan: Plan, selection: Selection) -> PipelineFailed:
    statuses = []
    for error in failures.values():
        if isinstance(error, StageFailed):
            statuses.append(error.ended.stage_status)
            get_run_logger().error("%s; its last lines:\n  %s", error, "\n  ".join(error.ended.lines))
    message = f"{len(failures)} of {len(plan.steps)} stages failed: {', '.join(failures)}; {_goes_on(selection)}"
    return PipelineFailed(message, EXIT_STATUS if EXIT_STATUS in statuses else 1)


def _goes_on(selection: Selection) -> str:
    return f"`{selection.command()}` goes on from there"


class _Run:
    """The steps of a plan at work: each starts when those before it are done, a worker and its resources are free."""

    def __init__(self, plan: Plan, children: Children, history: History, workers: int) -> None:
        self.failures: dict[str, BaseException] = {}
        self._children = children
        self._history = history
        self._workers = workers
        self._limits = local_limits()
        self._futures: dict[str, PrefectConcurrentFuture[State]] = {}
        self._states: dict[str, str] = {}
        self._started: dict[str, float] = {}
        self._steps = {step.address: step for step in plan.steps}

    def summary(self) -> str:
        """How many stages ended in which state."""
        states = list(self._states.values())
        return ", ".join(f"{states.count(name)} {name}" for name in dict.fromkeys(states))

    def to_end(self) -> bool:
        """Run all steps, and return whether nobody cancelled the flow run. Raises ParameterError for a missing card."""
        for step in self._steps.values():
            _require_card(step, self._limits)
        waiting = list(self._steps.values())
        while waiting or self._running():
            for step in list(waiting):
                if all(other in self._states for other in step.after) and self._fits(step):
                    waiting.remove(step)
                    self._start(step)
            running = {self._futures[step.address].wrapped_future: step for step in self._running()}
            done, _ = wait(running, timeout=_SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
            for future in done:
                self._ended(running[future])
            if not done and _is_cancelled():
                self._children.stop()
                return False
        return True

    def _running(self) -> list[Step]:
        return [self._steps[address] for address in self._futures if address not in self._states]

    def _fits(self, step: Step) -> bool:
        """One that asks for more than there is runs alone."""
        running = self._running()
        if len(running) >= self._workers:
            return False
        return all(
            not (used := sum(other.policy.resources.get(name, 0) for other in running))
            or used + amount <= self._limits[name]
            for name, amount in step.policy.resources.items()
        )

    def _start(self, step: Step) -> None:
        run = run_stage.with_options(name=step.address, task_run_name=step.address, retries=step.policy.retries)
        self._started[step.address] = time.monotonic()
        needed = [self._futures[other] for other in step.after]
        future: Any = run.submit(step=step, children=self._children, wait_for=needed, return_state=False)
        self._futures[step.address] = future

    def _ended(self, step: Step) -> None:
        state = self._futures[step.address].wrapped_future.result()
        name = state.name or state.type.value
        self._states[step.address] = name
        self._history.stage_ended(
            step.address, name, time.monotonic() - self._started[step.address], ran=name == "Completed"
        )
        if state.is_failed() or state.is_crashed():
            self.failures[step.address] = state.result(raise_on_failure=False)


def _require_card(step: Step, limits: dict[str, float]) -> None:
    if step.policy.resources.get("gpu", 0) > limits["gpu"]:
        raise ParameterError(
            f"{step.address} asks for gpu: {step.policy.resources['gpu']} and this machine has {limits['gpu']:.0f}; "
            "leave the stage out with --only or --to, or run it where there is one"
        )


def _is_cancelled() -> bool:
    """Whether the page asks this run to end. A worker sees to that itself; a run from the command line has none."""
    if "PREFECT__FLOW_RUN_ID" in os.environ:
        return False
    try:
        with get_client(sync_client=True) as client:
            state = client.read_flow_run(flow_run.id).state
    except httpx.HTTPError:  # the server is away for a moment
        return False
    return state is not None and (state.is_cancelling() or state.is_cancelled())
