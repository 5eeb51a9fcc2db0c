"""`python -m flows.run.repro [--preset NAME] [--only TAG]`, which is `make repro`: bring the pipeline up to date.

DVC does the work in child processes, one for each stage that is out of date, and as many at a time as there are cores.
This runner checks all parameters first (`flows.parameter_check`), allows one run at a time in a workspace and repairs
what a killed run left (`flows.run.workspace`), lets no process outlive the run (`tasks.runtime.parent_death`,
`flows.run.processes`), and prints the tables of results at the end. It imports nothing heavy: when all is up to date,
most of the time is DVC's.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn

from flows.parameter_check import find_problems
from flows.part_report import report_part
from flows.run.dvc_processes import DvcProcesses, Ended
from flows.run.history import EVENT_STATES, History
from flows.run.leftovers import remove_leftovers
from flows.run.plan import Plan, Step, read_plan
from flows.run.presets import DEFAULT_PRESET, find_targets
from flows.run.processes import environment, requests_to_end
from flows.run.schedule import Schedule, local_limits
from flows.run.workspace import pipeline
from tasks.runtime.parent_death import die_with_parent
from tokenlab.core.errors import EXIT_STATUS, TokenlabError, one_line

_NOT_RUN = {"restored": "restored from the cache", "unchanged": "already up to date"}
"""Events of a stage whose command did not run, in words."""

_CHATTER = re.compile(
    r"$|Running stage '|> |Updating lock file|Generating lock file|To track the changes with git|\tgit add |"
    r"To enable auto staging|\tdvc config |Use `dvc push`|Data and pipelines are up to date|"
    r"Stage '.*' (didn't change|is cached)|Reproducing stage"
)
"""Lines of DVC beside those of the stage and of errors. The runner says the same in fewer words."""

_THREADS = 256
"""More than ever run at once: the schedule counts workers and resources."""


class Interrupted(BaseException):
    """A signal asked the runner to end. A BaseException, so that no `except Exception` catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@dataclass
class Outcome:
    """Address of a stage -> what became of it; the stages that failed; the exit status where there was no plan; the
    families that a new report can show (`Plan.reported`)."""

    stages: dict[str, str] = field(default_factory=dict)
    failed: dict[str, Ended] = field(default_factory=dict)
    unplanned: int = 0
    reported: tuple[str, ...] = ()

    def named(self, event: str) -> list[str]:
        """The stages whose last event (`flows.run.dvc_child`) this was."""
        return [stage for stage, last in self.stages.items() if last == event]


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 1 for a failed stage, 2 for an error that the user can correct."""
    parser = argparse.ArgumentParser(prog="python -m flows.run.repro", description="Bring the pipeline up to date.")
    parser.add_argument("--preset", default=DEFAULT_PRESET, help="sample (default), or a folder of presets/")
    parser.add_argument(
        "--only", metavar="TAG", help="only the stages with this tag in dvc.yaml, and their dependencies"
    )
    options = parser.parse_args(arguments)
    die_with_parent()
    root = Path.cwd().resolve()
    again = " ".join(["make repro", f"PRESET={options.preset}" * (options.preset != DEFAULT_PRESET)]).strip()
    again += f" ONLY={options.only}" if options.only else ""
    try:
        find_targets(root, options.preset, options.only)
        with signals_raise():
            if problems := find_problems(root, [options.preset]):
                print("\n".join(f"repro: {problem}" for problem in problems), file=sys.stderr)
                return EXIT_STATUS
            with pipeline(root) as workspace:
                remove_leftovers(root, options.preset)
                outcome = reproduce(root, options.preset, options.only)
                if not outcome.failed and not outcome.unplanned:
                    if options.only:
                        changed = set(outcome.stages.values()) != {"unchanged"}
                        show = partial(_print_line, "report")
                        report_part(root, options.preset, options.only, outcome.reported, changed, show)
                    workspace.succeeded()
    except (TokenlabError, OSError) as error:
        print(f"repro: {one_line(error)}", file=sys.stderr)
        return EXIT_STATUS
    except Interrupted as interruption:
        print(f"repro: ended by {interruption}; `{again}` continues from here", file=sys.stderr)
        return 128 + interruption.number
    if outcome.failed or outcome.unplanned:
        return _report_failure(outcome, again)
    _report_success(outcome, root / "reports" / options.preset, options.only)
    return 0


def reproduce(root: Path, preset: str, tag: str | None) -> Outcome:
    """Run the stages that are out of date in a workspace that the caller holds, one per core at a time."""
    plan, status = _make_plan(root, preset, tag)
    if plan is None:
        return Outcome(unplanned=status)
    outcome = Outcome(dict.fromkeys(plan.selected, "unchanged"), reported=plan.reported)
    if not plan.steps:
        print("Data and pipelines are up to date.", flush=True)
        return outcome
    history = History.read(root, preset)
    history.start()
    state = "Crashed"
    try:
        _run_plan(root, plan, history, outcome)
        state = "Failed" if outcome.failed else "Completed"
    except Interrupted:
        state = "Cancelled"
        raise
    finally:
        history.end(state)
    return outcome


def _run_plan(root: Path, plan: Plan, history: History, outcome: Outcome) -> None:
    """Run the steps of a plan; `outcome` and `history` learn how each ended."""
    numbers = {step.address: number for number, step in enumerate(plan.steps, 1)}
    schedule = Schedule(plan.steps, os.cpu_count() or 1, local_limits())
    running: dict[Future[Ended], Step] = {}
    started: dict[str, float] = {}
    with ThreadPoolExecutor(_THREADS) as pool, DvcProcesses(root) as processes:
        while schedule.unfinished:
            for step in schedule.start():
                name = step.address
                elapsed = {address: time.monotonic() - began for address, began in started.items()}
                left = time_left(schedule, history.durations, elapsed)
                print(f"stage {numbers[name]} of {len(numbers)}: {name} ({step.reasons[0]}){left}", flush=True)
                started[name] = time.monotonic()
                running[pool.submit(processes.run_stage, name, partial(_print_line, name))] = step
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                step, ended = running.pop(future), future.result()
                schedule.end(step)
                outcome.stages[step.address] = ended.event
                state = "Failed" if ended.status != 0 else EVENT_STATES.get(ended.event, "Completed")
                seconds = time.monotonic() - started.pop(step.address)
                history.stage_ended(step.address, state, seconds, ran=state == "Completed")
                if ended.event in _NOT_RUN:
                    _print_line(step.address, _NOT_RUN[ended.event])
                if ended.status != 0:
                    outcome.failed[step.address] = ended
                    schedule.drop_waiting()


def time_left(schedule: Schedule, durations: Mapping[str, float], elapsed: Mapping[str, float]) -> str:
    """How long the rest takes, by the last time that each of its stages ran; empty where none was ever timed."""
    rest = schedule.unended
    untimed = len([step for step in rest if step.address not in durations])
    if untimed == len(rest):
        return ""
    about = f"about {in_words(schedule.seconds_left(durations, elapsed))} left"
    return f", {about}" + (f" and {untimed} stages not timed yet" if untimed else "")


def in_words(seconds: float) -> str:
    """A duration as people say it: `50 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _make_plan(root: Path, preset: str, tag: str | None) -> tuple[Plan | None, int]:
    """The plan, made by a process that imports DVC; and the exit status of this process."""
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "flows.run.plan", str(writing), preset, *([tag] if tag else [])]
    with os.fdopen(reading, encoding="utf-8") as stream:
        try:
            child = subprocess.Popen(
                command, cwd=root, env=environment(root), stdin=subprocess.DEVNULL, pass_fds=[writing]
            )
        finally:
            os.close(writing)
        text = stream.read()
    status = child.wait()
    return read_plan(text) if status == 0 else None, status


def _print_line(stage: str, line: str) -> None:
    if not _CHATTER.match(line):
        print(f"{stage} | {line}", flush=True)


@contextmanager
def signals_raise() -> Iterator[None]:
    """Within the block, the first request to end raises Interrupted."""
    before = {number: signal.getsignal(number) for number in requests_to_end()}

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        for other in before:
            signal.signal(other, signal.SIG_IGN)  # nothing may interrupt the end of the children
        raise Interrupted(number)

    for number in before:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _report_failure(outcome: Outcome, again: str) -> int:
    """Print which stages failed and the command that continues; return the exit status of the runner."""
    if outcome.unplanned:
        if outcome.unplanned < 0:
            name = signal.Signals(-outcome.unplanned).name
            print(f"repro: dvc was ended by {name}; `{again}` continues from there", file=sys.stderr)
        return EXIT_STATUS if outcome.unplanned == EXIT_STATUS else 1
    for stage, ended in outcome.failed.items():
        if ended.killed:
            what = f"stage {stage} was ended by {ended.describe()}; `{again}` continues from there"
        else:
            what = f"stage {stage} failed (see above); once that is corrected, `{again}` continues from there"
        print(f"repro: {what}", file=sys.stderr)
    return EXIT_STATUS if EXIT_STATUS in [ended.stage_status for ended in outcome.failed.values()] else 1


def _report_success(outcome: Outcome, reports: Path, tag: str | None) -> None:
    if tag is not None:
        for event, words in {"running": "ran", **_NOT_RUN}.items():
            if stages := outcome.named(event):
                print(f"{words}: {', '.join(stages)}")
    name = "results.txt" if tag is None else f"results-{tag}.txt"
    results, report = reports / "tables" / name, reports / "index.html"
    if results.exists():
        print(results.read_text(encoding="utf-8"), end="")
    if report.exists():
        print(f"report: {report.relative_to(Path.cwd())}")


if __name__ == "__main__":
    sys.exit(main())
