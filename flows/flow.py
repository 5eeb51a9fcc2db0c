"""The pipeline as a Prefect flow: each stage that is out of date is a task, and independent stages run in parallel.

DVC decides what is out of date and keeps the results; Prefect adds the timeline, the logs, retries and schedules. A
task runs `dvc repro --single-item STAGE` in its own process. Its state is the result:

    Completed   the command ran
    Restored    DVC's run cache had the result for these inputs
    Cached      nothing had changed after all: a stage before it produced the same bytes again
    NotReady    a stage before it failed; all other stages continue

The flow holds the workspace (`flows.run.workspace`), so there is one run at a time; when the flow ends, for whatever
reason, so do its processes (`flows.run.processes`).
"""

import os
import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, wait
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import httpx
from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.logging import get_run_logger
from prefect.runtime import flow_run, task_run
from prefect.states import Cancelled, Completed, Failed, State
from prefect.task_runners import ThreadPoolTaskRunner
from pydantic import Field

from flows.deployed import deployed, shown_waiting
from flows.parameter_check import find_problems
from flows.run.finish import finish
from flows.run.history import History
from flows.run.plan import DEFAULT_PRESET, Plan, Selection, Step, make_plan, put_to_use
from flows.run.processes import Ended, Log, Processes
from flows.run.reproduced import rebuild_and_compare, run_nightly_tests
from flows.run.schedule import Schedule, local_limits, time_left
from flows.run.workspace import pipeline
from tokenlab.core.errors import EXIT_STATUS, ParameterError, TokenlabError

_THREADS = 256
"""More than ever run at once: the flow itself counts workers and resources."""

_SECONDS_BETWEEN_POLLS = 1.0

_CHATTER = re.compile(
    r"$|Running stage '|> |Updating lock file|Generating lock file|To track the changes with git|\tgit add |"
    r"To enable auto staging|\tdvc config |Use `dvc push`|Data and pipelines are up to date|"
    r"Stage '.*' (didn't change|is cached)|Reproducing stage"
)
"""Lines of DVC beside those of the stage and of errors. The runner says the same in fewer words."""

_NOT_RUN = {"Restored": "restored from the cache", "Cached": "already up to date"}
"""States of a stage whose command did not run, in words."""

_PLANNED: ContextVar[Plan | None] = ContextVar("planned", default=None)
"""The plan of the command line, which holds the workspace."""


class StageFailed(Exception):
    """A stage failed."""

    def __init__(self, address: str, ended: Ended) -> None:
        super().__init__(f"stage {address} failed ({ended.describe()})")
        self.ended = ended


class PipelineFailed(TokenlabError):
    """Stages failed; the message names them and the command that continues. `status` is the exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def _worth_retrying(task: Any, run: Any, state: State) -> bool:
    """Retry a failed stage, unless a signal ended it: whoever sent the signal does not want another attempt."""
    error = state.result(raise_on_failure=False)
    return isinstance(error, StageFailed) and not error.ended.killed


@task(name="stage", cache_policy=NO_CACHE, persist_result=False, retry_condition_fn=_worth_retrying)
def run_stage(step: Step, processes: Processes) -> State:
    """Run one stage; its output goes to the log of this task run."""
    log = _output(step.address)
    if task_run.run_count > 1:
        processes.pause(step.policy.retry_delay)  # Prefect would sleep through every signal
    ended = processes.run_stage(step.address, log)
    if ended.status != 0:
        error = StageFailed(step.address, ended)
        return Failed(message=str(error), data=error)  # raising it would only add a traceback to the log
    if ended.state in _NOT_RUN:
        print(f"{step.address} | {_NOT_RUN[ended.state]}", flush=True)
    return Completed(name=ended.state)


@flow(
    name="tokenlab",
    flow_run_name="{preset}",
    task_runner=ThreadPoolTaskRunner(max_workers=_THREADS),  # type: ignore[arg-type]
)
def run_pipeline(
    preset: str = DEFAULT_PRESET,
    only: str | None = None,
    from_stage: str | None = None,
    to_stage: str | None = None,
    workers: Annotated[int, Field(ge=1)] | None = None,
    rebuild: bool = False,
) -> State:
    """Bring a preset up to date, or with `rebuild` check that its results can be reproduced from scratch.

    Args:
        preset: `sample`, or a folder of presets/.
        only: only the stages with this tag, and the stages that these depend on.
        from_stage: only this stage and the stages after it.
        to_stage: only this stage and the stages before it.
        workers: number of stages that run in parallel; by default one per core.
        rebuild: run the stages that train nothing in a temporary clone without a cache, and compare with dvc.lock; then
            run the tests of `make test-nightly`.
    """
    selection = Selection(preset, only, from_stage, to_stage)
    if rebuild:
        return deployed(lambda root: _nightly(root, selection))
    return deployed(lambda root: _update(root, selection, workers or os.cpu_count() or 1))


def run_planned(selection: Selection, plan: Plan, workers: int | None) -> str:
    """Run the flow with the plan that this process made of the workspace, which it holds; return how it ended. Raises
    TokenlabError where a stage failed or the run was cancelled."""
    _PLANNED.set(plan)
    state = run_pipeline(*selection, workers, return_state=True)
    if state.is_cancelled():
        raise PipelineFailed(str(state.message), 1)
    if not state.is_completed():
        error = state.result(raise_on_failure=False)
        raise error if isinstance(error, BaseException) else TokenlabError(f"the flow ended {state.name}")
    return str(state.message)


def _update(root: Path, selection: Selection, workers: int) -> State:
    if plan := _PLANNED.get():
        return _run_plan(root, selection, plan, workers)
    if problems := find_problems(root, [selection.preset]):
        raise ParameterError("; ".join(problems))
    with pipeline(root, shown_waiting):
        return _run_plan(root, selection, make_plan(root, selection, clean=True), workers)


def _run_plan(root: Path, selection: Selection, plan: Plan, workers: int) -> State:
    if not plan.steps:
        finish(root, selection, plan, False, _output("report"), get_run_logger().info)
        return Completed(name="Cached", message=f"all {len(plan.selected)} stages are up to date")
    put_to_use(root, selection.preset)
    history = History.read(root, selection.preset)
    history.start()
    state = "Crashed"
    try:
        with Processes(root) as processes:
            failures = _run_steps(plan, processes, history, workers)
        if failures:
            raise _pipeline_failed(failures, plan, selection)
        ended = [*history.states.values()]
        if failures is not None:
            finish(root, selection, plan, {*ended} != {"Cached"}, _output("report"), _output("tracking"))
        if failures is None or _is_cancelled():  # the server takes no other state from a run that is being cancelled
            state = "Cancelled"
            return Cancelled(message=f"cancelled; `{selection.command()}` continues from there")
        state = "Completed"
        return Completed(message=", ".join(f"{ended.count(name)} {name}" for name in dict.fromkeys(ended)))
    except TokenlabError:
        state = "Failed"
        raise
    finally:
        history.end(state)


@task(cache_policy=NO_CACHE)
def _checked(check: Callable[[Path, Selection, Log], str], root: Path, selection: Selection) -> str:
    return check(root, selection, get_run_logger().info)


def _nightly(root: Path, selection: Selection) -> State:
    """Both checks, the second one whatever the first one finds."""
    found = []
    for check in (rebuild_and_compare, run_nightly_tests):
        run: Any = _checked.with_options(name=check.__name__, task_run_name=check.__name__)
        found.append(run(check, root, selection, return_state=True))
    errors = [state.result(raise_on_failure=False) for state in found if not state.is_completed()]
    if unknown := [error for error in errors if not isinstance(error, TokenlabError)]:
        raise unknown[0]
    if errors:
        raise TokenlabError("\n".join(map(str, errors)))
    return Completed(message="; ".join(state.result() for state in found))


def _pipeline_failed(failures: dict[str, BaseException], plan: Plan, selection: Selection) -> PipelineFailed:
    statuses = []
    for error in failures.values():
        if isinstance(error, StageFailed):
            statuses.append(error.ended.status)
            print(f"flows: {error}", file=sys.stderr, flush=True)
            get_run_logger().error("%s; its last lines:\n  %s", error, "\n  ".join(error.ended.lines))
    failed = f"{len(failures)} of {len(plan.steps)} stages failed: {', '.join(failures)}"
    message = f"{failed}; `{selection.command()}` continues from there"
    return PipelineFailed(message, EXIT_STATUS if EXIT_STATUS in statuses else 1)


def _output(name: str) -> Log:
    """Receives the lines that a process prints: all go to the log of the present run, and what matters is shown."""
    logger = get_run_logger()

    def tell(line: str) -> None:
        logger.info("%s", line)
        if not _CHATTER.match(line):
            print(f"{name} | {line}", flush=True)

    return tell


def _run_steps(plan: Plan, processes: Processes, history: History, workers: int) -> dict[str, BaseException] | None:
    """Run all steps as tasks of Prefect; return the errors of those that failed, or None if the run was cancelled."""
    schedule = Schedule(plan.steps, workers, local_limits())
    futures: dict[str, Any] = {}  # PrefectConcurrentFuture; Prefect's annotations say its base class
    started: dict[str, float] = {}
    failures: dict[str, BaseException] = {}
    while schedule.unended:
        for step in schedule.start():
            started[step.address] = time.monotonic()
            _announce(step, plan, schedule, history, started)
            run = run_stage.with_options(name=step.address, task_run_name=step.address, retries=step.policy.retries)
            needed = [futures[other] for other in step.after]
            futures[step.address] = run.submit(step=step, processes=processes, wait_for=needed, return_state=False)
        running = {futures[step.address].wrapped_future: step for step in schedule.running}
        for done in wait(running, timeout=_SECONDS_BETWEEN_POLLS, return_when=FIRST_COMPLETED).done:
            step, state = running[done], done.result()
            schedule.end(step)
            seconds = time.monotonic() - started[step.address]
            history.stage_ended(step.address, state.name or state.type.value, seconds)
            if state.is_failed() or state.is_crashed():
                failures[step.address] = state.result(raise_on_failure=False)
        if _is_cancelled():
            processes.stop()
            return None
    return failures


def _announce(step: Step, plan: Plan, schedule: Schedule, history: History, started: dict[str, float]) -> None:
    """Say that a step starts, unless one before it failed, and how long the rest takes."""
    if all(history.states[other] in ("Completed", *_NOT_RUN) for other in step.after):
        elapsed = {other.address: time.monotonic() - started[other.address] for other in schedule.running}
        left = time_left(schedule, history.durations, elapsed)
        number = f"stage {plan.steps.index(step) + 1} of {len(plan.steps)}"
        print(f"{number}: {step.address} ({step.reasons[0]}){left}", flush=True)


def _is_cancelled() -> bool:
    """Whether this run was cancelled on the page. Only for runs from the command line: a worker handles it itself."""
    if "PREFECT__FLOW_RUN_ID" in os.environ:
        return False
    try:
        with get_client(sync_client=True) as client:
            state = client.read_flow_run(flow_run.id).state
    except httpx.HTTPError:  # the server is unreachable for a moment
        return False
    return state is not None and (state.is_cancelling() or state.is_cancelled())
